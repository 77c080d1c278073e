"""One stream of evidence: its metadata, and its bytes in bounded pieces."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from forensics.model import Read, Source, State
from forensics.sources.encoding import transcode
from forensics.sources.unpack import Damage, decompress, steady, unpack
from forensics.text.damage import trailing_nuls

CHUNK = 1 << 20
NUL_TAIL = 16
"""NUL bytes at the end from which on they count as damage of the file system."""

Opener = Callable[[Damage], Iterator[bytes]]
"""Starts reading anew: yields the unpacked bytes, and notes in the `Damage` what could not be read."""

FileOpener = Callable[[], BinaryIO]
"""Opens a file anew and at its beginning, as it lies on disk or in memory."""


class Input(Struct, eq=False):
    """One evidence stream.

    `source` describes it; whoever learns more replaces it (a `Source` is frozen).
    Reading starts anew with each call of `chunks` or `read`; neither ever raises:
    what could not be read is told by `source.read`, `state` and `why`. A rotated log
    (`train.log.1`, `train.log`) is several inputs, each with its own path and line
    numbers, in the order in which they were written and with one attempt number.

    `plain_path` names the file on disk whose bytes are exactly those of `chunks`,
    for readers that want to split a large file; None for anything packed or transcoded.
    `sought` opens such a file elsewhere, at any position of which one can read.
    `cheap` says that a packed file is at hand and unpacks fast, so that several readers may each do so.
    `position` is how far the latest reading has come, in the unit of `source.bytes`: of a
    packed stream that was not measured yet that is what it takes where it is stored.
    """

    source: Source
    opener: Opener
    plain_path: Path | None = None
    measured: bool = True
    sought: FileOpener | None = None
    cheap: bool = False
    position: int = 0

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> Input:
        """Make the input of one file held in memory, sniffed as a file on disk is.

        Of an archive it is the first member.
        """
        from forensics.sources.gather import Gathering  # builds inputs, so it cannot be imported first

        gathering = Gathering()
        gathering.add_bytes(path, data)
        if gathering.inputs:
            return gathering.inputs[0]
        return cls(Source(path, "binary", len(data), read="skipped", why="an empty archive"), lambda _: iter(()))

    def chunks(self, size: int = CHUNK) -> Generator[bytes, None, None]:
        """Yield the content: unpacked, and as UTF-8 where it was UTF-16.

        Args:
            size: the most bytes in one piece.

        Yields:
            Pieces of 1 to `size` bytes.
        """
        damage = Damage()
        total = nuls = 0
        try:
            for block in self.opener(damage):
                for at in range(0, len(block), size):
                    piece = block[at : at + size] if len(block) > size else block
                    if not piece:
                        continue
                    here = trailing_nuls(piece)
                    nuls = nuls + here if here == len(piece) else here
                    total += len(piece)
                    self.position = total if self.measured else damage.taken
                    yield piece
        except (OSError, ValueError, EOFError, MemoryError) as error:
            damage.note(f"reading stopped after {total} bytes: {error}")
        self._learn(total, nuls, damage)

    def read(self, limit: int) -> bytes:
        """Return the first `limit` bytes of the content."""
        taken = io.BytesIO()
        for piece in self.chunks(min(CHUNK, max(limit, 1))):
            taken.write(piece[: limit - taken.tell()])
            if taken.tell() >= limit:
                break
        return taken.getvalue()

    def reckoned(self) -> int:
        """Return about how many bytes the content has, by how much the first ones of a packed stream unpack to.

        It is a whole number of megabytes, since libraries differ in what they give before they ask for more.
        """
        if self.measured:
            return self.source.bytes
        total = first = 0
        with contextlib.closing(self.chunks()) as pieces:
            for piece in pieces:
                if first and self.position != first:
                    return max(total, self.source.bytes * total // first) & -CHUNK
                first = self.position
                total += len(piece)
        return total

    def _learn(self, total: int, nuls: int, damage: Damage) -> None:
        """Keep what a complete pass has shown of a stream that could not be measured before."""
        source = self.source
        if damage.why and damage.why not in source.why:
            why = f"{source.why}; {damage.why}" if source.why else damage.why
            read: Read = "skipped" if source.read == "skipped" else "partial"
            source = replace(source, why=why, read=read, state="cut" if damage.cut else source.state)
        if not self.measured:
            state: State = "nul-tail" if source.state in {"whole", "torn"} and nuls >= NUL_TAIL else source.state
            source = replace(source, bytes=total, nul_bytes=nuls, state=state)
            self.measured = True
        self.source = source


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, and nothing that has taken its place since it was found.

    Raises:
        OSError: it cannot be opened, or is none: opening a pipe would wait for its writer.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "no longer a regular file", str(path))
    return io.BufferedReader(file, CHUNK >> 2)


def file_opener(path: Path, end: int, size: int) -> Opener:
    """Read the first `end` bytes of a file on disk, unpacked, as it was when it had that size."""

    def opened(damage: Damage) -> Iterator[bytes]:
        with open_regular(path) as file:
            yield from transcode(unpack(steady(file, end, size, damage), damage))

    return opened


def stream_opener(opener: FileOpener) -> Opener:
    """Read a file that does not change, unpacked."""

    def opened(damage: Damage) -> Iterator[bytes]:
        with opener() as file:
            yield from transcode(decompress(file, damage))

    return opened


def bytes_opener(data: bytes) -> Opener:
    """Read bytes in memory, unpacked."""
    return stream_opener(partial(io.BytesIO, data))
