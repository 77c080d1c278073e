"""Lines that a log repeats thousands of times: the first ones are read, the others counted."""

from __future__ import annotations

MOST_ALIKE = 1000
"""Lines of one shape that are handed over; a shape is the beginning of a line without its digits."""
_SHAPE = 160
_MOST_SHAPES = 10_000
_DIGITS = b"0123456789"


def shape(block: bytes, start: int = 0) -> bytes:
    """Return what the line that begins at a place has in common with those that differ in their numbers only."""
    return block[start : start + _SHAPE].partition(b"\n")[0].translate(None, _DIGITS)


class Floods:
    """Counts lines by their shape. Lines whose shape is new when there are too many shapes are not held back."""

    def __init__(self, most: int = MOST_ALIKE) -> None:
        self.dropped = 0
        self._most = most
        self._counts: dict[bytes, int] = {}

    def hold_back(self, shape: bytes) -> bool:
        """Tell whether enough lines of that shape were seen already, and count this one."""
        count = self._counts.get(shape, 0)
        if count >= self._most:
            self.dropped += 1
            return True
        if count or len(self._counts) < _MOST_SHAPES:
            self._counts[shape] = count + 1
        return False
