"""What archives may take: of memory and of disk all together, and of bytes unpacked each."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterable, Iterator

from msgspec import Struct

from forensics.sources.unpack import BLOCK, RATIO, RATIO_FROM

KEPT = 8 << 20
"""The largest member of an archive that is held in memory, in bytes."""
KEPT_IN_ALL = 64 << 20
SPOOLED = 4 << 30
"""Bytes of large members of packed archives that are laid down on disk; reading one in place means
unpacking all that stands before it, each time."""


class Budget(Struct):
    """How much an archive may still unpack to, the archives inside it included.

    One that lies about itself (members that share their packed bytes, archives of archives)
    unpacks to more than any log packs to; each of its members alone may look harmless.
    """

    left: int

    @classmethod
    def of(cls, size: int) -> Budget:
        """Return the budget of an archive of so many bytes."""
        return cls(max(RATIO_FROM, RATIO * size))

    def take(self, size: int) -> bool:
        """Take so many bytes; the last ones to get any may take more than there is."""
        if self.left <= 0:
            return False
        self.left -= size
        return True


class Spool:
    """A file without a name that takes bytes in and gives them back by their place."""

    def __init__(self) -> None:
        import shutil  # most runs have no such archive, and their start is not to wait for these two
        import tempfile

        with tempfile.TemporaryFile("w+b", buffering=0) as file:
            self._handle = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._handle)
        self._end = 0
        self._most = min(SPOOLED, shutil.disk_usage(tempfile.gettempdir()).free // 2)

    def add(self, blocks: Iterable[bytes]) -> tuple[int, int] | None:
        """Take in a stream; return its place and size, or None where there is no room for it."""
        start = at = self._end
        for block in blocks:
            if at + len(block) > self._most:
                return None
            try:
                at += os.pwrite(self._handle, block, at)
            except OSError:
                return None
        self._end = at
        return start, at - start

    def read(self, start: int, size: int) -> Iterator[bytes]:
        """Yield what was taken in at a place."""
        while size > 0 and (block := os.pread(self._handle, min(BLOCK, size), start)):
            start, size = start + len(block), size - len(block)
            yield block


class Room(Struct):
    """What all archives of a run may take together."""

    memory: int = KEPT_IN_ALL
    _spool: Spool | None = None

    def keep(self, size: int) -> bool:
        """Take memory for so many bytes; False where there is none left."""
        if size > self.memory:
            return False
        self.memory -= size
        return True

    def spool(self) -> Spool | None:
        """Return the file for what is too large to be kept in memory; None where none can be made."""
        if self._spool is None:
            with contextlib.suppress(OSError):
                self._spool = Spool()
        return self._spool
