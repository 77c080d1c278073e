"""What `systemctl status` prints of a service.

● trainer.service - the training
     Active: active (running) since Mon 2026-02-09 06:41:13 UTC; 1h 42min ago
   Main PID: 9984 (python3)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics.model import Context, Event, Value
from forensics.parsers.scheduler_record.telling import tell
from forensics.text.lazy import lazy

_UNIT = lazy(r"[●○×*↻] (?P<unit>[\w@.:\\-]{1,200}\.service)(?: - .{0,300})?\s*")
_ACTIVE = lazy(r"\s{2,10}Active: (?P<state>\w[\w-]{1,20} \([\w-]{1,30}\))")
_MAIN = lazy(r"\s{1,10}Main PID: (?P<pid>\d{1,10})\b")
_BLOCK = 30
"""Lines of a status, with the drop-ins that stand between its head and its process."""


def status(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `unit-state` for each service of which both its state and its main process are told."""
    first, fields = -_BLOCK, dict[str, Value]()
    for at, line in enumerate(lines):
        if len(line) > 600:
            continue
        if match := _UNIT.fullmatch(line):
            first, fields = at, {"unit": match["unit"]}
        elif at - first >= _BLOCK:
            continue
        elif match := _ACTIVE.match(line):
            fields.setdefault("state", match["state"])
        elif (match := _MAIN.match(line)) and "state" in fields:
            yield tell("unit-state", lines, first, at, {**fields, "pid": int(match["pid"])}, context)
            first = -_BLOCK
