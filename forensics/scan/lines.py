"""From blocks to candidate lines: exact numbers, columns and offsets, bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.model import Line
from forensics.scan.engines import Matcher, matcher
from forensics.scan.floods import Floods
from forensics.scan.key import Learn
from forensics.scan.places import after, characters, line_end, record_start

if TYPE_CHECKING:
    from forensics.scan.thin import Thinning

BLOCK = 1 << 20
"""Bytes that are looked through at once: they stay in the cache of one core."""

LONGEST_LINE = 16 << 20
"""A line longer than this (bytes) is handed over in pieces, and `Scan.split_lines` counts it."""
LONGEST_TEXT = 1 << 16
"""Bytes of one record that are decoded; `Scan.cut_lines` counts the records cut here."""
HEAD_LINES = 60
"""Records handed over from the start of every stream, where programs say what they are."""
TAIL_BYTES = 1 << 15
TAIL = 1 << 16
"""Bytes at the end of a stream in which nothing is held back."""
FORCED_STEPS = 1000
"""Progress records with a NaN that are handed over however much is thinned."""
NONFINITE = tuple(
    before + word for before in (b": ", b"=", b":", b"= ", b"  ", b"(", b"[", b"\t", b"| ", b",", b"', ")
    for word in (b"nan", b"NaN", b"NAN")
)  # fmt: skip
"""A NaN where a number is expected; `number of nan iterations` is none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to look for: literals, how many records to hand over after each, and progress.

    `progress` finds text that may belong to a progress record, and `learn` tells where the
    loss of one stands. `engine` is one of `ENGINES` or `auto`, which chooses by
    `total_bytes`, the size of the whole run.
    """

    follow: Mapping[bytes, int]
    progress: re.Pattern[bytes] | None = None
    learn: Learn | None = None
    engine: str = "auto"
    total_bytes: int = 0

    def matcher(self) -> Matcher:
        """Return the matcher for the plan's literals in the order of `follow`, and `NONFINITE` behind them."""
        return matcher([*self.follow, *NONFINITE], self.engine, self.total_bytes)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line worth a look. `literal`: one of the plan's is near. `progress`: it may be a step."""

    line: Line
    literal: bool
    progress: bool


class _Place:
    """Line number and column of a position that only moves forward in a block."""

    __slots__ = ("_at", "_counted", "column", "number")

    def __init__(self, number: int, column: int) -> None:
        self.number = number
        self.column = column
        self._counted = self._at = 0

    def move(self, block: bytes, start: int) -> None:
        """Go on to the record that begins at `start`."""
        newlines = block.count(b"\n", self._counted, start)
        if newlines:
            self.number += newlines
            self.column, self._at = 0, block.rfind(b"\n", 0, start) + 1
        self._counted = start
        self.column += characters(block[self._at : start])
        self._at = start


class Scan:
    """One pass over one stream. Iterate `over` once; the counts are final afterwards.

    With a `budget`, only about so many of the progress records are handed over, the last one
    always, and in `remarkable` those that stand out; `size` is then the stream's, about. And of
    lines that repeat themselves thousands of times only the first are handed over.
    """

    def __init__(self, plan: Plan, matcher: Matcher, *, budget: int = 0, size: int = 0) -> None:
        self.plan = plan
        self.lines = 0
        self.bytes = 0
        self.complete = True
        self.cut_lines = 0
        self.split_lines = 0
        self.tail: tuple[Line, ...] = ()
        self.remarkable: list[Line] = []
        self._matcher = matcher
        self._follow = tuple(plan.follow.values())
        self._carry = HEAD_LINES
        self._left = HEAD_LINES
        self._end = 0  # offset just behind the record handed over last
        self._column = 0  # characters of the current line before this block
        self._forced = 0
        self._last_bytes = b""
        self._floods = Floods() if budget else None
        self._thinning: Thinning | None = None
        if budget and plan.progress is not None and plan.learn is not None:
            from forensics.scan.thin import Thinning  # numpy takes longer to load than a small log to read

            self._thinning = Thinning(plan.progress, plan.learn, budget, size, BLOCK)

    @property
    def records(self) -> int:
        """About how many progress records the stream has; 0 where none was left out."""
        return self._thinning.about if self._thinning else 0

    @property
    def repeats(self) -> int:
        """How many lines were not handed over because many like them were."""
        return self._floods.dropped if self._floods else 0

    def over(self, chunks: Iterable[bytes]) -> Iterator[Hit]:
        """Yield the hits of the stream in order of offset."""
        for block, final in self._blocks(chunks):
            yield from self._in_block(block, final=final)
            if self._thinning is not None:
                self.lines += self._thinning.see(block, self.bytes, self.lines, self._column)
            else:
                self.lines += block.count(b"\n")
            self.bytes += len(block)
            self._column = characters(block[block.rfind(b"\n") + 1 :]) + (0 if b"\n" in block else self._column)
            self._last_bytes = (self._last_bytes + block[-TAIL_BYTES:])[-TAIL_BYTES:]
        self.complete = not self._last_bytes or self._last_bytes[-1:] in {b"\n", b"\r"}
        self.lines += bool(self._last_bytes) and self._last_bytes[-1:] != b"\n"
        self.tail = tuple(self._tail())
        if self._thinning is not None:
            self.remarkable = self._thinning.remarkable()

    def _blocks(self, chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Yield blocks of whole records, the same ones however the chunks are. The last is marked, and no mere rest."""
        held = b""
        for block in self._cut(chunks):
            if held and len(block) >= TAIL:
                yield held, False
                held = block
            else:
                held += block
        if held:
            yield held, True

    def _cut(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        size = min(BLOCK, LONGEST_LINE)
        parts: list[bytes] = []
        have, wanted = 0, size
        for chunk in chunks:
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

    def _in_block(self, block: bytes, *, final: bool) -> Iterator[Hit]:
        literal, steps = self._marks(block, final=final)
        starts = sorted(literal.keys() | steps)
        at = _Place(self.lines + 1, self._column)
        for start, end, near in self._chosen(block, starts, literal):
            at.move(block, start)
            if end == start and block[end : end + 1] == b"\r":
                continue  # nothing stood between two carriage returns
            progress = start in steps
            if progress or near >= 0:
                yield Hit(self._line(block, start, end, at), literal=near >= 0, progress=progress)
        self._carry = self._left

    def _marks(self, block: bytes, *, final: bool) -> tuple[dict[int, int], set[int]]:
        """Return record start -> records to hand over after it, and the progress records to hand over."""
        literal: dict[int, int] = {}
        steps: set[int] = set()
        repeats_from = len(block) - TAIL if final else len(block)
        floods = self._floods
        last, held = -1, False
        for at, index in sorted(self._matcher.find(block)):
            if index >= len(self._follow):
                if self._thinning is not None and self._forced < FORCED_STEPS:
                    start = record_start(block, at)
                    self._forced += start not in steps
                    steps.add(start)
                continue
            start = record_start(block, at)
            if start != last and floods is not None:
                held = start < repeats_from and floods.holds_back(block, start)
            last = start
            if held:
                continue
            literal[start] = max(literal.get(start, 0), self._follow[index])
        if self.plan.progress is not None:
            if self._thinning is not None:
                steps |= self._thinning.choose(block, TAIL if final else 0)
            else:
                steps = {record_start(block, m.start()) for m in self.plan.progress.finditer(block)}
        return literal, steps

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

    def _tail(self) -> Iterator[Line]:
        data = self._last_bytes
        number = self.lines - data.count(b"\n") + (1 if data[-1:] == b"\n" else 0)
        offset = self.bytes - len(data)
        whole = offset == 0
        for part in data.split(b"\n"):
            if whole and (part or number <= self.lines):
                text = part.split(b"\r")[-1] or part
                yield Line(number, 0, offset, text[:LONGEST_TEXT].decode("utf-8", "replace"), number)
            whole = True
            number += 1
            offset += len(part) + 1


def _end(block: bytes, start: int) -> tuple[int, int]:
    """Return where the record that begins at `start` ends, and where the next begins."""
    end = line_end(block, start)
    return end, after(block, end)


def _first_end(buffer: bytes, at: int) -> int:
    """Return where the record that goes on at a position ends, its line end included, or 0."""
    found = [place for end in (b"\n", b"\r") if (place := buffer.find(end, at - 1, len(buffer) - (end == b"\r")) + 1)]
    end = min(found, default=0)
    return end + 1 if end and buffer[end - 1 : end + 1] == b"\r\n" else end
