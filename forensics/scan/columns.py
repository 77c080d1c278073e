"""Which of millions of progress records matter, told without parsing them.

The few formats of a log are learned from samples: what stands before the loss, and whether a
rank begins the line. From then on only these literals are looked for, and the numbers behind
them are read for some blocks at once. Kept of each rank are its first and last record, those
with the lowest and the highest loss of each stretch, and those at which the loss ceases or
begins again to be a number. The records themselves are parsed later, like all others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forensics.scan.key import Key, Slot
from forensics.scan.numbers import Places, Texts, Values, numbers, places, texts

RANK = b"[rank"
MOST_KEYS = 12
MOST_RANKS = 4096
MOST_BREAKS = 1000
"""Records kept at which a loss ceases or begins to be a number."""


class Found(Struct, frozen=True):
    """A record worth keeping: a later one of the same slot replaces it. `place` is where its loss stands."""

    slot: Slot
    value: float
    place: int


class Columns:
    """Follows the losses of one stream, batch by batch of blocks. Places count from the beginning of a batch.

    Its tables have a place for each rank and key, of which there are as many as are needed.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._keys: list[Key] = []
        self._low = self._high = _NO_VALUES
        self._broken = self._seen = np.zeros(0, bool)
        self._last: dict[int, int] = {}
        self._breaks = 0
        self._losses = _Column()
        self._named = _Column()

    def learn(self, key: Key) -> None:
        """Follow one more format from the next block on."""
        if len(self._keys) < MOST_KEYS and all(key.literal != known.literal for known in self._keys):
            self._keys.append(key)

    def covers(self, record: bytes) -> bool:
        """Tell whether a record shows its loss as one of the known formats does."""
        return any(key.literal in record for key in self._keys)

    def begin(self) -> None:
        """Begin a new stretch: its lowest and highest losses are its own."""
        self._low.fill(np.inf)
        self._high.fill(-np.inf)

    def see(self, block: bytes, base: int) -> None:
        """Take the losses out of a block, which begins at so many bytes of the batch."""
        if any(key.reach for key in self._keys):
            self._named.add(block, base, 0, places(block, RANK))
        for number, key in enumerate(self._keys):
            self._losses.add(block, base, number, places(block, key.literal))

    def follow(self) -> tuple[list[Found], list[Found]]:
        """Look through the blocks seen since the last time: a batch.

        Returns:
            What is found in it, and what was the last of its rank in the batch before.
        """
        at, values, who = self._read()
        before, self._last = self._last, {}
        found = [
            Found(_slot(whose, what), value, place)
            for whose, what, value, place in (self._remarkable(at, values, who) if len(at) else ())
        ]
        return found, _lasts({whose: place for whose, place in before.items() if whose not in self._last})

    def finish(self) -> list[Found]:
        """Return the last records of the ranks that go on to the end, in the batch followed last."""
        return _lasts(self._last)

    def _read(self) -> tuple[Places, Values, Places]:
        """Return where losses stand, what they are, and whose; those of one key and rank stand together, in order."""
        at, key, losses = self._losses.taken()
        named_at, _, names = self._named.taken()
        self.rows += len(at)
        if not len(at):
            return at, _NO_VALUES, at
        values = numbers([*names, *losses])
        named, values = _ranks(values[: len(named_at)]), values[len(named_at) :]
        reach = np.array([key.reach for key in self._keys])[key]
        who = _whose(at, reach, named_at, named) * MOST_KEYS + key
        self._make_room(int(who.max()) + 1 - len(self._seen))
        order = np.argsort(who.astype(np.uint16), kind="stable")
        return at[order], values[order], who[order]

    def _make_room(self, more: int) -> None:
        """Add so many places to the tables."""
        if more > 0:
            self._low, self._high = (
                np.append(table, np.full(more, none)) for table, none in ((self._low, np.inf), (self._high, -np.inf))
            )
            self._broken, self._seen = (np.append(table, np.zeros(more, bool)) for table in (self._broken, self._seen))

    def _remarkable(self, at: Places, values: Values, who: Places) -> Iterator[tuple[int, str, float, int]]:
        """Yield (whose, what for, loss, place) of what is remarkable among the losses of a block."""
        starts = np.flatnonzero(np.concatenate(([True], who[1:] != who[:-1])))
        ends = np.append(starts[1:], len(at))
        own = who[starts]
        for group in np.flatnonzero(~self._seen[own]):
            yield int(own[group]), "first", float(values[starts[group]]), int(at[starts[group]])
        self._seen[own] = True
        self._last = dict(zip(own.tolist(), at[ends - 1].tolist(), strict=True))
        for index in self._breaking(np.isnan(values), who, starts, ends):
            self._breaks += 1
            yield int(who[index]), f"break {self._breaks}", float(values[index]), int(at[index])
        lowest, highest = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
        for what, extremes, beyond in (
            ("low", lowest, lowest < self._low[own]),
            ("high", highest, highest > self._high[own]),
        ):
            holders = np.flatnonzero(values == np.repeat(extremes, ends - starts))
            groups = np.flatnonzero(beyond)
            first = at[holders[np.searchsorted(holders, starts[groups])]] if len(groups) else _NONE
            for i, place in zip(groups, first.tolist(), strict=True):
                yield int(own[i]), what, float(extremes[i]), place
        self._low[own] = np.fmin(self._low[own], lowest)
        self._high[own] = np.fmax(self._high[own], highest)

    def _breaking(self, broken: npt.NDArray[np.bool_], who: Places, starts: Places, ends: Places) -> list[int]:
        """Return the records at which a rank's loss ceases to be a number, or is one again."""
        before = np.concatenate(([False], broken[:-1]))
        before[starts] = self._broken[who[starts]]
        self._broken[who[starts]] = broken[ends - 1]
        changed: list[int] = np.flatnonzero(broken != before)[: MOST_BREAKS - self._breaks].tolist()
        return changed


def _slot(whose: int, what: str) -> Slot:
    rank, key = divmod(whose, MOST_KEYS)
    return key, rank, what


_NONE = np.empty(0, np.int64)
_NO_VALUES = np.empty(0)


class _Column:
    """Texts of a batch: where they stand, which key they stand behind, and what they are."""

    def __init__(self) -> None:
        self._parts: list[tuple[Places, Places, Texts]] = []

    def add(self, block: bytes, base: int, key: int, ends: Places) -> None:
        """Take what stands at places of a block, which begins at so many bytes of the batch."""
        if len(ends):
            self._parts.append((ends + base, np.full(len(ends), key), texts(block, ends)))

    def taken(self) -> tuple[Places, Places, list[Texts]]:
        """Return all of them, and begin anew."""
        parts, self._parts = self._parts, []
        at, key = (np.concatenate([_NONE, *(part[i] for part in parts)]) for i in (0, 1))
        return at, key, [part[2] for part in parts]


def _lasts(where: dict[int, int]) -> list[Found]:
    return [Found(_slot(whose, "last"), float("nan"), at) for whose, at in where.items()]


def _ranks(named: Values) -> Places:
    """Return which ranks are named: 1 more than the number, 0 where it is none."""
    return np.where((named >= 0) & (named < MOST_RANKS), named + 1, 0).astype(np.int64)


def _whose(at: Places, reach: Places, named_at: Places, named: Places) -> Places:
    """Return whose each loss is: the rank that stands last before it, if near enough; 0 for nobody's."""
    if not len(named_at):
        return np.zeros(len(at), np.int64)
    index = np.searchsorted(named_at, at) - 1
    near = (index >= 0) & (at - named_at[index] <= reach)
    return np.where(near, named[index], 0)
