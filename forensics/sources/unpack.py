"""Compressed streams, unpacked piece by piece: gzip, Zstandard, xz, bzip2, one inside another.

What a damaged or cut file still holds is kept, and every limit that is hit is told.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol

from msgspec import Struct

BLOCK = 1 << 18
PIECE = 1 << 20
"""Bytes that a decompressor gives at once, about: whoever looks through them takes as many."""
DEPTH = 3
RATIO = 300
RATIO_FROM = 64 << 20
MOST_UNPACKED = 32 << 30
_LZMA_MEMORY = 160 << 20
"""What `xz -9` takes, twice; the header of a file may ask for gigabytes."""
_ZSTD_WINDOW_LOG = 27
"""What `zstd --ultra -22` takes."""


class Readable(Protocol):
    """All that is asked of a file."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, and none at the end."""
        ...


class Damage(Struct):
    """What could not be read of a stream, in words; `cut` says that its end is missing.

    `taken` counts the bytes read so far where the stream is stored: packed, if it is.
    """

    why: str = ""
    cut: bool = False
    taken: int = 0

    def note(self, why: str, *, cut: bool = True) -> None:
        """Add a reason."""
        self.why = f"{self.why}; {why}" if self.why else why
        self.cut = self.cut or cut


class Pipe:
    """An iterator of byte strings as a file that can only be read forward."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""
        self.taken = 0

    def read(self, size: int = BLOCK) -> bytes:
        """Return exactly `size` bytes, or what is left."""
        parts = [self._rest[:size]]
        self._rest = self._rest[size:]
        missing = size - len(parts[0])
        while missing > 0:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block[:missing])
            self._rest = block[missing:]
            missing -= len(parts[-1])
        data = b"".join(parts)
        self.taken += len(data)
        return data


class _Zlib:
    """zlib's decompressor with the manners of bz2's and lzma's."""

    def __init__(self) -> None:
        library: Any = zlib
        with contextlib.suppress(ImportError):
            from isal import isal_zlib  # about three times as fast

            library = isal_zlib
        self._error: type[Exception] = library.error
        self._inner: Any = library.decompressobj(wbits=31)
        self._tail = b""
        self._full = False

    def decompress(self, data: bytes, most: int) -> bytes:
        try:
            out: bytes = self._inner.decompress(self._tail + data, most)
        except self._error as error:
            raise ValueError(str(error)) from error
        self._tail = self._inner.unconsumed_tail
        self._full = len(out) >= most
        return out

    @property
    def needs_input(self) -> bool:
        return not self._tail and not self._full

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)


class _Zstd:
    """Zstandard's decompressor, whose errors are those of the others."""

    def __init__(self) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        self._error = zstd.ZstdError
        self._inner = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    def decompress(self, data: bytes, most: int) -> bytes:
        try:
            return self._inner.decompress(data, most)
        except self._error as error:
            raise ValueError(str(error)) from error

    @property
    def needs_input(self) -> bool:
        return self._inner.needs_input

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _lzma() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)


def _members(
    decoder: Any, make: Callable[[], Any], magic: bytes, blocks: Iterator[bytes], damage: Damage
) -> Iterator[bytes]:
    """Run decompressors of one kind over packed members that follow one another."""
    begun = False
    produced = 0
    for block in blocks:
        data = block
        while True:
            if decoder.eof:
                data = (decoder.unused_data + data).lstrip(b"\0")
                if not data:
                    break
                if not data.startswith(magic[: len(data)]):
                    damage.note(f"other data follows the packed data after {produced} bytes", cut=False)
                    return
                decoder, begun = make(), False
            try:
                out = decoder.decompress(data, PIECE)
            except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
                damage.note(f"the packed data is damaged after {produced} bytes ({error})")
                return
            begun = True
            produced += len(out)
            if out:
                yield out
            data = b""
            if not decoder.eof and decoder.needs_input:
                break
    if begun and not decoder.eof:
        damage.note(f"the packed file ends too early, after {produced} bytes of content")


_CODECS: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    (b"\x1f\x8b", _Zlib),
    (b"\x28\xb5\x2f\xfd", _Zstd),
    (b"\xfd7zXZ\x00", _lzma),
    (b"BZh", bz2.BZ2Decompressor),
)
_FAST = frozenset({b"\x1f\x8b", b"\x28\xb5\x2f\xfd"})
_BZIP2_BLOCKS = {b"1AY&SY", b"\x17rE8P\x90"}


def _codec(head: bytes) -> tuple[bytes, Callable[[], Any]] | None:
    for magic, make in _CODECS:
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] in _BZIP2_BLOCKS):
            return magic, make
    return None


def is_packed(head: bytes) -> bool:
    """Tell whether a file beginning with these bytes is compressed (not whether it is an archive)."""
    return _codec(head) is not None


def unpacks_fast(head: bytes) -> bool:
    """Tell whether unpacking costs so little that one may do it anew rather than keep what came out."""
    codec = _codec(head)
    return codec is not None and codec[0] in _FAST


def may_be_archive(head: bytes) -> bool:
    """Tell from a file's first bytes whether it could be an archive of files."""
    return is_packed(head) or head.startswith((b"PK\x03\x04", b"PK\x05\x06")) or head[257:262] == b"ustar"


def file_blocks(file: Readable) -> Iterator[bytes]:
    """Yield a file's bytes as they are."""
    while True:
        block = file.read(BLOCK)
        if not block:
            return
        yield block


def steady(file: BinaryIO, end: int, size: int, damage: Damage) -> Iterator[bytes]:
    """Yield a file's bytes up to an end that was found when it had that size.

    A run that goes on may write as fast as it is read, so that its log would never end; and what
    was found out about the log's end holds for that size only.
    """
    left = end
    while left > 0 and (block := file.read(min(BLOCK, left))):
        left -= len(block)
        yield block
    now = os.fstat(file.fileno()).st_size
    if now > size:
        damage.note(f"it grew while it was read: this is on its first {size} bytes", cut=False)
    elif left > 0:
        damage.note(f"it was cut while it was read: {left} bytes of {size} are gone")


def limited(blocks: Iterator[bytes], taken: Callable[[], int], damage: Damage) -> Iterator[bytes]:
    """Pass a stream on until it has grown beyond what any log packs to.

    Args:
        blocks: unpacked bytes.
        taken: how many packed bytes have been read so far.
        damage: told when the limit ends the stream.
    """
    produced = 0
    for block in blocks:
        produced += len(block)
        if produced > MOST_UNPACKED or (produced > RATIO_FROM and produced > RATIO * max(taken(), 1)):
            damage.note(
                f"it unpacks to more than {RATIO} times its size: only the first {produced >> 20} MiB were read",
                cut=False,
            )
            yield block
            return
        yield block


def unpack(blocks: Iterator[bytes], damage: Damage) -> Iterator[bytes]:
    """Yield a stream's content, through as many layers of compression as it has.

    A stream that is not compressed passes through unchanged.
    """
    count = 0

    def counted() -> Iterator[bytes]:
        nonlocal count
        for block in blocks:
            count += len(block)
            damage.taken = count  # not a sum: a member of an archive passes through here twice
            yield block

    stream: Iterator[bytes] = counted()
    packed = False
    for depth in range(DEPTH + 1):
        first = next(stream, b"")
        stream = _chain(first, stream)
        codec = _codec(first)
        if codec is None:
            break
        if depth == DEPTH:
            damage.note(f"it is packed more than {DEPTH} times over")
            return
        packed = True
        magic, make = codec
        try:
            decoder = make()
        except ImportError as error:
            damage.note(f"the package that unpacks this file is not installed ({error})")
            return
        stream = _members(decoder, make, magic, stream, damage)
    yield from limited(stream, lambda: count, damage) if packed else stream


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def decompress(file: Readable, damage: Damage) -> Iterator[bytes]:
    """Yield the content of a file, unpacked if it is compressed."""
    return unpack(file_blocks(file), damage)
