"""A gate's decision as GitLab's Code Quality report: a JSON list, one object a check.

Format: docs.gitlab.com, "Code Quality", report format (description, check_name,
fingerprint, severity, location.path, location.lines.begin).
"""

from __future__ import annotations

import hashlib

import msgspec

from forensics.model import Check, Decision, Evidence
from forensics.render import places
from forensics.text.ansi import visible

_SEVERITIES = {"error": "critical", "warning": "minor", "note": "info"}


def render(decision: Decision, base: str = "") -> bytes:
    """Return the JSON; what stands in the baseline or is ignored is left out, as GitLab knows no such thing."""
    checks = [*decision.of("fail"), *decision.of("unknown")]
    checks += [c for c in decision.of("pass") if c.finding is not None and c.finding.role != "note"]
    return msgspec.json.format(msgspec.json.encode([_issue(c, decision, base) for c in checks]), indent=2) + b"\n"


def _issue(check: Check, decision: Decision, base: str) -> dict[str, object]:
    log = decision.report.sources[0].path if decision.report.sources else "."
    place = places.first(check) or Evidence(log, 1, 1, "")
    severity = "blocker" if check.standing == "fail" else _SEVERITIES[check.level]
    # Two conditions of one policy differ in their name only, and must not be taken for one.
    own = hashlib.sha256(f"{check.name}\n{places.path('', place)}".encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return {
        "description": visible(check.text),
        "check_name": check.name,
        "fingerprint": check.fingerprint or own,
        "severity": severity,
        "location": {"path": places.path(base, place), "lines": {"begin": max(1, place.line)}},
    }
