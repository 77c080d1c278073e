"""The members of tar and zip archives, as streams, without writing anything to disk."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from forensics.sources.binary import is_checkpoint_zip
from forensics.sources.encoding import transcode
from forensics.sources.input import FileOpener, Opener
from forensics.sources.unpack import BLOCK, Damage, Pipe, file_blocks, limited, unpack

MEMBERS = 20_000
KEPT = 8 << 20
KEPT_IN_ALL = 256 << 20
_EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
_TAR_MAGIC = slice(257, 262)
_TAR_ERRORS = (tarfile.TarError, OSError, EOFError, ValueError)
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    zlib.error,
)


@dataclass(slots=True)
class Member:
    """One file inside an archive: `raw` yields its bytes as stored, `opener` unpacked and as UTF-8."""

    name: str
    size: int
    mtime: float | None
    raw: Opener

    def opener(self, damage: Damage) -> Iterator[bytes]:
        """Yield the content as an `Input` wants it."""
        return transcode(unpack(self.raw(damage), damage))


@dataclass(slots=True)
class Listing:
    """The members that could be listed, and what could not, in words."""

    members: list[Member] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)

    def is_full(self) -> bool:
        """Tell, and note, that no more members are listed."""
        if len(self.members) < MEMBERS:
            return False
        self.damage.note(f"it has more than {MEMBERS} members: the rest was not read", cut=False)
        return True


def archive_kind(name: str, open_file: FileOpener) -> str | None:
    """Tell whether a file is a `tar` (compressed or not), a `zip`, or no archive of files."""
    with open_file() as file:
        head = file.read(BLOCK)
    if head.startswith(b"PK\x03\x04"):
        return None if is_checkpoint_zip(name, head) else "zip"
    if head.startswith(b"PK\x05\x06"):
        return "zip"
    start = Pipe(unpack(iter([head]), Damage())).read(512)
    return "tar" if start[_TAR_MAGIC] == b"ustar" else None


def list_members(kind: str, open_file: FileOpener) -> Listing:
    """List an archive's regular files; a damaged archive gives those before the damage."""
    listing = Listing()
    if kind == "tar":
        _list_tar(open_file, listing)
    else:
        _list_zip(open_file, listing)
    return listing


def _tidy(name: str) -> str:
    """A member's name without what would lead out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return "/".join(parts)


def _list_tar(open_file: FileOpener, listing: Listing) -> None:
    kept = skipped = 0
    with open_file() as file:
        pipe = Pipe(unpack(file_blocks(file), listing.damage))
        try:
            with tarfile.open(fileobj=pipe, mode="r|") as tar:  # type: ignore[call-overload]
                for info in tar:
                    if not info.isreg():
                        skipped += not info.isdir()
                        continue
                    if listing.is_full():
                        break
                    raw = _slice(open_file, info.offset_data, info.size)
                    name, mtime = _tidy(info.name), float(info.mtime) or None
                    listing.members.append(Member(name, info.size, mtime, raw))
                    if info.size <= KEPT and kept + info.size <= KEPT_IN_ALL:
                        kept += info.size
                        data = tar.extractfile(info)
                        listing.members[-1].raw = _kept(data.read() if data else b"")
        except _TAR_ERRORS as error:
            listing.damage.note(f"the archive is damaged or cut ({error})")
    if skipped:
        listing.damage.note(f"{skipped} links or devices in it were not followed", cut=False)


def _kept(data: bytes) -> Opener:
    return lambda _damage: iter([data])


def _slice(open_file: FileOpener, start: int, size: int) -> Opener:
    """Read one member at its place in the unpacked archive: again from the beginning, but bounded in memory."""

    def blocks(damage: Damage) -> Iterator[bytes]:
        skip, left = start, size
        with open_file() as file:
            for block in unpack(file_blocks(file), damage):
                piece = block[skip : skip + left]
                skip = max(0, skip - len(block))
                left -= len(piece)
                if piece:
                    yield piece
                if not left:
                    return
        damage.note(f"the archive ends {left} bytes before the end of this member")

    return blocks


def _list_zip(open_file: FileOpener, listing: Listing) -> None:
    try:
        with open_file() as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except _ZIP_ERRORS as error:
        listing.damage.note(f"the archive is damaged or cut ({error})")
        _salvage_zip(open_file, listing)
        return
    locked = 0
    for info in infos:
        if info.is_dir():
            continue
        if info.flag_bits & 1:
            locked += 1
            continue
        if listing.is_full():
            break
        listing.members.append(Member(_tidy(info.filename), info.file_size, None, _zipped(open_file, info)))
    if locked:
        listing.damage.note(f"{locked} members are encrypted and were not read", cut=False)


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


def _salvage_zip(open_file: FileOpener, listing: Listing) -> None:
    """List what a zip without its directory still holds, by the header before each member.

    A zip is written front to back and its directory last, so a cut one has whole members.
    Only as much of the file is looked at as is kept in memory of an archive at most.
    """
    with open_file() as file:
        data = file.read(KEPT_IN_ALL)
    at = 0
    while data[at : at + 4] == b"PK\x03\x04" and len(data) >= at + 30 and not listing.is_full():
        flags, method = int.from_bytes(data[at + 6 : at + 8], "little"), data[at + 8]
        stored = int.from_bytes(data[at + 18 : at + 22], "little")
        named = int.from_bytes(data[at + 26 : at + 28], "little")
        start = at + 30 + named + int.from_bytes(data[at + 28 : at + 30], "little")
        name = _tidy(data[at + 30 : at + 30 + named].decode("utf-8", "replace"))
        if flags & 1 or method not in {0, 8} or (method == 0 and flags & 8):
            return
        whole = data[start : start + stored]
        if method == 8:
            inflater = zlib.decompressobj(wbits=-15)
            try:
                whole = inflater.decompress(data[start:], KEPT)
            except zlib.error:
                return
            stored = len(data) - start - len(inflater.unused_data) if inflater.eof else len(data)
        if name and not name.endswith("/"):
            listing.members.append(Member(name, len(whole), None, _kept(whole)))
        at = start + stored
        if flags & 8 and data[at : at + 4] == b"PK\x07\x08":
            at += 16
