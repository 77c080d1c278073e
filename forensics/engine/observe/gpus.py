"""What nvidia-smi shows of all GPUs together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from forensics import timeline
from forensics.engine.observe.observed import observed
from forensics.engine.outcome import outcome
from forensics.engine.running import RHYTHM
from forensics.engine.seen import Seen
from forensics.model import Event, Value

IDLE_BYTES = 600 << 20
"""A card of a stopped job holds at most its driver's reserve."""
MIN_SERIES = 8
"""Snapshots of busy GPUs from which on one that stands out does so for a reason."""
BUSY = 50
"""Per cent of utilization of a GPU that works: only then does its clock tell of its speed."""
SLOW_CLOCK = 0.8
"""Share of the others' clock; boost clocks of sound cards of one kind differ by a few per cent."""
UNUSED = "GPU available but not used"
"""Lightning's warning, from 1.0 on: alone it may be meant so."""
_MANY_LOOKS, _UNUSED_S = 4, 1800.0
"""Looks at empty GPUs, and seconds between the first and the last, from which on no start of a job takes that long."""
_GONE_S = 600.0
"""Seconds without a word from which on empty GPUs are no pause."""
BUSY_OTHERS = 90
"""Per cent of utilization that ranks show which spin in a collective until the last one comes."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `slow-gpu` and `lagging-gpu` of a series of snapshots, `all-idle` and its like of the last."""
    yield from _stands_out(seen)
    yield from _all_idle(seen)


def _stands_out(seen: Seen) -> Iterator[Event]:
    """One GPU that runs below the clock of its equals while all are busy, or is busy for less of the time."""
    series: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in seen.said("nvidia-smi", "snapshot"):
        if len(loads(event)) > 1 and seen.is_current(event.path):
            series[event.path, len(loads(event))].append(event)
    for shots in series.values():
        busy = [e for e in shots if sorted(loads(e))[len(loads(e)) // 2] >= BUSY]
        if len(busy) < MIN_SERIES or _mixed(busy[-1]):
            continue
        clocks = [row for e in busy if len(row := _row(e, "clock_mhz")) == len(loads(e))]
        at, also = busy[0].place, (busy[-1].place,)
        typical = [median(column) for column in zip(*(loads(e) for e in busy), strict=True)]
        if len(clocks) >= MIN_SERIES:
            speeds = [median(column) for column in zip(*clocks, strict=True)]
            found, others = _lowest(speeds)
            if typical[found] >= BUSY and speeds[found] < SLOW_CLOCK * others:
                warm = [row[found] for e in busy if len(row := _row(e, "temperature")) > found]
                fields: dict[str, Value] = {
                    "device": _device(busy[0], found),
                    "clock_mhz": speeds[found],
                    "others_mhz": others,
                    "temperature_c": median(warm) if warm else None,
                }
                text = f"GPU {found} runs at {speeds[found]:.0f} MHz where the others run at {others:.0f} MHz"
                yield observed(at, "slow-gpu", text, fields, also, busy[0].time)
        found, others = _lowest(typical)
        if others >= BUSY_OTHERS and typical[found] < BUSY:
            fields = {"device": _device(busy[0], found), "utilization": typical[found], "others_utilization": others}
            text = f"GPU {found} is busy for {typical[found]:.0f} % of the time where the others are for {others:.0f} %"
            yield observed(at, "lagging-gpu", text, fields, also, busy[0].time)


def _lowest(values: Sequence[float]) -> tuple[int, float]:
    """Return where the lowest value stands, and the lowest of the others: of all but one, not of half of them."""
    found = min(range(len(values)), key=values.__getitem__)
    return found, min(value for at, value in enumerate(values) if at != found)


def _device(snapshot: Event, at: int) -> Value:
    indices = snapshot.fields.get("indices")
    return indices[at] if isinstance(indices, tuple) and at < len(indices) and indices[at] is not None else at


def _mixed(snapshot: Event) -> bool:
    """Tell whether the GPUs are of several kinds, which have clocks of their own."""
    rows = (snapshot.fields.get(name) for name in ("names", "memory_total_bytes"))
    return any(len(set(row)) > 1 for row in rows if isinstance(row, tuple))


def _all_idle(seen: Seen) -> Iterator[Event]:
    """The last snapshot, where every GPU is empty and at 0 %.

    After an end that somebody recorded, idle GPUs are what one expects, and say nothing.
    """
    if any(True for _ in seen.said("status", "exit")) or any(True for _ in seen.said("progress", "complete")):
        return
    looks = sorted(seen.said("nvidia-smi", "snapshot"), key=lambda e: e.time or 0.0)
    last = next((e for e in reversed(looks) if memory(e)), None)  # dmon shows no memory unless it is asked for it
    if last is None or last.fields.get("pids") or not empty(last):
        return
    if any(load > 0 for e in (last, looks[-1]) for load in loads(e)):
        return
    used = memory(last)
    also = tuple(e.place for e in seen.ever_said("tmux", "no-server"))[:1]
    fields = {"gpus": len(used), "gpu_mem_used_bytes": max(used)}
    said = next((e for e in seen.said("warning") if UNUSED in e.message), None)
    if said is not None:
        text = "the program says that it does not use the GPU, and the GPU does nothing"
        yield observed(said.place, "gpu-unused", text, fields, (last.place,), said.time)
    text = f"all {len(used)} GPUs are idle and empty"
    gone = _long_after(seen, last)
    unused = _never_used(seen, looks) or (gone and outcome(seen).running)
    kind = "never-used" if unused else "left-empty" if gone else "all-idle"
    yield observed(last.place, kind, text, fields, also, last.time)


def _never_used(seen: Seen, looks: Sequence[Event]) -> bool:
    """Tell whether a job runs, for all that the scheduler knows, on GPUs that are empty whenever somebody looks.

    Where it has trained before, the looks from its last step on tell.
    """
    stepped = [step.time for step in seen.current_steps()]
    timed = [(look.time, look) for look in looks if look.time is not None]
    if None in stepped or len(timed) < len(looks):
        return False
    since = max((time for time in stepped if time is not None), default=float("-inf"))
    timed = [(time, look) for time, look in timed if time > since]
    if len(timed) < _MANY_LOOKS or timed[-1][0] - timed[0][0] < _UNUSED_S:
        return False
    return all(empty(look) and not any(loads(look)) for _, look in timed) and outcome(seen).running


def _long_after(seen: Seen, look: Event) -> bool:
    """Tell whether training had been silent for longer than it ever pauses when somebody looked."""
    steps = seen.current_steps()
    trained = {step.path for step in steps}
    ended = [log.ended for log in seen.logs() if log.path in trained and log.ended is not None]
    rhythm = timeline.gaps(steps)
    if look.time is None or not ended:
        return False
    return look.time - max(ended) > max(_GONE_S, RHYTHM * rhythm.median_s if rhythm else 0.0)


def empty(snapshot: Event) -> bool:
    """Tell whether every GPU of a snapshot is known to hold nothing of a job."""
    row = snapshot.fields.get("memory_used_bytes")
    used = memory(snapshot)
    return isinstance(row, tuple) and 0 < len(used) == len(row) and max(used) <= IDLE_BYTES


def memory(snapshot: Event) -> tuple[int, ...]:
    """Return the bytes in use on each GPU of a snapshot, as far as they are known."""
    row = snapshot.fields.get("memory_used_bytes")
    return tuple(used for used in row if isinstance(used, int)) if isinstance(row, tuple) else ()


def _row(snapshot: Event, name: str) -> tuple[int | float, ...]:
    """Return one measure of each GPU of a snapshot, as far as it is known."""
    row = snapshot.fields.get(name)
    return tuple(value for value in row if isinstance(value, int | float)) if isinstance(row, tuple) else ()


def loads(snapshot: Event) -> tuple[int | float, ...]:
    """Return the utilization in percent of each GPU of a snapshot, as far as it is known."""
    return _row(snapshot, "utilization")
