"""A gate's decision as SARIF 2.1.0, with lines of logs as locations.

Format: OASIS Standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from forensics.model import Check, Decision, Evidence, Finding, Source
from forensics.render import places
from forensics.text.ansi import visible

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOME = "https://github.com/dflash-forensics/dflash-forensics"
FINGERPRINT = "dflashForensics/v1"
MOST_PLACES = 10
_SNIPPET = 2000
_CONDITIONS = {
    "gate.verdict": "The run ended well",
    "gate.min-last-step": "The run reached the step that was asked for",
    "gate.total-steps": "The run reached the steps it had planned",
    "gate.final-loss-below": "The final loss is below the limit",
    "gate.checkpoint": "A checkpoint was written",
    "gate.slower": "A step takes no longer than in the good run",
    "gate.worse-loss": "The loss is no worse than that of the good run",
    "gate.new-warning": "The run has no warning that the good run did not have",
    "gate.expired-ignore": "No ignore of the policy has expired",
}


def render(decision: Decision, base: str = "") -> bytes:
    """Return the SARIF log; `base` is the folder that evidence paths are relative to."""
    shown = [c for c in decision.checks if c.finding is not None or c.standing != "pass"]
    names = sorted({check.name for check in shown})
    run = {
        "tool": {
            "driver": {
                "name": "dflash-forensics",
                "version": decision.report.version,
                "semanticVersion": decision.report.version,
                "informationUri": HOME,
                "rules": [_rule(name, shown) for name in names],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(check, names, decision, base) for check in shown],
        "properties": {"status": decision.status, "verdict": decision.report.verdict},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _rule(name: str, shown: Iterable[Check]) -> dict[str, Any]:
    finding = next((c.finding for c in shown if c.name == name and c.finding is not None), None)
    if finding is None:
        text = _CONDITIONS.get(name, name)
        return {"id": name, "shortDescription": {"text": text}, "help": {"text": f"{text}. It is asked by the policy."}}
    return {
        "id": name,
        "shortDescription": {"text": visible(finding.title)},
        "fullDescription": {"text": visible(finding.explanation or finding.title)},
        "help": {"text": _help(finding, ""), "markdown": _help(finding, "**")},
        "defaultConfiguration": {"level": "note" if finding.severity == "info" else finding.severity},
        "properties": {"tags": [name.partition(".")[0]], "precision": finding.confidence},
    }


def _help(finding: Finding, strong: str) -> str:
    parts = [f"{strong}{fix.title}{strong}\n{fix.detail}".strip() for fix in finding.fixes]
    return visible("\n\n".join([finding.explanation, *parts]).strip() or finding.title, keep="\n")


def _result(check: Check, names: list[str], decision: Decision, base: str) -> dict[str, Any]:
    locations = [_location(place, base) for place in check.evidence[:MOST_PLACES] if place.path]
    result: dict[str, Any] = {
        "ruleId": check.name,
        "ruleIndex": names.index(check.name),
        "kind": "open" if check.standing == "unknown" else "fail",
        # The standard: a level other than none goes with the kind fail only.
        "level": "none" if check.standing == "unknown" else check.level,
        "message": {"text": visible(check.text)},
        # Viewers want a place for everything: what no line shows is shown at the log.
        "locations": locations[:1] or _anywhere(decision.report.sources, base),
    }
    if locations[1:]:
        result["relatedLocations"] = locations[1:]
    if check.fingerprint:
        result["partialFingerprints"] = {FINGERPRINT: check.fingerprint}
    if check.standing in {"known", "ignored"}:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": visible(check.reason)}]
    if check.finding is not None:
        result["properties"] = {"role": check.finding.role, "because": list(check.finding.because)}
    return result


def _location(place: Evidence, base: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": places.uri(base, place)}}
    if place.line:
        region: dict[str, Any] = {"startLine": place.line, "endLine": max(place.line, place.end_line)}
        if place.text:
            region["snippet"] = {"text": visible(place.text[:_SNIPPET], keep="\n\t")}
        physical["region"] = region
    return {"physicalLocation": physical}


def _anywhere(sources: Iterable[Source], base: str) -> list[dict[str, Any]]:
    logs = sorted(sources, key=lambda s: s.kind not in {"training-log", "slurm-log"})
    return [_location(Evidence(source.path, 0, 0, ""), base) for source in logs[:1]]
