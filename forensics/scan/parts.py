"""A large file in parts that begin and end between lines, so that several processes can read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

PART = 120 << 20
"""Bytes of a part, or more where a file would have more than `MOST_PARTS`."""
MOST_PARTS = 16
BLOCK = 1 << 20
"""Bytes that are looked through at once: they stay in the cache of one core."""
GREW = "it grew while it was read"
"""How a note begins that takes nothing from what was read."""
_PEEK = 1 << 14
LONGEST_LINE = 16 << 20
"""A line longer than this (bytes) is handed over in pieces, which are counted."""


class Part(Struct, frozen=True):
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
        self.split_lines = 0
        self.start = self._line_from(part.start) if part.index else 0
        self.stop = part.stop if part.last else self._line_from(part.stop)
        self.last = part.last

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the part in blocks of whole lines, the first one at `start`.

        Where a block may end is looked for before it is read, so that nothing has to be copied.
        """
        at, size = self.start, BLOCK
        try:
            with self._path.open("rb", buffering=0) as file:
                while piece := _read(file.fileno(), at, min(_reach(file.fileno(), at, size), self.stop - at)):
                    whole = len(piece) < size or at + len(piece) == self.stop
                    # A final CR may be half of a CR LF, so it never ends a block.
                    cut = len(piece) if whole else piece.rfind(b"\n") + 1 or piece.rfind(b"\r", 0, size - 1) + 1
                    if not cut and size < LONGEST_LINE:
                        size *= 2
                        continue
                    self.split_lines += not cut
                    cut = cut or len(piece)
                    yield piece[:cut]
                    at, size = at + cut, BLOCK
                if self.last:
                    self._changed(os.fstat(file.fileno()).st_size)
        except OSError as error:
            self.why = f"reading stopped after {at} bytes: {error.strerror or error}"

    def _changed(self, now: int) -> None:
        """Note that the file is not what it was when it was found, as a run that goes on makes it."""
        if now > self.stop:
            self.why = f"{GREW}: this is on its first {self.stop} bytes"
        elif now < self.stop:
            self.why = f"it was cut while it was read: {self.stop - now} bytes of {self.stop} are gone"

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
                while piece := os.pread(file.fileno(), BLOCK, offset):
                    yield piece
                    offset += len(piece)
        except OSError as error:
            self.why = f"reading stopped after {offset} bytes: {error.strerror or error}"


def _reach(descriptor: int, at: int, size: int) -> int:
    """Return how many bytes from an offset on, at most `size`, end with a line, if that end is near."""
    near = os.pread(descriptor, _PEEK, at + size - _PEEK).rfind(b"\n") + 1
    return size - _PEEK + near if near else size


def _read(descriptor: int, offset: int, size: int) -> bytes:
    """Read so many bytes, fewer only at the end of the file."""
    data = os.pread(descriptor, max(0, size), offset)
    while 0 < len(data) < size and (more := os.pread(descriptor, size - len(data), offset + len(data))):
        data += more
    return data
