"""Where records begin and end in a block: at LF, CR LF, or a lone CR."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable
from functools import cache

_LARGE = 1 << 18
"""Bytes from which on it pays to load what counts faster."""


def line_feeds(block: bytes, start: int = 0, stop: int = sys.maxsize) -> int:
    """Count the line feeds between two places of a block."""
    count = _counter() if len(block) >= _LARGE else bytes.count
    return int(count(block, b"\n", start, stop))


class LineFeeds:
    """Counts the line feeds of one block before places of it; what stands between two of them is counted once."""

    __slots__ = ("_before", "_places", "block")

    def __init__(self, block: bytes) -> None:
        self.block = block
        self._places = [0]
        self._before = [0]

    def before(self, place: int) -> int:
        """Return how many there are before a place."""
        index = bisect_right(self._places, place)
        known, count = self._places[index - 1], self._before[index - 1]
        if place > known:
            count += line_feeds(self.block, known, place)
            self._places.insert(index, place)
            self._before.insert(index, count)
        return count


@cache
def _counter() -> Callable[..., int]:
    try:
        import stringzilla
    except ImportError:  # it has no wheel for every machine
        return bytes.count
    counter: Callable[..., int] = stringzilla.count
    return counter


def record_start(block: bytes, at: int) -> int:
    """Return where the record that holds a position begins."""
    line = block.rfind(b"\n", 0, at) + 1
    return block.rfind(b"\r", line, at) + 1 or line


def line_end(block: bytes, start: int) -> int:
    """Return where the record that begins at `start` ends, its line end left out."""
    end = block.find(b"\n", start)
    end = len(block) if end < 0 else end
    carriage = block.find(b"\r", start, end)
    return end if carriage < 0 else carriage


def after(block: bytes, end: int) -> int:
    """Return where the next record begins behind one that ends at `end`."""
    return end + 2 if block[end : end + 2] == b"\r\n" else end + 1


def characters(data: bytes) -> int:
    """Count characters as they are shown when decoded."""
    return len(data.decode("utf-8", "replace"))
