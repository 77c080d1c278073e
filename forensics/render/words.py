"""What the text formats say alike: sizes, ranks, facts, the chain, the advice on restarting.

Everything returned is plain text that may hold what a log said; each format escapes it
in its own way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from forensics.model import Evidence, Expected, Fields, Finding, Fix, Report, Run, Source, Value
from forensics.render.moments import iso, span
from forensics.text.sizes import format_size

RESTARTS = {
    "no": "A plain restart does not help: the same thing happens again.",
    "maybe": "A plain restart may help, but nothing in the evidence promises it.",
    "yes": "A plain restart can help.",
}

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")


def fact(name: str, value: Value) -> str:
    """Return the value of a fact for people: a size or a span in units, and exactly as well."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(fact("", item) for item in value)
    if isinstance(value, int | float) and math.isfinite(value):
        if name.endswith("_bytes") and abs(value) >= 1024:
            return f"{format_size(int(value))} ({value} bytes)"
        if name.endswith("_ms") and abs(value) >= 1000:
            return f"{span(value / 1000)} ({value} ms)"
    return "" if value is None else str(value)


def count(number: int, what: str) -> str:
    """Return a number of things: `1 line`, `2 lines`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def ranks(order: Sequence[int]) -> str:
    """Return ranks as `rank 3`, `ranks 0-6`, or `rank 3 first, then 0-2, 4`; the first leads."""
    if not order:
        return ""
    if len(order) == 1:
        return f"rank {order[0]}"
    if order[0] == min(order):
        return f"ranks {_ranges(order)}"
    return f"rank {order[0]} first, then {_ranges(order[1:])}"


def _ranges(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{low}-{high}" if low != high else f"{low}" for low, high in parts)


def place(evidence: Evidence) -> str:
    """Return where evidence stands, as editors and terminals understand it: `train.log:97`."""
    if not evidence.line:
        return evidence.path
    column = f":{evidence.column}" if evidence.column else ""
    return f"{evidence.path}:{evidence.line}{column}"


def sentences(text: str, count: int) -> str:
    """Return the first sentences of a text, on one line."""
    return " ".join(_SENTENCE.split(" ".join(text.split()))[:count])


def chain(report: Report) -> Iterator[tuple[int, Finding]]:
    """Yield the root and what followed from it, each once, with its depth below the root."""
    if report.root is None:
        return
    children: dict[str, list[Finding]] = {}
    for finding in report.findings:
        for cause in finding.because:
            children.setdefault(cause, []).append(finding)
    seen = {id(report.root)}
    stack = [(0, report.root)]
    while stack:
        depth, finding = stack.pop()
        yield depth, finding
        below = [child for child in children.get(finding.id, ()) if id(child) not in seen]
        seen.update(map(id, below))
        stack.extend((depth + 1, child) for child in reversed(below))


def beside(report: Report) -> list[Finding]:
    """Return the findings that stand outside the chain."""
    linked = {id(finding) for _, finding in chain(report)}
    return [finding for finding in report.findings if id(finding) not in linked]


def facts(report: Report) -> dict[str, Value]:
    """Return the facts of the root, and what its consequences add that stand in the same files.

    Those in other files may tell of another rank or an earlier try, whose numbers beside
    the root's would mislead.
    """
    merged: dict[str, Value] = {}
    files: set[str] = set()
    for depth, finding in chain(report):
        own = {evidence.path for evidence in finding.evidence[:1]}
        files |= own if depth == 0 else set()
        for name, value in finding.facts.items() if own <= files else ():
            merged.setdefault(name, value)
    return merged


def reason(report: Report) -> str:
    """Return what decided the verdict, unless the root says it already: a failed run failed of its root."""
    if report.root is not None and report.root.severity == "error" and report.verdict == "failed":
        return ""
    return report.reason


def why(report: Report) -> str:
    """Return the reason for the verdict as a line for people; empty where the root says it."""
    decided = reason(report).removeprefix(f"{report.verdict}: ")
    return f"Why: {decided}" if decided else ""


def about(finding: Finding) -> str:
    """Return what qualifies a finding in a line: id, confidence, ranks, time."""
    parts = (
        finding.id,
        f"confidence {finding.confidence}",
        ranks(finding.ranks),
        iso(finding.time) or "",
    )
    return " · ".join(part for part in parts if part)


def name(run: Run) -> str:
    """Return what to call the run: its path as it was given."""
    return "standard input" if run.path == "-" else run.path


def progress(run: Run) -> str:
    """Return how far the run came, in a line; empty where nothing is known."""
    parts = []
    if run.last_step is not None:
        parts.append(f"step {run.last_step}" + (f" of {run.total_steps}" if run.total_steps else ""))
    if run.last_checkpoint_step is not None:
        parts.append(f"last checkpoint at step {run.last_checkpoint_step}")
    if run.exit_code is not None:
        parts.append(f"exit code {run.exit_code}")
    if run.signal is not None:
        parts.append(f"signal {run.signal}")
    if run.world_size is not None:
        parts.append(count(run.world_size, "rank"))
    if run.started is not None and run.ended is not None and run.ended > run.started:
        parts.append(f"ran for {span(run.ended - run.started)}")
    elif run.ended is not None:
        parts.append(f"ended {iso(run.ended)}")
    return " · ".join([*parts, *run.programs])


def changes(fix: Fix) -> Iterator[tuple[str, str]]:
    """Yield what a fix changes, as (`environment` or `arguments`, text)."""
    for kind, fields in (("environment", fix.env), ("arguments", fix.args)):
        yield from ((kind, text) for text in _assignments(kind, fields))


def _assignments(kind: str, fields: Fields) -> Iterator[str]:
    for name, value in fields.items():
        text = "" if value is None else str(value)
        if kind == "environment":
            yield f"{name}={text}" if value is not None else f"unset {name}"
        else:
            yield f"{name} {text}" if text else name


def absent(report: Report) -> list[Expected]:
    """Return the promised files that are not there as promised."""
    return [expected for expected in report.expected if expected.state != "present"]


def promise(expected: Expected) -> str:
    """Return where a file was promised, and the nearest file there is."""
    nearest = f"; nearest here: {expected.nearest}" if expected.nearest else ""
    return f"promised by {place(expected.promised_by)}{nearest}"


def condition(source: Source) -> str:
    """Return how whole a source is and how much of it was read, with the reason where there is one."""
    parts = {"all": "", "partial": ", read in part", "skipped": ", not read"}
    return f"{source.state}{parts[source.read]}" + (f": {source.why}" if source.why else "")
