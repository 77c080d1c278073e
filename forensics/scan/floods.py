"""Lines that a log repeats thousands of times: the first ones are read, the others counted."""

from __future__ import annotations

MOST_ALIKE = 100
"""Lines of one shape that are handed over; a shape is the beginning of a line without its digits."""
MOST_LABELS = 1100
"""Labels, such as ranks, of which one line more of each is handed over."""
_SHAPE, _LABEL = 160, 20
_MOST_SHAPES = 10_000
_DIGITS = b"0123456789"

Shape = tuple[bytes, bytes]
"""What a line has in common with those that differ in their numbers only, and what stands before its first colon."""


def shape(block: bytes, start: int = 0) -> Shape:
    """Return the shape of the line that begins at a place, and its label: often the rank or the host."""
    end = block.find(b"\n", start, start + _SHAPE)
    line = block[start : start + _SHAPE if end < 0 else end]
    return line.translate(None, _DIGITS), line[:_LABEL].partition(b":")[0]


class Floods:
    """Counts lines by their shape. Lines whose shape is new when there are too many shapes are not held back."""

    def __init__(self, most: int = MOST_ALIKE) -> None:
        self.dropped = 0
        self._most = most
        self._counts: dict[bytes, int] = {}
        self._labels: dict[bytes, set[bytes]] = {}

    def hold_back(self, shape: Shape) -> bool:
        """Tell whether enough lines of that shape, and one with that label, were seen already, and count this one."""
        form, label = shape
        count = self._counts.get(form, 0)
        if count >= self._most:
            labels = self._labels[form]
            if label in labels or len(labels) >= MOST_LABELS:
                self.dropped += 1
                return True
            labels.add(label)
            return False
        if count or len(self._counts) < _MOST_SHAPES:
            self._counts[form] = count + 1
            self._labels.setdefault(form, set()).add(label)
        return False
