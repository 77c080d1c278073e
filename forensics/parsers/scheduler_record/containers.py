"""What `docker ps`, `docker compose ps` and `podman ps` print of containers.

NAME     IMAGE                       STATUS                    PORTS
vllm-1   vllm/vllm-openai:v0.9.2     Up 23 minutes (healthy)   0.0.0.0:8000->8000/tcp
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forensics.model import Context, Event, Value
from forensics.parsers.scheduler_record.telling import columns, is_over, tell
from forensics.text.lazy import lazy

_HEAD = lazy(
    r"(?:CONTAINER ID|NAMES?|SERVICE) {2,}"
    r"(?=.{0,400}\b(?:STATUS|STATE)\b)(?=.{0,400}\b(?:IMAGE|COMMAND|PORTS)\b)"
)
_OLD_HEAD = lazy(r" *Name +Command +State +Ports\s*$")
"""Of the first Compose, which centres its heads: only the gaps part its cells."""
_GAP = lazy(r" {2,40}")
_CELL = lazy(r"\S+(?: \S+)*")
_UP = lazy(
    r"(?:Up|running)(?: (?P<count>\d{1,5}|About an?|Less than a) (?P<unit>second|minute|hour|day|week|month)s?)?"
    r"(?: ago)?(?: \(healthy\))?$"
)
_EXITED = lazy(r"(?:Exited|exited|Exit) \(?(?P<code>\d{1,3})\b")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400, "month": 30 * 86400}
_OLD = ("name", "command", "state", "ports")
_MOST = 2000


def tables(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `container-listed` for each row; `state` is `up` only of one that works and is not known to be unwell.

    `up_s` is the longest that the words for how long it has been up can mean; `exit_code` is of one that has ended.
    """
    starts: dict[str, int] = {}
    old = False
    for at, line in enumerate(lines[: _MOST * 10]):
        if len(line) > _MOST:
            continue
        if _OLD_HEAD.match(line):
            starts, old = {"name": 0}, True
        elif _HEAD.match(line):
            old = False
            starts = {match[0].lower(): match.start() for match in _CELL.finditer(line)}
        elif is_over(line):
            starts = {}
        elif starts and not line.startswith("----"):
            row = dict(zip(_OLD, _GAP.split(line.strip()), strict=False)) if old else columns(line, starts)
            status = row.get("status") or row.get("state") or ""
            name = row.get("names") or row.get("name") or row.get("service")
            if not name or not status:
                continue
            up = _UP.match(status)
            fields: dict[str, Value] = {
                "container": name,
                "image": row.get("image"),
                "state": "up" if up else status,
                "up_s": _longest(up) if up else None,
                "exit_code": int(ended["code"]) if (ended := _EXITED.match(status)) else None,
            }
            yield tell("container-listed", lines, at, at, fields, context)


def _longest(up: re.Match[str]) -> int | None:
    if up["unit"] is None:
        return None
    count = int(up["count"]) if up["count"].isdecimal() else 1
    return (count + 1) * _SECONDS[up["unit"]]
