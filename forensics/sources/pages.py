r"""Random access to the lines of a source of any size, in memory that does not grow with it.

An index holds how many line ends there are up to each block of the file. With it a line number
leads to a block, and a block to a line number, without reading what lies between; and it is usable
while it grows. Line numbers count `\n` only, from 1, as everywhere.

What cannot be sought (packed files, members of archives, UTF-16) is unpacked into a temporary
file that has no name, up to a limit that `note` tells.
"""

from __future__ import annotations

import os
import tempfile
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO, Literal

from forensics.sources.input import Input

BLOCK = 1 << 16
STEP = 1 << 20
"""Bytes that one step of indexing reads."""
KEPT_BLOCKS = 64
MOST_UNPACKED = 8 << 30
"""Bytes of an unpacked copy; what is beyond is not shown."""
FAR = 8 << 20
"""Bytes without an index through which the end of a line is looked for before the answer is: not known yet."""
LONGEST_LINE = 16 << 20
"""A line longer than this is handed to a search in pieces."""

Change = Literal["same", "grown", "new"]


class Pages:
    """The lines of one source.

    All offsets are bytes of the unpacked content. Reading never raises: what cannot be read is
    missing, and `note` says why.
    """

    def __init__(self, made: Input) -> None:
        self.note = ""
        self.size = 0
        self._made = made
        self._counts = array("Q")
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.RLock()
        self._turn = threading.Lock()
        self._unpacked: Iterator[bytes] | None = None
        self._identity = (0, 0)
        self._file: IO[bytes] | None = None
        self._closed = False
        self._open()

    def _open(self) -> None:
        try:
            if self._made.plain_path is not None:
                self._file = self._made.plain_path.open("rb", buffering=0)
                status = os.fstat(self._file.fileno())
                self.size, self._identity = status.st_size, (status.st_dev, status.st_ino)
            else:
                self._file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 - it lives as long as the pages
                self._unpacked = self._made.chunks(STEP)
        except OSError as error:
            self.note = f"not read ({(error.strerror or str(error)).lower()})"

    @property
    def indexed(self) -> int:
        """Return up to which byte line numbers are known."""
        full = len(self._counts) * BLOCK
        return self.size if self.complete else full

    @property
    def complete(self) -> bool:
        """Tell whether the whole source is unpacked and indexed."""
        return self._unpacked is None and len(self._counts) >= self.size // BLOCK

    @property
    def ends(self) -> int:
        """Return how many line ends are indexed: lines up to this one are found at once."""
        return self._counts[-1] if self._counts else 0

    @property
    def lines(self) -> int | None:
        """Return how many lines there are, None while that is not known; a last one without an end counts."""
        if not self.complete:
            return None
        number = self.line_of(self.size)
        if number is None:
            return None
        return number - (self.size == 0 or self.read(self.size - 1, 1) == b"\n")

    def advance(self) -> bool:
        """Unpack and index a little more; return False where there is nothing left to do. Any thread may call it."""
        with self._turn:
            if self._closed:
                return False
            if self._unpacked is not None:
                self._unpack()
            first = len(self._counts)
            data = self.read(first * BLOCK, min(max(STEP, BLOCK), (self.size // BLOCK - first) * BLOCK))
            count = self._counts[-1] if first else 0
            for at in range(0, len(data) - BLOCK + 1, BLOCK):
                count += data.count(b"\n", at, at + BLOCK)
                self._counts.append(count)
            return not self.complete and (len(data) > 0 or self._unpacked is not None)

    def _unpack(self) -> None:
        assert self._unpacked is not None  # noqa: S101 - the caller has looked
        piece = next(self._unpacked, None)
        if piece is None:
            self._unpacked = None
            return
        room = MOST_UNPACKED - self.size
        try:
            if self._file is not None:
                self._file.seek(self.size)
                written = self._file.write(piece[:room])
                self.size += written
        except OSError as error:
            self.note = f"only the first {self.size >> 20} MiB could be unpacked ({(error.strerror or '').lower()})"
            self._unpacked = None
            return
        if len(piece) >= room:
            self.note = f"only the first {self.size >> 20} MiB were unpacked"
            self._unpacked = None

    def refresh(self) -> Change:
        """Look whether the file on disk has grown, or is another one now."""
        path = self._made.plain_path
        if path is None:
            return "same"
        try:
            status = path.stat()
        except OSError:
            return "same"
        if (status.st_dev, status.st_ino) != self._identity or status.st_size < self.size:
            with self._turn, self._lock:
                self._counts = array("Q")
                self._blocks.clear()
                if self._file is not None:
                    self._file.close()
                self._open()
            return "new"
        if status.st_size == self.size:
            return "same"
        with self._lock:
            self._blocks.pop(self.size // BLOCK, None)
            self.size = status.st_size
        return "grown"

    def close(self) -> None:
        """End all walks and give the memory back; what is read from now on is empty."""
        self._closed = True
        with self._turn, self._lock:
            self._blocks.clear()
            self._unpacked = None
            if self._file is not None:
                self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes at an offset."""
        if self._file is None or self._closed or size <= 0 or offset < 0:
            return b""
        parts = []
        try:
            while size > 0:
                data = os.pread(self._file.fileno(), size, offset)
                if not data:
                    break
                parts.append(data)
                offset, size = offset + len(data), size - len(data)
        except (OSError, ValueError) as error:
            self.note = f"not all of it could be read ({error})"
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        with self._lock:
            data = self._blocks.get(number)
            if data is not None:
                self._blocks.move_to_end(number)
                return data
        data = self.read(number * BLOCK, min(BLOCK, self.size - number * BLOCK))
        if len(data) == BLOCK:  # a shorter one may still grow
            with self._lock:
                self._blocks[number] = data
                while len(self._blocks) > KEPT_BLOCKS:
                    self._blocks.popitem(last=False)
        return data

    def line_of(self, offset: int) -> int | None:
        """Return the number of the line that holds a byte, None while the index does not reach it."""
        number = min(offset, self.size) // BLOCK
        if number > len(self._counts):
            return None
        before = self._counts[number - 1] if number else 0
        return before + self._block(number).count(b"\n", 0, offset - number * BLOCK) + 1

    def offset_of(self, line: int) -> int | None:
        """Return where a line begins, None if there is no such line.

        Indexes what it takes, and no more; that may take a second for each gigabyte.
        """
        wanted = line - 1
        if wanted <= 0:
            while not self.size and self.advance():
                pass
            return 0 if wanted == 0 and self.size else None
        while self.ends < wanted and self.advance():
            pass
        number = bisect_left(self._counts, wanted)
        data = self._block(number)
        parts = data.split(b"\n", wanted - (self._counts[number - 1] if number else 0))
        if len(parts) <= wanted - (self._counts[number - 1] if number else 0):
            return None
        offset = number * BLOCK + len(data) - len(parts[-1])
        while offset >= self.size and self.advance():
            pass  # the line is there if anything follows
        return offset if offset < self.size else None

    def line_end(self, offset: int) -> int | None:
        r"""Return where the line that holds a byte ends: at its `\n`, or at the end of the source.

        None where that is too far away to be found without the index that is still being made.
        """
        number = offset // BLOCK
        at = self._block(number).find(b"\n", offset - number * BLOCK)
        if at >= 0:
            return number * BLOCK + at
        number += 1
        known = len(self._counts)
        if number <= known:
            base = self._counts[number - 1]
            number = bisect_right(self._counts, base, number)
        limit = number + FAR // BLOCK
        while number * BLOCK < self.size:
            at = self._block(number).find(b"\n")
            if at >= 0:
                return number * BLOCK + at
            number += 1
            if number > limit and not self.complete:
                return None
        return self.size

    def line_start(self, offset: int) -> int | None:
        """Return where the line that holds a byte begins; None as for `line_end`."""
        number = offset // BLOCK
        at = self._block(number).rfind(b"\n", 0, offset - number * BLOCK)
        limit = number - FAR // BLOCK
        while at < 0:
            if number == 0:
                return 0
            if number <= len(self._counts):
                base = self._counts[number - 1]
                if base == 0:
                    return 0
                number = bisect_left(self._counts, base)
            else:
                number -= 1
                if number < limit:
                    return None
            at = self._block(number).rfind(b"\n")
        return number * BLOCK + at + 1

    def forward(self, offset: int, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of whole lines, each with its offset, from the line that begins at `offset` on."""
        rest = b""
        at = offset
        while True:
            end = self.size if stop is None else min(stop, self.size)
            data = self.read(at, min(STEP, end - at))
            if not data:
                if self._unpacked is not None and self.advance():
                    continue
                if rest:
                    yield at - len(rest), rest
                return
            block = rest + data if rest else data
            at += len(data)
            cut = block.rfind(b"\n") + 1
            if not cut and len(block) >= LONGEST_LINE:
                cut = len(block)
            if cut:
                yield at - len(block), block[:cut]
            rest = block[cut:]

    def backward(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of whole lines, each with its offset, last ones first, up to the byte before `offset`."""
        rest = b""
        at = offset
        while at > 0:
            size = min(STEP, at)
            data = self.read(at - size, size)
            at -= size
            block = data + rest
            cut = block.find(b"\n", 0, -1) + 1 if at else 0
            if at and not cut and len(block) < LONGEST_LINE:
                rest = block
                continue
            yield at + cut, block[cut:]
            rest = block[:cut]
        if rest:
            yield 0, rest
