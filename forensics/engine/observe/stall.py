"""Runs that stopped making progress and said nothing: ended from outside, or still waiting when they were looked at."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from forensics import timeline
from forensics.engine.outcome import outcome
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Source, Step, Value

HELD_BYTES = 1 << 30
"""Memory on a GPU that tells of a process which is still there."""
LEAST_S = 900.0
RHYTHM = 20
"""A pause is a hang only beyond this many of the run's own step times: evaluation and checkpoints take their time."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `silence` of a run that a time limit ended, and `stuck` of one that waits."""
    steps = timeline.placed(seen.current_steps())
    yield from _silence(seen, steps)
    yield from _stuck(seen, steps)


def _silence(seen: Seen, steps: list[Step]) -> Iterator[Event]:
    """A run ended by a time limit after it had stopped talking (status 124 of `timeout`)."""
    limits = [e for e in seen.said("status", "exit") if e.fields.get("exit_code") == 124]
    if not limits:
        return
    timed = [s for s in steps if s.time is not None]
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
        yield Event(
            speaker="observed",
            kind="silence",
            path=path,
            line=last.number,
            end_line=last.end or last.number,
            text=last.text,
            message=text,
            fields=fields,
            also=(Evidence(limits[0].path, limits[0].line, limits[0].end_line, limits[0].text),),
        )
        return


def _stuck(seen: Seen, steps: list[Step]) -> Iterator[Event]:
    """A run with no end whose processes hold their GPUs, while all of them wait or nothing was said for long."""
    log = next((s for s in seen.logs() if any(step.path == s.path for step in steps)), None)
    end = outcome(seen)
    if log is None or end.good or end.bad or end.signal is not None:
        return
    looks = [e for e in seen.said("nvidia-smi", "snapshot") if _holds(e)]
    waiting = [e for e in seen.said("stack", "py-spy") if _waits(e)]
    dumped = sum(1 for _ in seen.said("stack", "py-spy"))
    idle = next((e for e in looks if not any(_loads(e))), None)
    late = idle if idle is not None and _late(idle, log, steps) else None
    all_wait = bool(waiting) and len(waiting) == dumped
    if not late and not (all_wait and (idle or dumped > 1)):
        return
    proof = [*(waiting if all_wait else ()), *([idle] if idle else ())]
    lines = [line for line in seen.tails.get(log.path, ()) if line.text.strip()]
    if not lines:
        return
    fields: dict[str, Value] = {"last_step": timeline.last_step(steps)}
    if late is not None and late.time is not None and log.ended is not None:
        fields["silent_ms"] = int((late.time - log.ended) * 1000)
    yield Event(
        speaker="observed",
        kind="stuck",
        path=log.path,
        line=lines[-1].number,
        end_line=lines[-1].end or lines[-1].number,
        text=lines[-1].text[-400:],
        message="the processes are there and wait; this is the last that was said",
        time=log.ended,
        fields={k: v for k, v in fields.items() if v is not None},
        also=tuple(Evidence(e.path, e.line, e.end_line, e.text) for e in proof[:4]),
    )


def _waits(event: Event) -> bool:
    threads = event.fields.get("innermost")
    main = [str(t) for t in threads if "MainThread" in str(t)] if isinstance(threads, tuple) else []
    return bool(main) and all("(idle)" in t for t in main)


def _loads(event: Event) -> tuple[int | float, ...]:
    load = event.fields.get("utilization")
    return tuple(x for x in load if isinstance(x, int | float)) if isinstance(load, tuple) else ()


def _holds(event: Event) -> bool:
    used = event.fields.get("memory_used_bytes")
    held = isinstance(used, tuple) and any(isinstance(u, int) and u >= HELD_BYTES for u in used)
    return held and bool(_loads(event))


def _late(event: Event, log: Source, steps: list[Step]) -> bool:
    if event.time is None or log.ended is None:
        return False
    typical = median([s.step_time_s for s in steps if s.step_time_s] or [0.0])
    return event.time - log.ended > max(LEAST_S, RHYTHM * typical)
