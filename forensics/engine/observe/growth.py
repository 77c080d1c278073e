"""Memory that grows from step to step before it runs out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from forensics.model import Event, Step
from forensics.text.sizes import format_size

_PARTS = 4
_LEAST_RECORDS = 12
_LEAST_SHARE = 0.1
"""Share of what there is at the end that must have come since the begin."""


def grown(steps: Sequence[Step], failed: Event) -> str:
    """Return a sentence on the growth of memory up to a failure, or nothing where it stood still.

    `steps` are those of the run, as `timeline.placed` gives them. Each quarter of
    them must show more than the one before: the jump of a longest batch, after which a peak
    never falls again, is no growth.
    """
    steps = [s for s in steps if s.path == failed.path and s.memory_bytes]
    steps = [s for s in steps if s.line <= failed.line and s.rank in {None, failed.rank}]
    if len(steps) < _LEAST_RECORDS:
        return ""
    size = len(steps) // _PARTS
    quarters = [steps[size * n : size * (n + 1)] for n in range(_PARTS)]
    levels = [median(s.memory_bytes or 0 for s in quarter) for quarter in quarters]
    risen = [later - former for former, later in pairwise(levels)]
    if min(risen) <= 0 or sum(risen) < _LEAST_SHARE * levels[-1] or max(risen) > 0.8 * sum(risen):
        return ""
    first, last = steps[0], steps[-1]
    return (
        f"Memory grew from {format_size(first.memory_bytes or 0)} at step {first.step} to "
        f"{format_size(last.memory_bytes or 0)} at step {last.step}: something is kept from step to step"
    )
