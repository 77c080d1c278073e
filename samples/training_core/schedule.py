"""What changes with the step: pure functions, so a resumed run goes on where it stopped."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cosine with a linear warm-up."""

    peak: float
    warmup: int
    total: int

    def rate(self, step: int) -> float:
        """Return the learning rate of a step that counts from 0; never 0, so that no step is wasted."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.total - self.warmup)
        return self.peak * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))

    def left(self, step: int) -> float:
        """Return the share of the run that is still to come: what the noise is scaled by."""
        return max(0.0, 1.0 - step / self.total)

    def state(self) -> dict[str, float | int]:
        """Return what a checkpoint keeps."""
        return asdict(self)


def schedule(peak: float, warmup_ratio: float, total: int) -> Schedule:
    """Return the schedule of a run; the warm-up is one step at least."""
    return Schedule(peak, max(1, math.ceil(warmup_ratio * total)), total)
