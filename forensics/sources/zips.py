"""The members of zip archives, also of such as lost their directory."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from forensics.sources.input import FileOpener, Opener
from forensics.sources.listing import Listing, Member, tidy
from forensics.sources.unpack import BLOCK, Damage, file_blocks, limited

MOST_DIRECTORY = 4 << 20
"""Bytes of a directory that is read at once: each of its entries takes ten times as much in memory."""
_EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
_END = 22
_STORED, _DEFLATED = 0, 8
_LOCKED, _SIZES_FOLLOW = 1, 8
_LONG = 0xFFFFFFFF
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    zlib.error,
)


def list_zip(open_file: FileOpener, listing: Listing) -> None:
    """List the files of a zip by its directory, or by what stands before each member where that cannot be read."""
    try:
        with open_file() as file:
            if _directory_bytes(file) > MOST_DIRECTORY:
                listing.damage.note("its directory is too large to be read", cut=False)
                _salvage(open_file, listing)
                return
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
    except _ZIP_ERRORS as error:
        listing.damage.note(f"the archive is damaged or cut ({error})")
        _salvage(open_file, listing)
        return
    locked = 0
    for info in infos:
        if info.is_dir():
            continue
        if info.flag_bits & _LOCKED:
            locked += 1
            continue
        if not listing.admits(info.file_size):
            break
        listing.members.append(Member(tidy(info.filename), info.file_size, None, _zipped(open_file, info)))
    if locked:
        listing.damage.note(f"{locked} members are encrypted and were not read", cut=False)


def _directory_bytes(file: BinaryIO) -> int:
    """Return how large a zip says that its directory is; 0 where it says nothing."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END - (1 << 16)))
    tail = file.read()
    file.seek(0)
    at = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0


def _zipped(open_file: FileOpener, info: zipfile.ZipInfo) -> Opener:
    def blocks(damage: Damage) -> Iterator[bytes]:
        try:
            # The directory was read when the members were listed; reading it again for each of them is
            # quadratic, and one archive held open for all of them is a file handle for every archive.
            # So an empty archive is opened and given the real file: a member is found by its own entry.
            with open_file() as file, zipfile.ZipFile(io.BytesIO(_EMPTY_ZIP)) as archive:
                archive.fp = file
                with archive.open(info) as member:
                    yield from limited(file_blocks(member), lambda: info.compress_size, damage)
        except _ZIP_ERRORS as error:
            damage.note(f"this member is damaged ({error})")

    return blocks


class _Local(Struct, frozen=True):
    """The header before a member: where its packed bytes start, and how many there are (None: it does not say)."""

    name: str
    start: int
    method: int
    packed: int | None
    size: int


def _salvage(open_file: FileOpener, listing: Listing) -> None:
    """List what a zip without its directory still holds, by the header before each member.

    A zip is written front to back and its directory last, so a cut one has whole members.
    """
    at = 0
    with open_file() as file:
        while (local := _local(file, at)) is not None:
            size, packed = local.size, local.packed
            if packed is None:
                size, packed, ended = _measure(file, local, listing.budget.left)
                at = local.start + packed + (_descriptor(file, local.start + packed) if ended else 0)
            else:
                at = local.start + packed
            if local.name and not local.name.endswith("/"):
                if not listing.admits(size):
                    return
                listing.members.append(Member(tidy(local.name), size, None, _packed(open_file, local, packed)))


def _local(file: BinaryIO, at: int) -> _Local | None:
    file.seek(at)
    head = file.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        return None
    flags, method = int.from_bytes(head[6:8], "little"), head[8]
    packed, size = int.from_bytes(head[18:22], "little"), int.from_bytes(head[22:26], "little")
    named, more = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
    follow = bool(flags & _SIZES_FOLLOW)
    if flags & _LOCKED or method not in {_STORED, _DEFLATED} or (method == _STORED and follow) or packed == _LONG:
        return None
    name = file.read(named).decode("utf-8", "replace")
    return _Local(name, at + 30 + named + more, method, None if follow else packed, size)


def _descriptor(file: BinaryIO, at: int) -> int:
    """Return the bytes of the sizes that stand behind a member."""
    file.seek(at)
    return 16 if file.read(4) == b"PK\x07\x08" else 0


def _measure(file: BinaryIO, local: _Local, most: int) -> tuple[int, int, bool]:
    """Unpack a member to find its end; return its size, its packed size, and whether the end was found."""
    inflater = zlib.decompressobj(wbits=-15)
    size = packed = 0
    file.seek(local.start)
    try:
        while not inflater.eof and size <= most and (block := inflater.unconsumed_tail or file.read(BLOCK)):
            fresh = 0 if inflater.unconsumed_tail else len(block)
            size += len(inflater.decompress(block, BLOCK))
            packed += fresh
    except zlib.error:
        return size, packed, False
    return size, packed - len(inflater.unused_data), inflater.eof


def _packed(open_file: FileOpener, local: _Local, packed: int) -> Opener:
    def blocks(damage: Damage) -> Iterator[bytes]:
        inflater = zlib.decompressobj(wbits=-15)
        left = packed
        with open_file() as file:
            file.seek(local.start)
            while left > 0 and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                if local.method == _STORED:
                    yield block
                    continue
                while block and not inflater.eof:
                    try:
                        yield inflater.decompress(block, BLOCK)
                    except zlib.error as error:
                        damage.note(f"this member is damaged ({error})")
                        return
                    block = inflater.unconsumed_tail
        if left > 0 or (local.method == _DEFLATED and not inflater.eof):
            damage.note("the archive ends before the end of this member")

    def bounded(damage: Damage) -> Iterator[bytes]:
        return limited(blocks(damage), lambda: packed, damage)

    return bounded
