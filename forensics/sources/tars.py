"""The members of tar archives, compressed or not."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from forensics.sources.input import FileOpener, Opener
from forensics.sources.listing import MEMBERS, Listing, Member, kept, tidy
from forensics.sources.room import KEPT
from forensics.sources.unpack import BLOCK, Damage, Pipe, file_blocks, is_packed, unpack

MOST_HEADER = 1 << 20
"""Bytes of a header that goes before a member, for its long name or its attributes."""
MOST_ENTRIES = 10 * MEMBERS
NO_ROOM = "large members were not read: no room on disk to unpack them"
_LEADING = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
}
_TAR_ERRORS = (tarfile.TarError, OSError, EOFError, ValueError)


class _Header(tarfile.TarInfo):
    """A header whose long name is bounded: it is read into memory, and may be said to have gigabytes."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _LEADING and self.size > MOST_HEADER:
            raise tarfile.ReadError(f"a name or attributes of {self.size} bytes")
        found: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return found


def list_tar(open_file: FileOpener, listing: Listing) -> None:
    """List the regular files of a tar."""
    with open_file() as file:
        packed = is_packed(file.read(BLOCK))
    left_out: Counter[str] = Counter()
    with open_file() as file:
        try:
            with _opened(file, listing.damage) as tar:
                for looked, info in enumerate(tar):
                    tar.members = []  # type: ignore[attr-defined]  # it would hold on to all of them
                    if looked >= MOST_ENTRIES:
                        listing.damage.note(
                            f"it has more than {MOST_ENTRIES} entries: the rest was not read", cut=False
                        )
                        break
                    if why := _odd(info):
                        left_out[why] += 1
                    elif info.isreg():
                        if not listing.admits(info.size):
                            break
                        # Of a member in which the archive is cut there is a beginning: it is read anew.
                        raw = _slice(open_file, info.offset_data, info.size, packed=packed)
                        listing.members.append(Member(tidy(info.name), info.size, float(info.mtime) or None, raw))
                        left_out[NO_ROOM] += not _hold(tar, info, listing, packed=packed)
        except _TAR_ERRORS as error:
            listing.damage.note(f"the archive is damaged or cut ({error})")
    for why, count in left_out.items():
        if count:
            listing.damage.note(f"{count} {why}", cut=False)


def _odd(info: tarfile.TarInfo) -> str:
    if info.issparse():
        return "sparse files in it were not read"
    return "" if info.isreg() or info.isdir() else "links or devices in it were not followed"


def _opened(file: BinaryIO, damage: Damage) -> tarfile.TarFile:
    pipe = Pipe(unpack(file_blocks(file), damage))
    return tarfile.open(fileobj=pipe, mode="r|", bufsize=BLOCK, tarinfo=_Header)  # type: ignore[call-overload,no-any-return]


def _hold(tar: tarfile.TarFile, info: tarfile.TarInfo, listing: Listing, *, packed: bool) -> bool:
    """Keep the member that was listed last in memory, or lay it down; drop it where there is no room for it.

    In a packed archive nothing has a place, and reading a member anew means unpacking all before it.
    """
    member, data = listing.members[-1], tar.extractfile(info)
    if data is None:
        return True
    if info.size <= KEPT and listing.room.keep(info.size):
        member.raw = kept(data.read())
        return True
    if not packed:
        return True
    spool = listing.room.spool()
    place = spool.add(file_blocks(data)) if spool is not None else None
    if spool is None or place is None:
        listing.members.pop()
        return False
    start, size = place
    member.raw = lambda _damage: spool.read(start, size)
    return True


def _slice(open_file: FileOpener, start: int, size: int, *, packed: bool) -> Opener:
    """Read a member at its place in the unpacked archive."""

    def blocks(damage: Damage) -> Iterator[bytes]:
        skip, left = start, size
        with open_file() as file:
            if not packed:
                file.seek(start)
                skip = 0
            for block in unpack(file_blocks(file), damage) if packed else file_blocks(file):
                piece = block[skip : skip + left]
                skip = max(0, skip - len(block))
                left -= len(piece)
                if piece:
                    yield piece
                if not left:
                    return
        damage.note(f"the archive ends {left} bytes before the end of this member")

    return blocks
