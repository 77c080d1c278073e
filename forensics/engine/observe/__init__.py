"""Observations: what no line says, but sources, steps and ranks together show.

Each function reads what was seen and yields events of the speaker `observed`, which
rules match like any other voice. An observation cites the places it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from forensics.engine.observe import (
    allocations,
    buffers,
    capture,
    collectives,
    containers,
    expected,
    gpus,
    laggards,
    neighbours,
    resumption,
    series,
    slowdown,
    stall,
    strangers,
)
from forensics.engine.seen import Seen
from forensics.model import Event

OBSERVERS: tuple[Callable[[Seen], Iterator[Event]], ...] = (
    strangers.observe,
    containers.observe,
    expected.observe,
    capture.observe,
    buffers.observe,
    series.observe,
    resumption.observe,
    slowdown.observe,
    laggards.observe,
    stall.observe,
    collectives.observe,
    allocations.observe,
    gpus.observe,
    neighbours.observe,
)


def observe(seen: Seen) -> list[Event]:
    """Return the observations, in the order of the observers."""
    return [event for observer in OBSERVERS for event in observer(seen)]
