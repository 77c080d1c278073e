"""From blocks to candidate lines: exact numbers, columns and offsets, bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from forensics.model import Line
from forensics.scan.engines import Matcher, matcher

LONGEST_LINE = 16 << 20
"""A line longer than this (bytes) is handed over in pieces, and `Scan.split_lines` counts it."""
LONGEST_TEXT = 1 << 16
"""Bytes of one record that are decoded; `Scan.cut_lines` counts the records cut here."""
HEAD_LINES = 60
"""Records handed over from the start of every stream, where programs say what they are."""
TAIL_BYTES = 1 << 15
FORCED_STEPS = 1000
_NONFINITE = (b"nan", b"NaN", b"NAN")
_GOLDEN, _RANGE = 2654435761, 1 << 32


@dataclass(frozen=True, slots=True)
class Plan:
    """What to look for: literals, how many records to hand over after each, and progress.

    `progress` finds text that may belong to a progress record. `engine` is one of
    `ENGINES` or `auto`, which chooses by `total_bytes`, the size of the whole run.
    """

    follow: Mapping[bytes, int]
    progress: re.Pattern[bytes] | None = None
    engine: str = "auto"
    total_bytes: int = 0

    def matcher(self) -> Matcher:
        """Return the matcher for the plan's literals, in the order of `follow`."""
        return matcher(list(self.follow), self.engine, self.total_bytes)


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
        self.column += _characters(block[self._at : start])
        self._at = start


class Scan:
    """One pass over one stream. Iterate `over` once; the counts are final afterwards.

    `stride` may be raised while iterating: only about one progress record in
    `stride` is handed over from then on, but always the last one, and those that hold a NaN.
    """

    def __init__(self, plan: Plan, matcher: Matcher) -> None:
        self.plan = plan
        self.stride = 1
        self.lines = 0
        self.bytes = 0
        self.complete = True
        self.cut_lines = 0
        self.split_lines = 0
        self.skipped_steps = 0
        self.tail: tuple[Line, ...] = ()
        self._matcher = matcher
        self._follow = tuple(plan.follow.values())
        self._carry = HEAD_LINES
        self._left = HEAD_LINES
        self._end = 0  # offset just behind the record handed over last
        self._column = 0  # characters of the current line before this block
        self._steps = 0
        self._forced = 0
        self._pending: Line | None = None
        self._last_bytes = b""

    def over(self, chunks: Iterable[bytes]) -> Iterator[Hit]:
        """Yield the hits of the stream in order of offset."""
        for block in self._blocks(chunks):
            yield from self._in_block(block)
            self.lines += block.count(b"\n")
            self.bytes += len(block)
            self._column = _characters(block[block.rfind(b"\n") + 1 :]) + (0 if b"\n" in block else self._column)
            self._last_bytes = (self._last_bytes + block)[-TAIL_BYTES:]
        self.complete = not self._last_bytes or self._last_bytes[-1:] in {b"\n", b"\r"}
        self.lines += bool(self._last_bytes) and self._last_bytes[-1:] != b"\n"
        self.tail = tuple(self._tail())
        if self._pending is not None:
            yield Hit(self._pending, literal=False, progress=True)

    def _blocks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        buffer = b""
        for chunk in chunks:
            buffer = buffer + chunk if buffer else bytes(chunk)
            # A final CR may be half of a CR LF, so it never ends a block.
            cut = buffer.rfind(b"\n") + 1 or buffer.rfind(b"\r", 0, len(buffer) - 1) + 1
            if not cut and len(buffer) >= LONGEST_LINE:
                self.split_lines += 1
                cut = len(buffer)
            if cut:
                yield buffer[:cut]
                buffer = buffer[cut:]
        if buffer:
            yield buffer

    def _in_block(self, block: bytes) -> Iterator[Hit]:
        literal, steps, skipped = self._marks(block)
        starts = sorted(literal.keys() | steps)
        at = _Place(self.lines + 1, self._column)
        for start, end, near in self._chosen(block, starts, literal):
            at.move(block, start)
            if end == start and block[end : end + 1] == b"\r":
                continue  # nothing stood between two carriage returns
            progress = start in steps
            line = self._line(block, start, end, at)
            if progress:
                self._pending = None
            if progress or near >= 0:
                yield Hit(line, literal=near >= 0, progress=progress)
        self._carry = self._left
        if skipped >= 0 and skipped > max(steps, default=-1):
            last = _Place(self.lines + 1, self._column)
            last.move(block, skipped)
            self._pending = self._line(block, skipped, _end(block, skipped)[0], last)

    def _marks(self, block: bytes) -> tuple[dict[int, int], set[int], int]:
        """Return record start -> records to hand over after it, the progress records to hand over, the last not."""
        literal: dict[int, int] = {}
        for at, index in self._matcher.find(block):
            start = _start(block, at)
            literal[start] = max(literal.get(start, 0), self._follow[index])
        if self.plan.progress is None:
            return literal, set(), -1
        places = [_start(block, m.start()) for m in self.plan.progress.finditer(block)]
        places = [p for p, before in zip(places, [-1, *places], strict=False) if p != before]
        if self.stride == 1:
            self._steps += len(places)
            return literal, set(places), -1
        forced = any(word in block for word in _NONFINITE)
        wanted = {p for p in places if self._wanted(block, p, forced=forced)}
        self.skipped_steps += len(places) - len(wanted)
        return literal, wanted, next((p for p in reversed(places) if p not in wanted), -1)

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

    def _wanted(self, block: bytes, start: int, *, forced: bool) -> bool:
        # A plain "every n-th" would always meet the same rank of a log with n ranks.
        self._steps += 1
        if self._steps * _GOLDEN % _RANGE < _RANGE // self.stride:
            return True
        if (
            forced
            and self._forced < FORCED_STEPS
            and any(w in block[start : _end(block, start)[0]] for w in _NONFINITE)
        ):
            self._forced += 1
            return True
        return False

    def _line(self, block: bytes, start: int, end: int, at: _Place) -> Line:
        if end - start > LONGEST_TEXT:
            self.cut_lines += 1
        text = block[start : min(end, start + LONGEST_TEXT)].decode("utf-8", "replace")
        offset = self.bytes + start
        gap = offset != self._end
        self._end = self.bytes + _after(block, end)
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


def _start(block: bytes, at: int) -> int:
    line = block.rfind(b"\n", 0, at) + 1
    return max(line, block.rfind(b"\r", line, at) + 1)


def _end(block: bytes, start: int) -> tuple[int, int]:
    """Return where the record that begins at `start` ends, and where the next begins."""
    end = block.find(b"\n", start)
    end = len(block) if end < 0 else end
    carriage = block.find(b"\r", start, end)
    end = end if carriage < 0 else carriage
    return end, _after(block, end)


def _after(block: bytes, end: int) -> int:
    return end + 2 if block[end : end + 2] == b"\r\n" else end + 1


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "replace"))
