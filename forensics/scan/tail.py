"""The last lines of a stream, kept as they stand: few are ever asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import overload

from forensics.model import Line

LONGEST_TEXT = 1 << 16
"""Bytes of one record that are decoded."""


class Tail(Sequence[Line]):
    r"""Lines of a stream, made when they are asked for. Of the records of a `\r` line it holds the last one."""

    __slots__ = ("_data", "_number", "_offset", "_parts", "_starts")

    def __init__(self, data: bytes, number: int, offset: int) -> None:
        """Hold the lines of some bytes, the first of which begins line `number` at an offset of the stream."""
        self._data = data
        self._number = number
        self._offset = offset
        self._parts = data.split(b"\n")
        if data.endswith(b"\n"):  # behind the last line end there is no line
            self._parts.pop()
        self._starts: list[int] = []

    def below(self, above: int) -> Tail:
        """Return the same lines as they stand below so many more."""
        return Tail(self._data, self._number + above, self._offset) if above else self

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self._parts)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        """Return one line, or some."""
        if isinstance(index, slice):
            return [self._line(i) for i in range(*index.indices(len(self)))]
        return self._line(range(len(self))[index])

    def _line(self, index: int) -> Line:
        if not self._starts:
            lengths = (len(part) + 1 for part in self._parts[:-1])
            self._starts = list(accumulate(lengths, initial=self._offset))
        part = self._parts[index]
        text = (part.split(b"\r")[-1] or part)[:LONGEST_TEXT].decode("utf-8", "replace")
        number = self._number + index
        return Line(number, 0, self._starts[index], text, number)

    def __reduce__(self) -> tuple[type[Tail], tuple[bytes, int, int]]:
        """Send the bytes to another process, not the lines."""
        return Tail, (self._data, self._number, self._offset)
