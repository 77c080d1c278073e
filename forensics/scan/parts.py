"""A large file in parts that begin and end between lines, so that several processes can read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PART = 120 << 20
"""Bytes of a part, or more where a file would have more than `MOST_PARTS`."""
MOST_PARTS = 16
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """One of `count` parts of a file: the lines that begin at a byte from `start` on and before `stop`."""

    index: int
    count: int
    start: int
    stop: int

    @property
    def last(self) -> bool:
        """Tell whether the file ends with this part; it is read to wherever that is."""
        return self.index == self.count - 1


def split(size: int, part: int = PART) -> list[Part]:
    """Return the parts of a file of that size; how many does not hang on who reads them."""
    count = max(1, min(MOST_PARTS, size // part))
    return [Part(i, count, i * size // count, (i + 1) * size // count) for i in range(count)]


class PartReader:
    """Reads one part in bounded pieces. Never raises: what cannot be read is told by `why`."""

    def __init__(self, path: Path, part: Part) -> None:
        self._path = path
        self.why = ""
        self.start = self._line_from(part.start) if part.index else 0
        self.stop = None if part.last else self._line_from(part.stop)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the part; the first one is at `start`."""
        at = self.start
        for piece in self.beyond(at):
            if self.stop is not None and at + len(piece) >= self.stop:
                if at < self.stop:
                    yield piece[: self.stop - at]
                return
            at += len(piece)
            yield piece

    def _line_from(self, offset: int) -> int:
        """Return where the first line begins that begins at an offset or behind it, the end of the file at most."""
        if offset <= 0:
            return 0
        at = offset - 1
        for piece in self.beyond(at):
            found = piece.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(piece)
        return at

    def beyond(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes of the file from an offset on."""
        try:
            with self._path.open("rb", buffering=0) as file:
                while piece := os.pread(file.fileno(), _BLOCK, offset):
                    yield piece
                    offset += len(piece)
        except OSError as error:
            self.why = f"reading stopped after {offset} bytes: {error.strerror or error}"
