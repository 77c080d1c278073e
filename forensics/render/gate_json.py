"""A gate's decision as JSON, `dflash-forensics/gate/1`: the status, the checks, and the report itself.

The report inside is exactly that of `analyze --format json`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.model import Check, Decision
from forensics.render.json_v1 import to_json

SCHEMA = "dflash-forensics/gate/1"


def render(decision: Decision) -> bytes:
    """Return the JSON."""
    answer = {
        "schema": SCHEMA,
        "status": decision.status,
        "exit_status": decision.exit_status,
        "policy": decision.policy or None,
        "checks": [_check(check) for check in decision.checks],
        "report": msgspec.Raw(to_json(decision.report)),
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=2) + b"\n"


def _check(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "standing": check.standing,
        "level": check.level,
        "text": check.text,
        "reason": check.reason or None,
        "fingerprint": check.fingerprint or None,
        "evidence": [{"path": e.path, "line": e.line, "end_line": max(e.line, e.end_line)} for e in check.evidence],
    }
