"""Archives of files: which kind one is, and its members as streams."""

from __future__ import annotations

import io

from forensics.sources.binary import is_checkpoint_zip
from forensics.sources.input import FileOpener
from forensics.sources.listing import Listing
from forensics.sources.room import Budget, Room
from forensics.sources.unpack import BLOCK, Damage, Pipe, unpack

_TAR_MAGIC = slice(257, 262)


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


def list_members(kind: str, open_file: FileOpener, budget: Budget | None = None, room: Room | None = None) -> Listing:
    """List an archive's regular files; a damaged archive gives those before the damage.

    Args:
        kind: as `archive_kind` tells it.
        open_file: opens it.
        budget: how much may be unpacked; that of the archive around it, where there is one.
        room: what of memory and disk is left.
    """
    if budget is None:
        with open_file() as file:
            budget = Budget.of(file.seek(0, io.SEEK_END))
    listing = Listing(budget, room or Room())
    if kind == "tar":
        from forensics.sources.tars import list_tar

        list_tar(open_file, listing)
    else:
        from forensics.sources.zips import list_zip

        list_zip(open_file, listing)
    return listing
