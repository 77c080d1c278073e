"""Ends that were not the end: a fold or a phase said that its training was done, and training went on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from forensics.engine.outcome import is_end
from forensics.model import Event, Step

GOES_ON = 2
"""Different places, with losses, that training reached afterwards; one may be the score of the best iteration."""


def told_apart(events: Sequence[Event], steps: Sequence[Step]) -> list[Event]:
    """Call an end `phase-complete` where the same rank of the same log trained on after it."""
    learned: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.series == "train" and step.loss is not None:
            learned[step.path].append(step)
    return [
        replace(event, kind="phase-complete") if is_end(event) and _goes_on(event, learned[event.path]) else event
        for event in events
    ]


def _goes_on(event: Event, learned: Sequence[Step]) -> bool:
    places = {
        (step.step, step.epoch)
        for step in learned
        if (step.line, step.column) > (event.end_line, event.column)
        and (step.rank, step.lane) == (event.rank, event.lane)
    }
    return len(places) >= GOES_ON
