"""Where a log that tries share begins anew: settings are printed once more, after training had failed or ended.

Or the same program is started once more, at a prompt or by a script that shows its commands.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from forensics.engine.outcome import is_end
from forensics.engine.seen import Seen
from forensics.model import Event, Step
from forensics.parsers.typed import program_of

_FAULTS = frozenset({"exception", "shell", "stack", "torchrun", "slurm"})
_DIGITS = re.compile(r"\d+")
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
    """Return the line of each source at which a program was started for the last time, after it had failed before."""
    typed: dict[tuple[str, int | None, str | None, str], list[int]] = defaultdict(list)
    for event in seen.ever_said("host", "command"):
        if program := program_of(event.message):
            typed[event.path, event.rank, event.host, program].append(event.line)
    again = {key: lines for key, lines in typed.items() if len(lines) > 1}
    found: dict[str, int] = {}
    if not again:
        return found
    faults = _lines(e for e in seen.events if e.speaker in _FAULTS)
    last = {path: lines[-1] for path, lines in _lines(e for e in seen.events if e.kind != "command").items()}
    for (path, *_), lines in again.items():
        for before, line in reversed(list(pairwise(sorted(lines)))):
            failed = bisect_left(faults[path], before) < bisect_left(faults[path], line)
            if failed and line < last.get(path, 0) and not _goes_back(seen, path, line):
                found[path] = max(found.get(path, 0), line)
                break
    return found


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
