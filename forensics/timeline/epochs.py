"""Counters that begin anew under each heading of an epoch, counted through the run.

    Epoch 3/5
    41/41 [==============================] - 8s 19ms/step - loss: 0.6667

Keras, and many a script around a bar of tqdm, name the epoch on a line of its own. Step 41
under that heading is step 123 of 205.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from forensics.model import Step

HEADING = "epoch_of"
"""Key of a record that is the heading of an epoch: its total is how many are planned."""
THROUGH = "counted_through"
"""Key of a record whose step was counted through the epochs before it."""
_IN_EPOCH = "in_epoch"

_Track = tuple[int | None, str | None]
_Counter = tuple[_Track, int]


class _Stretch(Struct):
    """What one counter showed under one heading."""

    epoch: int
    planned: int
    first: int
    last: int


def through_epochs(steps: Sequence[Step]) -> list[Step]:
    """Number the steps of one source through the run, where headings tell the epoch of counters that begin anew.

    A counter begins anew if its trainer is known for it, if it fell back under each of
    several headings, or if it was full before the last of the planned epochs.
    """
    if not any(_is_heading(step) for step in steps):
        return list(steps)
    first_epoch = min(int(s.epoch or 0) for s in steps if _is_heading(s))
    counters = _stretches(steps)
    headings: dict[_Track, Step] = {}
    result = []
    for step in steps:
        track = step.rank, step.lane
        if _is_heading(step):
            headings[track] = step
        heading = headings.get(track)
        known = counters.get((track, step.total)) if step.total else None
        if (
            heading is not None
            and known
            and _counts(step)
            and (_IN_EPOCH in step.keys or _begins_anew(known, step.total or 0))
        ):
            result.append(_through(step, heading, 1 if first_epoch else 0))
        else:
            result.append(step)
    return result


def _is_heading(step: Step) -> bool:
    return step.keys == (HEADING,)


def _counts(step: Step) -> bool:
    return step.series == "train" and step.epoch is None and step.step is not None


def _stretches(steps: Sequence[Step]) -> dict[_Counter, list[_Stretch]]:
    headings: dict[_Track, Step] = {}
    found: dict[_Counter, list[_Stretch]] = defaultdict(list)
    for step in steps:
        track = step.rank, step.lane
        if _is_heading(step):
            headings[track] = step
        elif _counts(step) and step.total and step.step is not None and (heading := headings.get(track)):
            known = found[track, step.total]
            epoch = int(heading.epoch or 0)
            if not known or known[-1].epoch != epoch:
                known.append(_Stretch(epoch, heading.total or 0, step.step, step.step))
            known[-1].last = step.step
    return dict(found)


def _begins_anew(known: Sequence[_Stretch], total: int) -> bool:
    if len(known) > 1:
        return all(later.first <= before.last for before, later in pairwise(known))
    return known[0].epoch < known[0].planned and known[0].last >= total


def _through(step: Step, heading: Step, base: int) -> Step:
    epoch, planned = int(heading.epoch or 0), (heading.total or 0) + 1 - base
    if step.total is None or step.step is None or epoch - base < 0:
        return step
    keys = tuple(key for key in step.keys if key != _IN_EPOCH)
    return replace(
        step,
        step=(epoch - base) * step.total + step.step,
        total=planned * step.total,
        epoch=heading.epoch,
        keys=(*keys[:1], THROUGH, *keys[1:]),
    )
