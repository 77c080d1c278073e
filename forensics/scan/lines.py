"""From blocks to candidate lines: exact numbers, columns and offsets, bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from forensics.model import Line
from forensics.scan.engines import Matcher, matcher
from forensics.scan.floods import MOST_ALIKE, Floods, Shape, shape
from forensics.scan.key import Learn, Slot
from forensics.scan.parts import BLOCK, LONGEST_LINE
from forensics.scan.places import LineFeeds, after, characters, line_end, line_feeds, record_start
from forensics.scan.tail import LONGEST_TEXT, Tail

if TYPE_CHECKING:
    from forensics.scan.thin import Thinning


HEAD_LINES = 60
"""Records handed over from the start of every stream, where programs say what they are."""
TAIL_BYTES = 1 << 15
TAIL, LEAST_TAIL = 1 << 16, 1 << 12
"""Bytes at the end of a stream in which nothing is held back: a sixty-fourth of it, between these."""
FORCED_STEPS = 1000
"""Progress records with a NaN that are handed over however much is thinned."""
NONFINITE = tuple(
    before + word for before in (b": ", b"=", b":", b"= ", b"  ", b"(", b"[", b"\t", b"| ", b",", b"', ")
    for word in (b"nan", b"NaN", b"NAN")
)  # fmt: skip
"""A NaN where a number is expected; `number of nan iterations` is none."""


class Plan(Struct, frozen=True):
    """What to look for: literals, how many records to hand over after each, and progress.

    `progress` finds text that may belong to a progress record, and `learn` tells where the
    loss of one stands. `engine` is one of `ENGINES` or `auto`, which chooses by
    `total_bytes`, the size of the whole run. Of a stream that is thinned, `head` records are
    handed over from its start, and `alike` lines that differ in their numbers only.
    """

    follow: Mapping[bytes, int]
    progress: re.Pattern[bytes] | None = None
    learn: Learn | None = None
    engine: str = "auto"
    total_bytes: int = 0
    head: int = HEAD_LINES
    alike: int = MOST_ALIKE

    def matcher(self) -> Matcher:
        """Return the matcher for the plan's literals in the order of `follow`, and `NONFINITE` behind them."""
        return matcher([*self.follow, *NONFINITE], self.engine, self.total_bytes)


class Hit(Struct, frozen=True):
    """A line worth a look. `literal`: one of the plan's is near. `progress`: it may be a step.

    `end` is the offset behind the record. Where repeats are held back, `shape` is that of a
    record which holds a literal itself, and `exempt` says that it is read whatever it repeats.
    """

    line: Line
    literal: bool
    progress: bool
    end: int = 0
    shape: Shape | None = None
    exempt: bool = False


class Span(Struct):
    """Which part of a stream a scan reads: from `start` on, and whether it is the first and the last one.

    That it is the last one may be found out while it is read, up to the end of what the scan is given.
    """

    start: int = 0
    first: bool = True
    last: bool = True


class _Place:
    """Line number and column of a position that only moves forward in a block."""

    __slots__ = ("_at", "_before", "_feeds", "column", "number")

    def __init__(self, feeds: LineFeeds, number: int, column: int) -> None:
        self.number = number
        self.column = column
        self._feeds = feeds
        self._before = self._at = 0

    def move(self, start: int) -> None:
        """Go on to the record that begins at `start`."""
        before = self._feeds.before(start)
        if before > self._before:
            self.number += before - self._before
            self.column, self._at = 0, self._feeds.block.rfind(b"\n", 0, start) + 1
            self._before = before
        self.column += characters(self._feeds.block[self._at : start])
        self._at = start


class Scan:
    """One pass over one stream. Iterate `over` once; the counts are final afterwards.

    With a `budget`, only about so many of the progress records are handed over, the last one
    always, and in `remarkable` those that stand out; `size` is then the stream's, about. And of
    lines that repeat themselves thousands of times only the first are handed over.

    A `span` reads a part of a stream: what `over` is given begins behind a line end. Line
    numbers count from the beginning of the part, offsets from that of the stream.
    """

    def __init__(
        self, plan: Plan, matcher: Matcher, *, budget: int = 0, size: int = 0, span: Span | None = None
    ) -> None:
        self.plan = plan
        self._span = span or Span()
        self.lines = 0
        self.bytes = self._span.start
        self.complete = True
        self.cut_lines = 0
        self.split_lines = 0
        self.tail: Sequence[Line] = ()
        self.remarkable: list[tuple[Slot, Line]] = []
        self._matcher = matcher
        self._follow = tuple(plan.follow.values())
        head = min(plan.head, HEAD_LINES) if budget else HEAD_LINES
        self._carry = self._left = head if self._span.first else 0
        self._end = 0 if self._span.first else -1  # offset just behind the record handed over last
        self._column = 0  # characters of the current line before this block
        self._forced = 0
        self._last_bytes = b""
        self._floods = Floods(plan.alike) if budget else None
        self._exempt = min(TAIL, max(size // 64, LEAST_TAIL))
        self._thinning: Thinning | None = None
        if budget and plan.progress is not None and plan.learn is not None:
            from forensics.scan.thin import Thinning  # numpy takes longer to load than a small log to read

            self._thinning = Thinning(plan.progress, plan.learn, budget, size, BLOCK, head=self._span.first)

    @property
    def records(self) -> int:
        """About how many progress records the stream has; 0 where none was left out."""
        return self._thinning.about if self._thinning else 0

    @property
    def repeats(self) -> int:
        """How many lines were not handed over because many like them were."""
        return self._floods.dropped if self._floods else 0

    def over(self, chunks: Iterable[bytes], beyond: Iterable[bytes] = ()) -> Iterator[Hit]:
        """Yield the hits of the stream in order of offset; `beyond` as for `over_blocks`."""
        return self.over_blocks(self._cut(chunks), beyond)

    def over_blocks(self, blocks: Iterable[bytes], beyond: Iterable[bytes] = ()) -> Iterator[Hit]:
        """Yield the hits of a stream that comes in blocks of whole lines.

        What follows a literal at the end of a part stands in the next one: `beyond` begins there.
        """
        for block, final in _marked(blocks):
            feeds = LineFeeds(block)
            yield from self._in_block(feeds, final=final and self._span.last)
            if self._thinning is not None:
                self._thinning.see(feeds, self.bytes, self.lines, self._column)
            self.lines += feeds.before(len(block))
            self.bytes += len(block)
            self._column = characters(block[block.rfind(b"\n") + 1 :]) + (0 if b"\n" in block else self._column)
            self._last_bytes = (self._last_bytes + block[-TAIL_BYTES:])[-TAIL_BYTES:]
        self.complete = not self._last_bytes or self._last_bytes[-1:] in {b"\n", b"\r"}
        self.lines += bool(self._last_bytes) and self._last_bytes[-1:] != b"\n"
        self.tail = self._tail()
        if self._thinning is not None:
            self.remarkable = self._thinning.remarkable()
        if not self._span.last and self._left > 0:
            yield from self._follow_up(beyond)

    def _follow_up(self, chunks: Iterable[bytes]) -> Iterator[Hit]:
        lines, offset = self.lines, self.bytes
        for block in self._cut(chunks):
            at = _Place(LineFeeds(block), self.lines + 1, self._column)
            for start, end, _near in self._chosen(block, [], {}):
                at.move(start)
                if end != start or block[end : end + 1] != b"\r":
                    yield Hit(self._line(block, start, end, at), literal=True, progress=False, end=self._end)
            self._carry = self._left
            self.lines += line_feeds(block)
            self.bytes += len(block)
            if self._left <= 0:
                break
        self.lines, self.bytes = lines, offset

    def _cut(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield blocks of whole records, the same ones however the chunks are."""
        size = min(BLOCK, LONGEST_LINE)
        parts: list[bytes | memoryview] = []
        have, wanted = 0, size
        for chunk in chunks:
            if have < size <= have + len(chunk) and (cut := chunk.rfind(b"\n", 0, size - have) + 1):
                # The usual case, in which nothing is copied twice.
                whole = memoryview(chunk)
                yield b"".join((*parts, whole[:cut]))
                parts, have, wanted = [whole[cut:]], len(chunk) - cut, size
            else:
                parts.append(chunk)
                have += len(chunk)
            if have < wanted:
                continue
            buffer, at = b"".join(parts), 0
            while len(buffer) - at >= size:
                # A final CR may be half of a CR LF, so it never ends a block.
                cut = buffer.rfind(b"\n", at, at + size) + 1 or buffer.rfind(b"\r", at, at + size - 1) + 1
                cut = cut or _first_end(buffer, at + size)
                if not cut and len(buffer) - at >= LONGEST_LINE:
                    self.split_lines += 1
                    cut = at + LONGEST_LINE
                if not cut:
                    break
                yield buffer[at:cut]
                at = cut
            parts = [buffer[at:]]
            have = len(parts[0])
            wanted = have + size if have >= size else size
        rest = b"".join(parts)
        if rest:
            yield rest

    def _in_block(self, feeds: LineFeeds, *, final: bool) -> Iterator[Hit]:
        block = feeds.block
        exempt = len(block) - self._exempt if final else len(block)
        literal, steps, shapes = self._marks(block, exempt, final=final)
        starts = sorted(literal.keys() | steps)
        at = _Place(feeds, self.lines + 1, self._column)
        for start, end, near in self._chosen(block, starts, literal):
            at.move(start)
            if end == start and block[end : end + 1] == b"\r":
                continue  # nothing stood between two carriage returns
            progress = start in steps
            if progress or near >= 0:
                line = self._line(block, start, end, at)
                yield Hit(line, near >= 0, progress, self._end, shapes.get(start), exempt=start >= exempt)
        self._carry = self._left

    def _marks(self, block: bytes, exempt: int, *, final: bool) -> tuple[dict[int, int], set[int], dict[int, Shape]]:
        """Return record start -> records to hand over after it, the progress records to hand over, and shapes."""
        literal: dict[int, int] = {}
        steps: set[int] = set()
        shapes: dict[int, Shape] = {}
        held = -1
        ended = block + b"\n" if final and block[-1:] not in b"\r\n" else block  # a line may end with the stream
        for at, index in sorted(self._matcher.find(ended)):
            start = record_start(block, at)
            if index >= len(self._follow):
                if self._thinning is not None and self._forced < FORCED_STEPS:
                    self._forced += start not in steps
                    steps.add(start)
                continue
            if start == held:
                continue
            if self._floods is not None and start not in shapes:
                shapes[start] = shape(block, start)
                if start < exempt and self._floods.hold_back(shapes[start]):
                    held = start
                    continue
            literal[start] = max(literal.get(start, 0), self._follow[index])
        if self._thinning is not None:
            steps |= self._thinning.choose(block, TAIL if final else 0)
        elif self.plan.progress is not None:
            steps = {record_start(block, m.start()) for m in self.plan.progress.finditer(block)}
        return literal, steps, shapes

    def _chosen(self, block: bytes, starts: list[int], literal: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, near): near is -1 for a record that is progress and nothing else."""
        left, index, position = self._carry, 0, 0
        while position < len(block):
            if left <= 0:
                if index == len(starts):
                    break
                position = starts[index]
            start = position
            end, position = _end(block, start)
            near = left - 1
            if index < len(starts) and starts[index] == start:
                index += 1
                near = max(near, literal.get(start, -1))
            left = max(near, 0)
            yield start, end, near
        self._left = left

    def _line(self, block: bytes, start: int, end: int, at: _Place) -> Line:
        if end - start > LONGEST_TEXT:
            self.cut_lines += 1
        text = block[start : min(end, start + LONGEST_TEXT)].decode("utf-8", "replace")
        offset = self.bytes + start
        gap = offset != self._end
        self._end = self.bytes + after(block, end)
        return Line(at.number, at.column, offset, text, at.number, gap, end < len(block))

    def _tail(self) -> Sequence[Line]:
        data = self._last_bytes
        if not data and not self._span.first:
            return ()
        number = self.lines - data.count(b"\n") + (1 if data[-1:] == b"\n" else 0)
        offset = self.bytes - len(data)
        if offset == self._span.start:
            return Tail(data, number, offset)
        begin = data.find(b"\n") + 1  # the first line is cut
        return Tail(data[begin:], number + 1, offset + begin) if 0 < begin < len(data) else ()


def _marked(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks and whether each is the last; that one is no mere rest, where there is more."""
    held = b""
    for block in blocks:
        if held and len(block) >= TAIL:
            yield held, False
            held = block
        else:
            held = held + block if held else block
    if held:
        yield held, True


def _end(block: bytes, start: int) -> tuple[int, int]:
    """Return where the record that begins at `start` ends, and where the next begins."""
    end = line_end(block, start)
    return end, after(block, end)


def _first_end(buffer: bytes, at: int) -> int:
    """Return where the record that goes on at a position ends, its line end included, or 0."""
    found = [place for end in (b"\n", b"\r") if (place := buffer.find(end, at - 1, len(buffer) - (end == b"\r")) + 1)]
    end = min(found, default=0)
    return end + 1 if end and buffer[end - 1 : end + 1] == b"\r\n" else end
