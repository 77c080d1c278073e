"""What the sequence of progress records shows: losses that are not numbers, jump or vanish, and slow ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from forensics import timeline
from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Step, Value
from forensics.text.lazy import lazy

MIN_LEVEL_RECORDS = 8
"""Records from which on a level can be told."""
GROWN = 2.0
MIN_SPIKE_RECORDS = 30
"""Records of a series before a spike can be told from a warm-up."""
MAX_SPIKE_RECORDS = 4000
"""A longer series is thinned: a level that stays is seen at any resolution."""
STAYED = 5
"""Records for which a spike must last: a single bad batch recovers by itself."""
FIRST_STEPS = frozenset({0, 1})
MOST_STAGES = 3
"""Starts of the counter up to which each begins a stage; more of them begin epochs."""
SLOW_SHARE = 1.2
MIN_SLOW_RECORDS = 5
SKIPPED_RECORDS = 5
_MARKS = frozenset({"bar", "nan", "place", "]", "}"})
"""Keys that tell the form of a record, and are no names of its numbers."""
_SCALE = lazy(r"loss scale: *(?P<minimum>[\d.]{1,12}(?:[eE][+-]?\d{1,3})?)")


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `nan-loss`, `loss-spike`, `all-skipped` and `slow-rank`."""
    steps = timeline.placed(seen.current_steps())
    yield from _nonfinite(steps)
    yield from _spike(steps)
    yield from _skipped(seen, steps)
    yield from _slow(steps)


def _nonfinite(steps: list[Step]) -> Iterator[Event]:
    """A loss that becomes NaN and stays so; one that recovers, or was never finite, is not it."""
    for series in _series(steps):
        bad = [s for s in series if _is_bad(s)]
        if not bad or len(bad) < min(2, len(series)):
            continue
        first = next(i for i, s in enumerate(series) if _is_bad(s))
        tail = series[first:]
        stays = sum(map(_is_bad, tail)) >= 0.8 * len(tail) and _is_bad(series[-1])
        never = first == 0 and len(series) > 1 and not all(map(_is_bad, series))
        if not stays or never:
            continue
        at = series[first]
        number = at.step if at.step is not None else _position(steps, at)
        fields: dict[str, Value] = {"first_nan_step": number, "nan_records": len(bad), "last_step": series[-1].step}
        if first >= MIN_LEVEL_RECORDS:
            fields["grew"] = _grew(series[:first])
        also = tuple(place_of(s) for s in tail[1:3])
        yield _event(at, "nan-loss", f"the loss is not a number from step {number} on", fields, also)
        return


def _grew(before: list[Step]) -> bool:
    """Tell whether loss or gradient norm rose well above their level before the end of a series."""
    for values in ([s.loss for s in before], [s.grad_norm for s in before]):
        known = [v for v in values if v is not None and math.isfinite(v)]
        if len(known) >= MIN_LEVEL_RECORDS and max(known[-3:]) > GROWN * median(known[-50:-3]):
            return True
    return False


def _is_bad(step: Step) -> bool:
    loss, norm = step.loss, step.grad_norm
    if loss is not None and not math.isfinite(loss):
        return True
    # HF replaces a NaN loss by the running mean or 0.0; only the gradient's norm betrays it.
    return norm is not None and math.isnan(norm) and (loss is None or loss == 0.0)


def _spike(steps: list[Step]) -> Iterator[Event]:
    """A loss far above its own recent level that does not come back."""
    for series in _stages(_series(steps)):
        known = [s for s in series if s.loss is not None and math.isfinite(s.loss)]
        if len(known) < MIN_SPIKE_RECORDS:
            continue
        known = known[:: max(1, len(known) // MAX_SPIKE_RECORDS)]
        losses = [s.loss or 0.0 for s in known]
        for i in range(MIN_SPIKE_RECORDS // 2, len(known) - STAYED):
            window = losses[max(0, i - 50) : i]
            level = median(window)
            spread = median([abs(x - level) for x in window])
            high = jump(level, spread)
            rest = losses[i:]
            stays = (
                losses[i] > high and min(losses[i : i + STAYED]) > high and median(rest) > level + (high - level) / 2
            )
            if stays and min(rest[-STAYED:]) > lasting(level, spread):
                fields: dict[str, Value] = {
                    "first_bad_step": known[i].step,
                    "loss_before": round(level, 4),
                    "loss_after": round(median(rest), 4),
                }
                text = f"the loss jumps from about {level:.3g} to {losses[i]:.3g} and stays there"
                yield _event(known[i], "loss-spike", text, fields, (place_of(known[i + 1]),))
                return


def _stages(every: Iterable[list[Step]]) -> Iterator[list[Step]]:
    """Cut series where another stage begins, whose loss is its own: the counter starts anew, but not at each epoch."""
    for series in every:
        begins = [
            at
            for at, (last, step) in enumerate(pairwise(series), 1)
            if step.step in FIRST_STEPS and (step.step or 0) < (last.step or 0) // 2
        ]
        if len(begins) > MOST_STAGES:
            yield series
        else:
            yield from (series[a:b] for a, b in pairwise((0, *begins, len(series))))


def jump(level: float, spread: float) -> float:
    """Return the loss above which a series with that level and spread has jumped."""
    return level + max(8 * spread, 0.35 * abs(level), 0.5)


def lasting(level: float, spread: float) -> float:
    """Return the loss above which it has not come back."""
    return level + max(4 * spread, 0.2 * abs(level))


def _skipped(seen: Seen, steps: list[Step]) -> Iterator[Event]:
    """Megatron leaves the loss out of a record whose every iteration was skipped, and goes on to a good end."""
    counted = [s for s in steps if "number_of_skipped_iterations" in s.keys and s.step is not None]
    lost = next((i for i in range(len(counted), 0, -1) if counted[i - 1].loss is not None), 0)
    if lost < MIN_LEVEL_RECORDS or len(counted) - lost < SKIPPED_RECORDS:
        return
    first, last = counted[lost], counted[-1]
    tail = "\n".join(line.text for line in seen.tails.get(last.path, ()))
    scales = [float(m["minimum"]) for m in _SCALE.finditer(tail)]
    fields: dict[str, Value] = {"first_skipped_step": first.step, "last_step": last.step}
    if scales and "loss_scale" in last.keys:
        fields["minimum"] = scales[-1]
    text = f"no record has a loss from step {first.step} on: every iteration was skipped"
    yield _event(first, "all-skipped", text, fields, (place_of(counted[lost + 1]), place_of(last)))


def _slow(steps: list[Step]) -> Iterator[Event]:
    """One rank whose own work takes longer than the others', which wait for it."""
    by_rank: dict[int, list[Step]] = defaultdict(list)
    for step in steps:
        if step.rank is not None:
            by_rank[step.rank].append(step)
    for name, values in (("data_time_s", _data_time), ("step_time_s", _step_time)):
        typical = {
            rank: median(found)
            for rank, own in by_rank.items()
            if len(found := [v for s in own if (v := values(s)) is not None]) >= MIN_SLOW_RECORDS
        }
        if len(typical) < 2:
            continue
        worst = max(typical, key=lambda r: typical[r])
        rest = median([v for r, v in typical.items() if r != worst])
        whole = median([s.step_time_s for s in by_rank[worst] if s.step_time_s] or [typical[worst]])
        late = typical[worst] > SLOW_SHARE * rest and typical[worst] - rest > 0.1 * whole and typical[worst] > 0.01
        if late:
            last = by_rank[worst][-1]
            fields: dict[str, Value] = {"rank": worst, name: round(typical[worst], 4), "others_s": round(rest, 4)}
            text = f"rank {worst} spends {typical[worst]:.3g} s a step where the others spend {rest:.3g} s"
            yield _event(last, "slow-rank", text, fields, (place_of(by_rank[worst][0]),))
            return


def _data_time(step: Step) -> float | None:
    return step.data_time_s


def _step_time(step: Step) -> float | None:
    return step.step_time_s


def _series(steps: Iterable[Step]) -> list[list[Step]]:
    """Group records that have a loss or a gradient norm by source, rank and thread."""
    groups: dict[tuple[object, ...], list[Step]] = defaultdict(list)
    for step in steps:
        if step.loss is not None or step.grad_norm is not None:
            # A row that has a single metric belongs to that metric's series (`loss_mel`, `loss_dur`).
            named = tuple(key for key in step.keys if key not in _MARKS)
            metric = named if len(named) == 1 else ()
            groups[step.path, step.rank, step.lane, metric].append(step)
    return list(groups.values())


def _position(steps: list[Step], at: Step) -> int | None:
    """Return the counter of the last numbered record before one that has none (HF prints no step)."""
    number = None
    for step in steps:
        if step is at:
            return number
        if step.step is not None and step.path == at.path:
            number = step.step
    return number


def place_of(step: Step) -> Evidence:
    """Return where a record stands."""
    return Evidence(step.path, step.line, step.line, "", step.column)


def _event(step: Step, kind: str, text: str, fields: dict[str, Value], also: tuple[Evidence, ...]) -> Event:
    return observed(place_of(step), kind, text, fields, also, step.time, step.rank, step.lane)
