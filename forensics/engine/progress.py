"""Which progress stands after a fault: counted by bisection, as a log may repeat a fault thousands of times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from forensics.model import Event, Step

_ANY: Final = object()
"""Whatever the rank or the lane: no lane's name equals it."""
_LAST: Final = 1 << 62
"""A column beyond the end of every line."""
_Place = tuple[int, int]


class Progress:
    """The progress records of a run's training, or of a server's work, by source, rank and lane."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps: dict[str, list[Step]] = defaultdict(list)
        drawn: dict[tuple[str, int | None, str | None], tuple[int | None, float | None]] = {}
        for step in steps:
            serves = step.series == "other" and step.tokens_per_s is not None
            if (step.series != "train" and not serves) or step.step == 0:
                continue  # a bar at 0 waits
            track, now = (step.path, step.rank, step.lane), (step.step, step.loss)
            if step.step is None or drawn.get(track) != now:
                self._steps[step.path].append(step)
            drawn[track] = now  # tqdm draws its last state once more when it is closed, by an exception too
        self._places: dict[str, dict[tuple[object, object], list[_Place]]] = {}

    def after(self, event: Event) -> int:
        """Count the records below an event that its rank and lane wrote, or nobody in particular did."""
        lane: object = _ANY if event.lane is None else event.lane
        if event.rank is None:
            return self._below(event, _ANY, lane)
        return self._below(event, event.rank, lane) + self._below(event, None, lane)

    def ranked_after(self, event: Event) -> bool:
        """Tell whether one of the records below an event, and of its lane, names its rank."""
        lane: object = _ANY if event.lane is None else event.lane
        return self._below(event, _ANY, lane) > self._below(event, None, lane)

    def all_after(self, event: Event) -> int:
        """Count the records on lines below an event, whoever wrote them."""
        return self._count(event.path, (event.end_line, _LAST), _ANY, _ANY)

    def all_before(self, event: Event) -> int:
        """Count the records on lines above an event, whoever wrote them."""
        places: Sequence[_Place] = self._of(event.path).get((_ANY, _ANY), ())
        return bisect_left(places, (event.line, 0))

    def trains(self, path: str) -> bool:
        """Tell whether a source has records of training at all."""
        return bool(self._steps.get(path))

    def later_than(self, time: float) -> int:
        """Count the records that were written after a time."""
        return len(self._times) - bisect_right(self._times, time)

    @cached_property
    def _times(self) -> list[float]:
        return sorted(step.time for steps in self._steps.values() for step in steps if step.time is not None)

    def reports(self, event: Event) -> bool:
        """Tell whether the event's rank, or nobody in particular, writes any record in the event's source.

        Where it has no rank, but a lane of its own, whether that one does.
        """
        if event.rank is None:
            return bool(self._of(event.path).get((_ANY, _ANY if event.lane is None else event.lane)))
        return any(self._of(event.path).get((rank, _ANY)) for rank in (event.rank, None))

    def _below(self, event: Event, rank: object, lane: object) -> int:
        return self._count(event.path, (event.end_line, event.column), rank, lane)

    def _count(self, path: str, place: _Place, rank: object, lane: object) -> int:
        places: Sequence[_Place] = self._of(path).get((rank, lane), ())
        return len(places) - bisect_right(places, place)

    def _of(self, path: str) -> dict[tuple[object, object], list[_Place]]:
        if path not in self._places:
            # Indexed only where a fault asks: most sources have none.
            found: dict[tuple[object, object], list[_Place]] = defaultdict(list)
            for step in self._steps.get(path, ()):
                for key in ((step.rank, step.lane), (step.rank, _ANY), (_ANY, step.lane), (_ANY, _ANY)):
                    found[key].append((step.line, step.column))
            for places in found.values():
                places.sort()
            self._places[path] = dict(found)
        return self._places[path]
