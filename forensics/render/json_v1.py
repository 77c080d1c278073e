"""The report as JSON, version 1: a frozen contract with shapes of its own.

Nothing here may change once released, so the structs stand apart from the types the
program works with. `report-1.schema.json`, beside this file, is generated from them by
`scripts/schema.py`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from forensics.model import Evidence, Expected, Fields, Finding, Fix, Report, Run, Source, Value
from forensics.render import words
from forensics.render.moments import iso

SCHEMA: Literal["dflash-forensics/report/1"] = "dflash-forensics/report/1"

Time: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]
Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Plain: TypeAlias = str | int | float | bool | list[Any] | None
"""What a fact may hold. A number that JSON lacks is one of the strings NaN, Infinity, -Infinity."""


class _Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The habits of every object of the contract: no key more, no key less."""


class ToolV1(_Shape, frozen=True):
    """Which program and which rules made the report."""

    version: str
    rules: str


class RunV1(_Shape, frozen=True):
    """The run as a whole; null is "not known"."""

    path: str
    started: Time | None
    ended: Time | None
    last_step: int | None
    total_steps: int | None
    last_checkpoint_step: int | None
    exit_code: int | None
    signal: int | None
    world_size: int | None
    programs: list[str]


class SourceV1(_Shape, frozen=True):
    """One file of evidence: what it is, how whole it is, how much of it was read."""

    path: str
    kind: str
    bytes: Natural
    lines: Natural
    state: Literal["whole", "empty", "torn", "nul-tail", "cut", "window", "stale"]
    read: Literal["all", "partial", "skipped"]
    why: str


class PlaceV1(_Shape, frozen=True):
    """A line of a source."""

    path: str
    line: Natural


class ExpectedV1(_Shape, frozen=True):
    """A file that a launch line promised."""

    path: str
    state: Literal["present", "missing", "empty", "stale"]
    promised_by: PlaceV1


class EvidenceV1(_Shape, frozen=True):
    r"""Where a claim stands, verbatim. Lines count `\n`; `column` is there for a `\r` update only."""

    path: str
    line: Natural
    end_line: Natural
    text: str
    column: Natural | msgspec.UnsetType = msgspec.UNSET


class ChangeV1(_Shape, frozen=True):
    """A fix as a change to review."""

    env: dict[str, Plain]
    args: dict[str, Plain]
    script: str


class FixV1(_Shape, frozen=True):
    """What to change, and whether the change is safe to make unasked."""

    id: str
    title: str
    detail: str
    safe: bool
    change: ChangeV1


class FindingV1(_Shape, frozen=True):
    """One thing found, with its evidence, its facts and what explains it."""

    id: str
    title: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["high", "medium", "low"]
    role: Literal["root", "cause", "consequence", "note"]
    ranks: list[int]
    time: Time | None
    evidence: Annotated[list[EvidenceV1], msgspec.Meta(min_length=1)]
    facts: dict[str, Plain]
    because: list[str]
    explanation: str
    fixes: list[FixV1]


class ReportV1(_Shape, frozen=True):
    """The whole answer. At most one finding has the role `root`."""

    schema: Literal["dflash-forensics/report/1"]
    tool: ToolV1
    run: RunV1
    sources: list[SourceV1]
    expected: list[ExpectedV1]
    verdict: Literal["healthy", "degraded", "failed", "unknown"]
    restart_helps: Literal["no", "maybe", "yes"]
    findings: list[FindingV1]
    notes: list[str]


def to_json(report: Report) -> bytes:
    """Return the report as indented UTF-8 JSON with a final line end; keys keep one order."""
    text = msgspec.json.format(msgspec.json.encode(shape(report)), indent=2).decode()
    return _UNSEEN.sub(_escape, text).encode() + b"\n"


def schema() -> bytes:
    """Return the JSON Schema (2020-12) that every output of `to_json` satisfies."""
    body = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        **msgspec.json.schema(ReportV1),
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def shape(report: Report) -> ReportV1:
    """Put a report into the frozen shapes of version 1."""
    why = words.reason(report)
    reason = (_text(why),) if why and why not in report.notes else ()
    return ReportV1(
        schema=SCHEMA,
        tool=ToolV1(version=report.version, rules=report.rules_digest),
        run=_run(report.run),
        sources=[_source(source) for source in report.sources],
        expected=[_expected(expected) for expected in report.expected],
        verdict=report.verdict,
        restart_helps=report.restart_helps,
        findings=[_finding(finding) for finding in report.findings],
        # Why: the contract has no key for what decided the verdict, and a reader of
        # `unknown` needs it most, so it is the first of the notes.
        notes=[*reason, *map(_text, report.notes)],
    )


def _run(run: Run) -> RunV1:
    return RunV1(
        path=_text(run.path),
        started=iso(run.started),
        ended=iso(run.ended),
        last_step=run.last_step,
        total_steps=run.total_steps,
        last_checkpoint_step=run.last_checkpoint_step,
        exit_code=run.exit_code,
        signal=run.signal,
        world_size=run.world_size,
        programs=[_text(program) for program in run.programs],
    )


def _source(source: Source) -> SourceV1:
    return SourceV1(
        path=_text(source.path),
        kind=_text(source.kind),
        bytes=source.bytes,
        lines=source.lines,
        state=source.state,
        read=source.read,
        why=_text(source.why),
    )


def _expected(expected: Expected) -> ExpectedV1:
    by = expected.promised_by
    place = PlaceV1(path=_text(by.path), line=by.line)
    return ExpectedV1(path=_text(expected.path), state=expected.state, promised_by=place)


def _finding(finding: Finding) -> FindingV1:
    return FindingV1(
        id=_text(finding.id),
        title=_text(finding.title),
        severity=finding.severity,
        confidence=finding.confidence,
        role=finding.role,
        ranks=list(finding.ranks),
        time=iso(finding.time),
        evidence=[_evidence(evidence) for evidence in finding.evidence],
        facts=_fields(finding.facts),
        because=[_text(cause) for cause in finding.because],
        explanation=_text(finding.explanation),
        fixes=[_fix(fix) for fix in finding.fixes],
    )


def _evidence(evidence: Evidence) -> EvidenceV1:
    return EvidenceV1(
        path=_text(evidence.path),
        line=evidence.line,
        end_line=max(evidence.line, evidence.end_line),
        text=_text(evidence.text),
        column=evidence.column or msgspec.UNSET,
    )


def _fix(fix: Fix) -> FixV1:
    return FixV1(
        id=_text(fix.id),
        title=_text(fix.title),
        detail=_text(fix.detail),
        safe=fix.safe,
        change=ChangeV1(env=_fields(fix.env), args=_fields(fix.args), script=_text(fix.script)),
    )


def _fields(fields: Fields) -> dict[str, Plain]:
    return {_text(name): _plain(value) for name, value in fields.items()}


def _plain(value: Value) -> Plain:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _text(text: str) -> str:
    r"""Spell bytes that were never text (lone surrogates, from file names) as `\xNN`."""
    return _SURROGATES.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


_SURROGATES = re.compile("[\ud800-\udfff]")
# Why: JSON allows these raw inside strings, where the only ones stand; a terminal that
# shows the file would obey them. Escaped, they decode to the same text.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
