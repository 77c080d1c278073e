"""Ends that were not the end: a phase said that its training was done, and training went on; or a clock was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from forensics.engine.outcome import is_end
from forensics.model import Event, Step

GOES_ON = 2
"""Different places, with losses, that training reached afterwards; one may be the score of the best iteration."""


def told_apart(events: Sequence[Event], steps: Sequence[Step]) -> list[Event]:
    """Call an end `phase-complete` where the same rank of the same log trained on after it.

    And `interrupted` where all that is told is how long training took, after an error had ended it:
    detectron2 and others print that on the way out.
    """
    learned: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.series == "train" and step.loss is not None:
            learned[step.path].append(step)
    raised = [e for e in events if e.speaker == "exception"]
    return [_named(event, learned[event.path], raised) if is_end(event) else event for event in events]


def _named(end: Event, learned: Sequence[Step], raised: Sequence[Event]) -> Event:
    if _goes_on(end, learned):
        return replace(end, kind="phase-complete")
    if end.fields.get("marker") == "clock":
        last = max((step.line for step in learned if step.line <= end.line), default=0)
        if any(e.path == end.path and e.rank == end.rank and last < e.line < end.line for e in raised):
            return replace(end, kind="interrupted")
    return end


def _goes_on(event: Event, learned: Sequence[Step]) -> bool:
    places = {
        (step.step, step.epoch)
        for step in learned
        if (step.line, step.column) > (event.end_line, event.column)
        and (step.rank, step.lane) == (event.rank, event.lane)
    }
    return len(places) >= GOES_ON
