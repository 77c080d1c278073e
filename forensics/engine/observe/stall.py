"""Runs that stopped making progress and said nothing: ended from outside, or still waiting when they were looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import PurePosixPath
from statistics import median

from forensics import timeline
from forensics.engine.context import by_hand
from forensics.engine.observe.expected import PANES
from forensics.engine.observe.gpus import loads, memory
from forensics.engine.observe.observed import observed
from forensics.engine.outcome import outcome
from forensics.engine.running import RHYTHM
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Source, Step, Value
from forensics.sources.names import is_note
from forensics.text.lazy import lazy

HELD_BYTES = 1 << 30
"""Memory on a GPU that tells of a process which is still there."""
LEAST_S = 900.0
LEAST_RECORDS = 10
"""Progress records with times from which a rhythm can be told."""
LEAST_LOOKS = 3
LEAST_HELD_S = 3600.0
"""Looks at GPUs that are held and do nothing, and how far the first and the last lie apart."""
MOST_LINES = 200
"""Lines of a log in which nothing was told of a step: of a longer one, nobody knows whether it tells in its own way."""

_BETWEEN = 4
"""Lines between the last words of a run and its end, such as blank ones and the key that was pressed."""
_SERVES = lazy(r"startup complete|\b(?:listen|serv)(?:ing|er)\b|https?://|\bready\b", re.IGNORECASE)
_PRESSED = ("^C", "KeyboardInterrupt", "Exception ignored in: ")


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `silence` of a run that was ended after it, by a time limit or by hand, and `stuck` of one that waits."""
    yield from _silence(seen)
    yield from _broken_off(seen)
    yield from _stuck(seen)
    yield from _held(seen)


def _silence(seen: Seen) -> Iterator[Event]:
    """A run ended by a time limit after it had stopped talking (status 124 of `timeout`)."""
    limits = [e for e in seen.said("status", "exit") if e.fields.get("exit_code") == 124]
    if not limits:
        return
    timed = [s for s in timeline.placed(seen.current_steps()) if s.time is not None]
    tails = [(path, lines) for path, lines in seen.tails.items() if lines and seen.is_current(path)]
    logs = {s.path for s in seen.logs()}
    for path, lines in tails:
        if path not in logs:
            continue
        last = next((line for line in reversed(lines) if line.text.strip()), lines[-1])
        fields: dict[str, Value] = {"exit_code": 124}
        if timed:
            fields["last_step"] = timeline.last_step(timed)
        text = "the run was ended by a time limit (status 124) after it had gone silent"
        at = Evidence(path, last.number, last.end or last.number, last.text)
        yield observed(at, "silence", text, fields, (limits[0].place,))
        return


def _broken_off(seen: Seen) -> Iterator[Event]:
    """A run that somebody ended by hand, after it had said nothing for far longer than it ever had before."""
    pressed = [e for e in seen.said("exception") if e.fields.get("exception") == "KeyboardInterrupt"]
    ended = next((e for e in (*pressed, *filter(by_hand, seen.said("slurm"))) if e.time is not None), None)
    if ended is None or ended.time is None or outcome(seen).good:
        return
    steps = [s for s in seen.current_steps() if s.path == ended.path and s.line < ended.line and s.time is not None]
    rhythm = timeline.gaps(steps)
    lines, times = seen.times.get(ended.path, ((), ()))
    # The last words before the end, which may have lines of its own moment above it.
    words = [(at, line) for line, at in zip(lines, times, strict=True) if at < ended.time - 1 and line < ended.line]
    if rhythm is None or len(steps) < LEAST_RECORDS or not words:
        return
    spoke, line = max(chain(words, ((s.time or 0.0, s.line) for s in steps)))
    begins = ended.fields.get("from_line")
    if (begins if isinstance(begins, int) else ended.line) - line > _BETWEEN:
        return  # something was said of which nobody has heard
    quiet = ended.time - spoke
    if quiet < max(LEAST_S, RHYTHM * rhythm.median_s, 3 * rhythm.longest_s):
        return
    fields: dict[str, Value] = {"last_step": timeline.last_step(steps), "silent_ms": int(quiet * 1000)}
    text = f"nothing was said for {quiet:.0f} s, until somebody ended the run"
    yield observed(Evidence(ended.path, line, line, ""), "silence", text, fields, (ended.place,), spoke)


def _stuck(seen: Seen) -> Iterator[Event]:
    """A run with no end whose processes hold their GPUs, while all of them wait or nothing was said for long."""
    dumps = list(seen.said("stack", "py-spy"))
    held = [e for e in seen.said("nvidia-smi", "snapshot") if _holds(e)]
    # Those that wait in a collective spin at 100 %; a dump that shows one waiting tells them from those that work.
    idle = next((e for e in held if not any(loads(e)) or any(map(_waits, dumps))), None)
    if not dumps and idle is None:
        return  # nobody looked: most runs need no more than this
    steps = timeline.placed(seen.current_steps())
    log = next((s for s in seen.logs() if any(step.path == s.path for step in steps)), None)
    end = outcome(seen)
    if log is None or end.good or end.bad or end.signal is not None:
        return
    written = _written(seen, log)
    late = idle if idle is not None and _late(idle, written, steps) else None
    waiting = dumps if all(map(_waits, dumps)) else []
    if not late and not (waiting and (idle or len(dumps) > 1)):
        return
    proof = [*waiting, *([idle] if idle else ())]
    # What somebody's Ctrl-C made it print belongs to the end of the waiting, not to it.
    last = max((s.line for s in steps if s.path == log.path), default=0)
    raised = [e.line for e in seen.said("exception") if e.path == log.path and e.line > last]
    spoken = [line for line in seen.tails.get(log.path, ()) if line.text.strip()]
    pressed = [line.number for line in spoken if line.number > last and line.text.startswith(_PRESSED)]
    tail = [line for line in spoken if line.number < min((*raised, *pressed), default=1 << 62)]
    lines = [line for line in tail if not line.text.startswith(("Traceback (", "Process ", "  "))]
    if not lines:
        return
    fields: dict[str, Value] = {"last_step": timeline.last_step(steps)}
    if late is not None and late.time is not None and written is not None:
        fields["silent_ms"] = int((late.time - written) * 1000)
    at = Evidence(log.path, lines[-1].number, lines[-1].end or lines[-1].number, lines[-1].text[-400:])
    message = "the processes are there and wait; this is the last that was said"
    yield observed(at, "stuck", message, fields, tuple(e.place for e in proof[:4]), log.ended)


def _held(seen: Seen) -> Iterator[Event]:
    """A run that never made a step, while its processes held their GPUs for hours and nothing was computed.

    One that serves may well wait for requests, and one that raised waits for nothing.
    """
    held, idle = max((_idled(looks) for looks in _series(seen)), key=lambda found: found[0], default=(0.0, []))
    if len(idle) < LEAST_LOOKS or held < LEAST_HELD_S:
        return
    end = outcome(seen)
    if seen.current_steps() or end.good or end.bad or end.signal is not None:
        return
    if any(not is_note(e.path) for e in seen.said("exception")):
        return
    log = next((s for s in seen.logs() if s.kind not in PANES and not is_note(s.path)), None)
    spoken = [line for line in seen.tails.get(log.path, ()) if line.text.strip()] if log else []
    if log is None or not spoken or log.lines > MOST_LINES or any(_SERVES.search(line.text) for line in spoken):
        return
    last = spoken[-1]
    at = Evidence(log.path, last.number, last.end or last.number, last.text[-400:])
    text = f"the processes hold their GPUs, which did nothing for {held:.0f} s; this is the last that was said"
    yield observed(at, "stuck", text, {"silent_ms": int(held * 1000)}, (idle[-1].place, idle[0].place), log.ended)


def _series(seen: Seen) -> Iterator[list[Event]]:
    """Yield the looks at the GPUs that have a time, and those of each file that tells the time of day alone."""
    looks = list(seen.said("nvidia-smi", "snapshot"))
    yield [e for e in looks if e.time is not None]
    clocks = [e for e in looks if e.time is None and e.fields.get("clock_s") is not None]
    for path in dict.fromkeys(e.path for e in clocks):
        yield [e for e in clocks if e.path == path]


def _idled(looks: list[Event]) -> tuple[float, list[Event]]:
    """Return for how many seconds the GPUs had been held and done nothing at the last look, and those looks."""
    idle = list(takewhile(lambda e: _holds(e) and not any(loads(e)), reversed(looks)))
    return (_moment(idle[0]) - _moment(idle[-1]), idle) if idle else (0.0, idle)


def _moment(look: Event) -> float:
    clock = look.fields.get("clock_s")
    return look.time if look.time is not None else float(clock) if isinstance(clock, int) else 0.0


def _waits(event: Event) -> bool:
    threads = event.fields.get("innermost")
    main = [str(t) for t in threads if "MainThread" in str(t)] if isinstance(threads, tuple) else []
    return bool(main) and all("(idle)" in t for t in main)


def _holds(snapshot: Event) -> bool:
    return any(used >= HELD_BYTES for used in memory(snapshot)) and bool(loads(snapshot))


def _written(seen: Seen, log: Source) -> float | None:
    """Return when a log was last written: as its lines say, else as a listing of the folder does."""
    if log.ended is not None:
        return log.ended
    name = PurePosixPath(log.path).name
    listed = (e for e in seen.said("host", "listing") if PurePosixPath(str(e.fields.get("name"))).name == name)
    return max((e.time for e in listed if e.time is not None), default=None)


def _late(event: Event, written: float | None, steps: list[Step]) -> bool:
    if event.time is None or written is None:
        return False
    typical = median([s.step_time_s for s in steps if s.step_time_s] or [0.0])
    return event.time - written > max(LEAST_S, RHYTHM * typical)
