"""The progress records of a large stream that are kept, out of millions.

In full: the first ones, a few of each block, and the last ones. Of each rank: what `columns`
finds remarkable. Everything else is counted, roughly, and never parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from forensics.model import Line
from forensics.scan.columns import Columns, Found
from forensics.scan.key import Learn, Slot
from forensics.scan.places import LineFeeds, characters, line_end, record_start
from forensics.scan.tail import LONGEST_TEXT

WINDOW = 1 << 12
"""Bytes at the beginning of each block in which all progress records are looked at."""
_MOST_SHAPES = 200
BATCH = 4 << 20
"""Bytes whose losses are looked through at once."""
_DIGITS = b"0123456789"

LONG_RECORD = 512
"""Bytes from the end for each of the last records that are looked for."""
_EXTREMES = frozenset({"low", "high"})


class Record(NamedTuple):
    """A record as it stands in its stream; most are replaced before a `Line` is made of one."""

    number: int
    column: int
    offset: int
    text: bytes
    complete: bool

    def line(self) -> Line:
        """Return it decoded."""
        text = self.text.decode("utf-8", "replace")
        return Line(self.number, self.column, self.offset, text, self.number, gap=True, complete=self.complete)


class Lines:
    """Takes records out of one block, which stands behind so many bytes, lines, and characters of a line."""

    def __init__(self, feeds: LineFeeds, offset: int, lines: int, column: int) -> None:
        self.block = feeds.block
        self._feeds = feeds
        self._offset = offset
        self._lines = lines
        self._column = column

    def records(self, places: Iterable[int]) -> Iterator[Record]:
        """Yield the records that hold some places of the block, which ascend."""
        start, record = -1, None
        for place in places:
            first = self.block.rfind(b"\n", 0, place) + 1
            at = self.block.rfind(b"\r", first, place) + 1 or first
            if record is None or at != start:
                start, end = at, line_end(self.block, at)
                column = characters(self.block[first:start]) + (0 if first else self._column)
                text = self.block[start : min(end, start + LONGEST_TEXT)]
                number = self._lines + 1 + self._feeds.before(first)
                record = Record(number, column, self._offset + start, text, end < len(self.block))
            yield record


class Batch:
    """Blocks that follow one another and are looked through at once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._bases: list[int] = []
        self._blocks: list[Lines] = []

    def add(self, lines: Lines) -> None:
        """Take one more block."""
        self._bases.append(self.bytes)
        self._blocks.append(lines)
        self.bytes += len(lines.block)

    def records(self, found: Sequence[Found]) -> Iterator[tuple[Found, Record]]:
        """Yield what was found, in the order of the places, with the records that hold it."""
        ordered = sorted(found, key=attrgetter("place"))
        at = 0
        for base, lines in zip(self._bases, self._blocks, strict=True):
            end = bisect_right(ordered, base + len(lines.block), at, key=attrgetter("place"))
            here = ordered[at:end]
            yield from zip(here, lines.records([each.place - base for each in here]), strict=True)
            at = end


class Thinning:
    """Chooses progress records of one stream of about `size` bytes, so that about `budget` are kept."""

    def __init__(
        self, progress: re.Pattern[bytes], learn: Learn, budget: int, size: int, block: int, *, head: bool = True
    ) -> None:
        self._progress = progress
        self._learn = learn
        self._quarter = max(2, budget // 4)
        self._per_block = max(1, self._quarter * block // max(size, 1))
        self._budget = budget
        self._stretch = max(block, size // min(24, max(1, budget // 256)))
        self._used = 0
        self._head = 0 if head else self._quarter
        self._shapes: set[bytes] = set()
        self._looked = self._hits = 0
        self._bytes = 0
        self._columns = Columns()
        self._open: dict[Slot, tuple[float, Record]] = {}
        self._closed: list[dict[Slot, tuple[float, Record]]] = []
        self._batch, self._before = Batch(), Batch()

    @property
    def about(self) -> int:
        """How many progress records the stream has, judged by those looked at."""
        guess = self._bytes * self._hits // max(self._looked, 1)
        return self._columns.rows if self._columns.rows > 0.9 * guess else guess

    def choose(self, block: bytes, tail: int) -> set[int]:
        """Return where the records begin that are handed over from this block whatever they hold.

        In the last `tail` bytes all are looked at.
        """
        self._bytes += len(block)
        end = len(block) if self._head < self._quarter else min(len(block), WINDOW)
        chosen: set[int] = set()
        found = self._records(block, 0, end, self._quarter - self._head if self._head < self._quarter else 0)
        if self._head < self._quarter:
            self._head += len(found)
            chosen.update(found)
        else:
            chosen.update(found[:: -(-len(found) // self._per_block) or 1])
        if tail:
            begin = max(0, len(block) - min(tail, max(WINDOW, self._quarter * LONG_RECORD)))
            chosen.update(self._records(block, begin, len(block), 0)[-self._quarter :])
        return chosen

    def see(self, feeds: LineFeeds, offset: int, above: int, column: int) -> None:
        """Keep what is remarkable in a block that stands at an offset, below so many lines, at a column."""
        if self._used >= self._stretch:
            self._follow()
            self._begin()
        elif self._batch.bytes >= BATCH:
            self._follow()
        self._used += len(feeds.block)
        self._columns.see(feeds.block, self._batch.bytes)
        self._batch.add(Lines(feeds, offset, above, column))

    def remarkable(self) -> list[tuple[Slot, Line]]:
        """Return what was kept and what for, once the stream has ended."""
        self._follow()
        self._keep(self._columns.finish(), self._before)
        return [(slot, record.line()) for kept in (*self._closed, self._open) for slot, (_, record) in kept.items()]

    def _follow(self) -> None:
        """Look through the blocks seen since the last time."""
        found, gone = self._columns.follow()
        self._keep(gone, self._before)
        self._keep(found, self._batch)
        self._batch, self._before = Batch(), self._batch

    def _keep(self, found: list[Found], batch: Batch) -> None:
        for each, record in batch.records(found):
            self._open[each.slot] = each.value, record

    def _begin(self) -> None:
        """Begin a new stretch; where there are too many records already, join two stretches each to one."""
        self._used = 0
        self._columns.begin()
        self._closed.append({slot: kept for slot, kept in self._open.items() if slot[2] in _EXTREMES})
        self._open = {slot: kept for slot, kept in self._open.items() if slot[2] not in _EXTREMES}
        if sum(map(len, self._closed)) > self._budget // 2:
            self._stretch *= 2
            self._closed = [
                _joined(self._closed[i], self._closed[i + 1] if i + 1 < len(self._closed) else {})
                for i in range(0, len(self._closed), 2)
            ]

    def _records(self, block: bytes, start: int, end: int, most: int) -> list[int]:
        """Return where the progress records between two places begin, `most` of them unless 0, and learn from them."""
        if start:
            start = block.find(b"\n", start, end) + 1 or start
        found: list[int] = []
        at = start
        for match in self._progress.finditer(block, start, end):
            at = record_start(block, match.start())
            if found and found[-1] == at:
                continue
            found.append(at)
            self._consider(block, at)
            if most and len(found) >= most:
                at = match.end()
                break
        else:
            at = end
        self._looked += at - start
        self._hits += len(found)
        return found

    def _consider(self, block: bytes, start: int) -> None:
        record = block[start : line_end(block, start)]
        shape = record[:64].translate(None, _DIGITS)
        if shape in self._shapes or len(self._shapes) >= _MOST_SHAPES or self._columns.covers(record):
            return
        self._shapes.add(shape)
        key = self._learn(record)
        if key is not None:
            self._columns.learn(key)


def _joined(
    one: dict[Slot, tuple[float, Record]], other: dict[Slot, tuple[float, Record]]
) -> dict[Slot, tuple[float, Record]]:
    joined = dict(one)
    for slot, kept in other.items():
        mine = joined.get(slot)
        if mine is None or (kept[0] < mine[0] if slot[2] == "low" else kept[0] > mine[0]):
            joined[slot] = kept
    return joined
