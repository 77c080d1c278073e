"""Where a log that tries share begins anew: settings are printed once more, after training had failed or ended.

Or the same program is started once more, at a prompt or by a script that shows its commands.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from forensics.engine.outcome import is_end
from forensics.engine.promised import base
from forensics.engine.seen import Seen
from forensics.model import Event, Step
from forensics.parsers.typed import program_of

_FAULTS = frozenset({"exception", "shell", "stack", "torchrun", "slurm"})
_DIGITS = re.compile(r"\d+")
_APPENDS = re.compile(r"(?:\btee (?:-a|--append) |>> ?)(?P<log>[^\s;&|<>]{1,400})")
"""A command whose output is added to a log: in that very log, it begins another try where one has failed."""
_HEAD = 40
"""Characters that tell one kind of opening line from another."""


def last_starts(seen: Seen) -> dict[str, int]:
    """Return the line of each source at which its last try begins; sources with one try are left out.

    A fault must stand between two like openings, and steps before the fault: many ranks print
    the same settings side by side, but none of them has trained before the last has printed. Or a
    good end stands between them, and the next run, of a loop over seeds, raised before it trained.
    """
    found = _started_again(seen)
    openings: dict[tuple[str, int | None, str, str], list[int]] = defaultdict(list)
    for event in seen.ever_said("progress", "config", "program"):
        head = _DIGITS.sub("0", event.message[:_HEAD])
        openings[event.path, event.rank, event.kind, head].append(event.line)
    again = {key: lines for key, lines in openings.items() if len(set(lines)) > 1}
    if not again:
        return found
    faults, steps = _lines(e for e in seen.events if e.speaker in _FAULTS), _lines(seen.steps)
    ends = _lines(e for e in seen.events if is_end(e) and not e.fields.get("weak"))
    raised = _lines(seen.ever_said("exception", "exception"))
    for (path, *_), lines in again.items():
        first, *later = sorted(set(lines))
        trained = bisect_right(steps[path], first)
        if trained == len(steps[path]):
            continue
        for line in reversed(later):
            behind, ended = bisect_left(faults[path], line), bisect_left(ends[path], line)
            failed = behind > 0 and faults[path][behind - 1] > steps[path][trained]
            last = max(steps[path][-1], ends[path][-1] if ends[path] else 0) < line
            if failed or (ended and last and raised[path] and raised[path][-1] > line):
                found[path] = max(found.get(path, 0), line)
                break
    return found


def _started_again(seen: Seen) -> dict[str, int]:
    """Return the line of each source at which a program was started once more that had failed, with words below it.

    Or at which a banner says so.
    """
    found: dict[str, int] = {}
    commands = list(seen.ever_said("host", "command"))
    banners = [e for e in seen.ever_said("progress", "attempt") if e.fields.get("banner")]
    if not commands and not banners:
        return found
    faults = _lines(e for e in seen.events if e.speaker in _FAULTS)
    said = {path: lines[-1] for path, lines in _lines(e for e in seen.events if e.kind != "command").items()}
    for path, line in _shown_again(commands, faults):
        if line < said.get(path, 0) and not _goes_back(seen, path, line):
            found[path] = max(found.get(path, 0), line)
    trained = _lines(seen.steps) if banners else {}
    for event in banners:
        lines = faults[event.path]
        below = max((*lines[-1:], *trained.get(event.path, ())[-1:]), default=0)
        if lines and lines[0] < event.line < below:
            found[event.path] = max(found.get(event.path, 0), event.line)
    return found


def _shown_again(commands: Sequence[Event], faults: dict[str, list[int]]) -> Iterator[tuple[str, int]]:
    """Yield where a command was given once more, after what it had said itself was of a fault."""
    typed: dict[tuple[str, int | None, str | None], list[tuple[int, str]]] = defaultdict(list)
    for event in commands:
        typed[event.path, event.rank, event.host].append((event.line, program_of(event.message)))
    appended = {
        (e.path, e.line) for e in commands if (to := _APPENDS.search(e.message)) and base(to["log"]) == base(e.path)
    }
    for (path, *_), given in typed.items():
        failed: set[str] = set()
        for (line, program), (after, _) in pairwise((*sorted(given), (1 << 62, ""))):
            if program and (program in failed or ((path, line) in appended and bisect_left(faults[path], line) > 0)):
                yield path, line
            own = faults[path]
            if program and bisect_left(own, line) < bisect_left(own, after):
                failed.add(program)


def _goes_back(seen: Seen, path: str, line: int) -> bool:
    """Tell whether what stands below a line was written before what stands above it: by another, side by side."""
    lines, times = seen.times.get(path, ((), ()))
    at = bisect_left(lines, line)
    return 0 < at < len(times) and times[at] < times[at - 1]


def _lines(items: Iterable[Event] | Iterable[Step]) -> dict[str, list[int]]:
    lines: dict[str, list[int]] = defaultdict(list)
    for item in items:
        lines[item.path].append(item.line)
    for found in lines.values():
        found.sort()
    return lines
