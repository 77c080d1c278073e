"""What a try that goes on from a checkpoint shows beside the try that wrote it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from forensics import timeline
from forensics.engine.observe.observed import observed
from forensics.engine.observe.series import STAYED, jump, lasting, place_of
from forensics.engine.seen import Seen
from forensics.model import Event, Step, Value

LEVEL_RECORDS = 8
"""Records of the earlier try up to the step of the resume that tell its level."""
WINDOW = 50


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `loss-spike` where the first losses after a resume stand far above those before, and stay there.

    A moved optimizer state or wrongly restored weights show so: nothing warns, and within the
    new log alone the loss even falls.
    """
    earlier = _by_counter([s for s in seen.steps if s.series == "train" and not seen.is_current(s.path)])
    for keys, steps in _by_counter(timeline.placed(seen.current_steps())).items():
        first = steps[0]
        before = [s for s in earlier.get(keys, ()) if _at(s) <= _at(first)][-WINDOW:]
        if len(before) < LEVEL_RECORDS or len(steps) < 2 * STAYED or not _goes_on(first, before[-1], steps[1]):
            continue
        losses = [s.loss or 0.0 for s in before]
        level = median(losses)
        spread = median([abs(x - level) for x in losses])
        after = [s.loss or 0.0 for s in steps]
        jumped = min(after[:STAYED]) > jump(level, spread)
        if not jumped or min(after[-STAYED:]) < lasting(level, spread):
            continue
        fields: dict[str, Value] = {
            "first_bad_step": first.step,
            "loss_before": round(level, 4),
            "loss_after": round(median(after), 4),
        }
        where = f"step {first.step}" if first.step is not None else f"epoch {first.epoch:.3g}"
        text = f"resumed at {where} with a loss of {after[0]:.3g}, where the try before it had {level:.3g}"
        also = (place_of(steps[1]), place_of(before[-1]))
        yield observed(place_of(first), "loss-spike", text, fields, also, first.time, first.rank, first.lane)
        return


def _at(step: Step) -> float:
    """Return how far training was: its step, or where none is told, its epoch and part of one."""
    return float(step.step if step.step is not None else step.epoch or 0.0)


def _by_counter(steps: list[Step]) -> dict[tuple[str, ...], list[Step]]:
    """Group records with a place and a finite loss by the names of their numbers: losses of one kind alone compare."""
    groups: dict[tuple[str, ...], list[Step]] = defaultdict(list)
    for step in steps:
        counted = step.step is not None or step.epoch is not None
        if counted and step.loss is not None and math.isfinite(step.loss):
            groups[step.keys].append(step)
    return groups


def _goes_on(first: Step, last: Step, second: Step) -> bool:
    """Tell whether the first record is of a resumed run, a few records at most beyond what the earlier try reached."""
    apart = max(1.0 if first.step is not None else 0.0, _at(second) - _at(first))
    return _at(first) > apart > 0 and _at(first) - _at(last) <= 3 * apart
