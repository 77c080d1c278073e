"""Where records begin and end in a block: at LF, CR LF, or a lone CR."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

_LARGE = 1 << 18
"""Bytes from which on it pays to load what counts faster."""


def line_feeds(block: bytes, start: int = 0, stop: int = sys.maxsize) -> int:
    """Count the line feeds between two places of a block."""
    count = _counter() if len(block) >= _LARGE else bytes.count
    return int(count(block, b"\n", start, stop))


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
