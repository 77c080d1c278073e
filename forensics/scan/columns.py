"""Which of millions of progress records matter, told without parsing them.

The few formats of a log are learned from samples: what stands before the loss, and whether a
rank begins the line. From then on only these literals are looked for, and the numbers behind
them are read for a whole block at once. Kept of each rank are its first and last record, those
with the lowest and the highest loss of each stretch, and those at which the loss ceases or
begins again to be a number. The records themselves are parsed later, like all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forensics.scan.key import Key, Slot
from forensics.scan.numbers import Places, Values, numbers, places
from forensics.scan.places import record_start

RANK = b"[rank"
MOST_KEYS = 12
MOST_RANKS = 4096
MOST_BREAKS = 1000
"""Records kept at which a loss ceases or begins to be a number."""


@dataclass(frozen=True, slots=True)
class Found:
    """A record worth keeping: a later one of the same slot replaces it. `start` is where it begins in its block."""

    slot: Slot
    value: float
    start: int


class _Track:
    """What is known of one key, by rank; index 0 is that of no rank."""

    def __init__(self, key: Key) -> None:
        self.key = key
        size = MOST_RANKS + 1 if key.reach else 1
        self.low = np.full(size, np.inf)
        self.high = np.full(size, -np.inf)
        self.broken = np.zeros(size, bool)
        self.seen = np.zeros(size, bool)
        self.last: dict[int, int] = {}


class Columns:
    """Follows the losses of one stream, block by block."""

    def __init__(self) -> None:
        self.rows = 0
        self._tracks: list[_Track] = []
        self._breaks = 0
        self._block = b""

    def learn(self, key: Key) -> None:
        """Follow one more format from the next block on."""
        if len(self._tracks) < MOST_KEYS and all(key.literal != t.key.literal for t in self._tracks):
            self._tracks.append(_Track(key))

    def covers(self, record: bytes) -> bool:
        """Tell whether a record shows its loss as one of the known formats does."""
        return any(track.key.literal in record for track in self._tracks)

    def begin(self) -> None:
        """Begin a new stretch: its lowest and highest losses are its own."""
        for track in self._tracks:
            track.low.fill(np.inf)
            track.high.fill(-np.inf)

    def follow(self, block: bytes) -> tuple[list[Found], list[Found]]:
        """Look through a block.

        Returns:
            What is found in it, and what was the last of its rank in the block before.
        """
        before = {(i, rank): at for i, track in enumerate(self._tracks) for rank, at in track.last.items()}
        ranked = any(track.key.reach for track in self._tracks)
        where = [places(block, RANK) if ranked else _NONE, *(places(block, track.key.literal) for track in self._tracks)]
        values = np.split(numbers(block, np.concatenate(where)), np.cumsum([len(at) for at in where])[:-1])
        named_at, named = where[0], _ranks(values[0])
        found: list[Found] = []
        for index, (track, at, own) in enumerate(zip(self._tracks, where[1:], values[1:], strict=True)):
            track.last = {}
            if len(at):
                self.rows += len(at)
                for rank, what, value, place in self._of(track, at, own, _whose(at, track.key.reach, named_at, named)):
                    found.append(Found((index, rank, what), value, record_start(block, place)))
        now = {(i, rank) for i, track in enumerate(self._tracks) for rank in track.last}
        gone = _lasts(self._block, {who: at for who, at in before.items() if who not in now})
        self._block = block
        return found, gone

    def finish(self) -> list[Found]:
        """Return the last records of the ranks that go on to the end, in the block seen last."""
        return _lasts(self._block, {(i, r): at for i, track in enumerate(self._tracks) for r, at in track.last.items()})

    def _of(self, track: _Track, at: Places, values: Values, who: Places) -> Iterator[tuple[int, str, float, int]]:
        """Yield (rank, what for, loss, place) of what is remarkable among the records of one key."""
        starts = np.zeros(1, np.int64)
        if track.key.reach:
            order = np.argsort(who, kind="stable")
            at, values, who = at[order], values[order], who[order]
            starts = np.flatnonzero(np.concatenate(([True], who[1:] != who[:-1])))
        ranks = who[starts]
        ends = np.append(starts[1:], len(at))
        for group in np.flatnonzero(~track.seen[ranks]):
            yield int(ranks[group]), "first", float(values[starts[group]]), int(at[starts[group]])
        track.seen[ranks] = True
        track.last = dict(zip(ranks.tolist(), at[ends - 1].tolist(), strict=True))
        for index in self._breaking(track, np.isnan(values), who, starts, ends):
            self._breaks += 1
            yield int(who[index]), f"break {self._breaks}", float(values[index]), int(at[index])
        lowest, highest = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
        for group in np.flatnonzero((lowest < track.low[ranks]) | (highest > track.high[ranks])):
            rank, own = int(ranks[group]), slice(starts[group], ends[group])
            if lowest[group] < track.low[rank]:
                track.low[rank] = lowest[group]
                yield rank, "low", float(lowest[group]), int(at[own][np.argmax(values[own] == lowest[group])])
            if highest[group] > track.high[rank]:
                track.high[rank] = highest[group]
                yield rank, "high", float(highest[group]), int(at[own][np.argmax(values[own] == highest[group])])

    def _breaking(
        self, track: _Track, broken: npt.NDArray[np.bool_], who: Places, starts: Places, ends: Places
    ) -> list[int]:
        """Return the records at which a rank's loss ceases to be a number, or is one again."""
        before = np.concatenate(([False], broken[:-1]))
        before[starts] = track.broken[who[starts]]
        track.broken[who[starts]] = broken[ends - 1]
        changed: list[int] = np.flatnonzero(broken != before)[: MOST_BREAKS - self._breaks].tolist()
        return changed


_NONE = np.empty(0, np.int64)


def _lasts(block: bytes, places_: dict[tuple[int, int], int]) -> list[Found]:
    return [
        Found((index, rank, "last"), float("nan"), record_start(block, at)) for (index, rank), at in places_.items()
    ]


def _ranks(named: Values) -> Places:
    """Return which ranks are named: 1 more than the number, 0 where it is none."""
    return np.where((named >= 0) & (named < MOST_RANKS), named + 1, 0).astype(np.int64)


def _whose(at: Places, reach: int, named_at: Places, named: Places) -> Places:
    """Return whose each loss is: the rank that stands last before it, if near enough; 0 for nobody's."""
    if not reach or not len(named_at):
        return np.zeros(len(at), np.int64)
    index = np.searchsorted(named_at, at) - 1
    near = (index >= 0) & (at - named_at[index] <= reach)
    return np.where(near, named[index], 0)
