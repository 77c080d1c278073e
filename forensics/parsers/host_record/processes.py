"""What `ps` showed of a program that trains: proof that it was there, whatever its log says.

    PID STAT     ELAPSED     TIME CMD
  20933 Rl      03:38:52 04:11:09 python main.py -data MNIST -gr 2000

    root  4242 99.0  3.2 41231244 8432100 ?  Rl  09:01 251:09 python train.py    (ps aux | grep train)

Event `process` (fields pid, command) for each that runs or waits; a zombie, a stopped one and one whose
state is not shown are none. Formats: procps ps, its default, `-f`, `u`, `l` and `-o` headers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics.model import Context, Event
from forensics.text.lazy import lazy
from forensics.text.quote import quote_lines

_HEADER = lazy(r"\s*(?:[A-Z%][A-Z%_]{0,9}\s+){1,14}(?:CMD|COMMAND)\s*")
_AUX = lazy(
    r"[\w.+-]{1,32}\s+(?P<pid>\d{1,9})\s+\d{1,5}(?:\.\d)?\s+\d{1,3}\.\d\s+\d{1,18}\s+\d{1,18}\s+\S{1,12}\s+"
    r"(?P<state>[RSDTtZXIW]\S{0,6})\s+\S{1,8}\s+[\d:-]{1,16}\s+(?P<command>\S.{0,4000})"
)
_TRAINS = lazy(r"(?:\S*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed)\s+\S.{0,4000}")
_AT_WORK = frozenset("RSDI")
_LONGEST = 5000
MOST = 500
"""Processes that are told of one text."""


def processes(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield the events of a text that may hold such a table, in the order of their lines."""
    names: list[str] = []
    left = MOST
    for at, line in enumerate(lines):
        if not left:
            return
        if len(line) > _LONGEST:
            continue
        if "PID" in line and _HEADER.fullmatch(line):
            names = line.split()
            continue
        row = _row(line, names)
        if row is None:
            names = []
            continue
        pid, state, command = row
        if state[:1] in _AT_WORK and _TRAINS.fullmatch(command):
            left -= 1
            yield quote_lines("host", "process", [line], at + 1, context, {"pid": pid, "command": command})


def _row(line: str, names: list[str]) -> tuple[int, str, str] | None:
    """Return process, state and command of a row; None where the line is none."""
    if (found := _AUX.fullmatch(line.rstrip())) is not None:
        return int(found["pid"]), found["state"], found["command"]
    cells = line.split(None, len(names) - 1)
    if len(names) < 2 or len(cells) < len(names):
        return None
    row = dict(zip(names, cells, strict=True))
    pid = row.get("PID", "")
    if not pid.isdecimal() or len(pid) > 9:
        return None
    return int(pid), row.get("STAT", row.get("S", "")), cells[-1].rstrip()
