"""Files become inputs: one each, or one for each member of an archive."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Source
from forensics.sources.describe import describe_plain, describe_stream
from forensics.sources.encoding import is_recoded
from forensics.sources.holes import data_end
from forensics.sources.input import FileOpener, Input, Opener, bytes_opener, file_opener, open_regular, stream_opener
from forensics.sources.names import is_ignored
from forensics.sources.room import KEPT_IN_ALL, Budget, Room
from forensics.sources.sniff import HEAD
from forensics.sources.unpack import Damage, is_packed, may_be_archive, unpacks_fast
from forensics.sources.watch import STOPPED, Watch
from forensics.text.sizes import format_size

if TYPE_CHECKING:  # tarfile and zipfile load only where there is an archive
    from forensics.sources.listing import Member

MOST_FILES = 20_000
DEPTH = 2
EXAMPLES = 8
"""Files left out for one reason that are named; of further ones there is a count."""
NESTED = 32 << 20
"""The largest archive inside an archive that is opened; it is held in memory."""

_UNPACKED_AT_ONCE = 1 << 30

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Spread(Protocol):
    """Maps a function over tasks, in this process as `map` does, or in several."""

    def __call__(self, function: Callable[[_Task], _Result], tasks: Sequence[_Task], /) -> Iterable[_Result]:
        """Return the results in the order of the tasks."""
        ...


class Gathering(Struct):
    """Inputs found so far, and what was left out in words."""

    inputs: list[Input] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    unpacked: int = 0
    room: Room = field(default_factory=Room)
    left_out: Counter[str] = field(default_factory=Counter)
    _undescribed: list[tuple[Input, Path, int]] = field(default_factory=list)

    def told(self) -> list[str]:
        """Return all notes, with the counts of what was left out beyond the examples."""
        more = {why: count - EXAMPLES for why, count in self.left_out.items() if count > EXAMPLES}
        return [*self.notes, *(f"{count} more of these: {why}" for why, count in more.items())]

    def leave_out(self, name: str, why: str) -> None:
        """Note what is there and not read: the first ones by name, as many as there may be by count."""
        self.left_out[why] += 1
        if self.left_out[why] <= EXAMPLES:
            self.notes.append(f"{name}: {why}")

    def is_full(self, name: str) -> bool:
        """Tell, and note once, that no more files are taken in."""
        self.watch.files = len(self.inputs)
        if self.watch.stopped:
            self.note_once(f"{name}: {STOPPED} before all files were found")
            return True
        if len(self.inputs) < MOST_FILES:
            return False
        self.note_once(f"{name}: more than {MOST_FILES} files, the rest was not read")
        return True

    def note_once(self, note: str) -> None:
        """Add a note, unless the same was noted of another name."""
        said = note.rpartition(": ")[2]
        if not any(kept.endswith(said) for kept in self.notes):
            self.notes.append(note)

    def add_file(self, path: Path, name: str, status: os.stat_result) -> None:
        """Take in a regular file on disk.

        Args:
            path: where it is.
            name: how it is shown.
            status: its `stat`.

        Raises:
            OSError: it cannot be opened or read.
        """
        with open_regular(path) as file:
            end = data_end(file, status.st_size)
        source = Source(name, "text", status.st_size, mtime=status.st_mtime)
        if hole := status.st_size - end:
            why = f"its last {format_size(hole)} are a hole, NUL bytes that were never written, and were not read"
            source = replace(source, read="partial", why=why)
        made = self._add(source, partial(open_regular, path), file_opener(path, end, status.st_size), end, here=True)
        if made is not None:
            made.plain_path = None if hole else path
            self._undescribed.append((made, path, end))

    def describe(self, spread: Spread) -> None:
        """Describe the files on disk that were taken in: of many, that takes its time, and `spread` divides it."""
        left, self._undescribed = self._undescribed, []
        found = spread(_described, [(made.source, path, end) for made, path, end in left])
        for (made, _, _), source in zip(left, found, strict=True):
            if isinstance(source, Source):
                made.source = source
            else:  # it was there a moment ago
                self.leave_out(made.source.path, f"not read ({source})")
                made.source = replace(made.source, read="skipped", why=source)

    def add_opened(self, name: str, opener: FileOpener, size: int, mtime: float | None) -> None:
        """Take in a file that can be opened anew and sought, wherever it is.

        Raises:
            OSError: it cannot be opened or read.
        """
        made = self._add(Source(name, "text", size, mtime=mtime), opener, stream_opener(opener), size)
        if made is not None:
            made.sought = opener

    def _add(self, source: Source, opener: FileOpener, reader: Opener, end: int, *, here: bool = False) -> Input | None:
        """Take in a file; return its input where that has the file's very bytes."""
        with opener() as file:
            head = file.read(HEAD)
        if self._add_archive(source.path, head, opener, depth=0):
            return None
        packed = is_packed(head)
        made = Input(source, reader, measured=not packed, cheap=here and unpacks_fast(head))
        if packed:
            describe_stream(made, source.bytes)
        elif not here or is_recoded(head):
            with opener() as file:
                describe_plain(made, file, head, source.bytes, end)
        self.inputs.append(made)
        return None if packed or is_recoded(head) else made

    def add_bytes(
        self, name: str, data: bytes, depth: int = 0, mtime: float | None = None, budget: Budget | None = None
    ) -> None:
        """Take in a file held in memory; `budget` is that of the archive it was in."""
        head = data[:HEAD]
        if self._add_archive(name, head, partial(io.BytesIO, data), depth, budget):
            return
        packed = is_packed(head)
        made = Input(Source(name, "text", len(data), mtime=mtime), bytes_opener(data), measured=not packed)
        if packed:
            describe_stream(made, len(data))
        else:
            describe_plain(made, io.BytesIO(data), head, len(data))
        self.inputs.append(made)

    def add_unreadable(self, name: str, error: OSError) -> None:
        """List a file that is there but cannot be read."""
        why = (error.strerror or str(error)).lower()
        self.leave_out(name, f"not read ({why})")
        self.inputs.append(Input(Source(name, "text", 0, read="skipped", why=why), lambda _: iter(())))

    def _add_archive(
        self, name: str, head: bytes, opener: FileOpener, depth: int, budget: Budget | None = None
    ) -> bool:
        """Take in the members of a file that is an archive; False where it is none."""
        if not may_be_archive(head):
            return False
        from forensics.sources.archive import archive_kind, list_members

        kind = archive_kind(name, opener)
        if kind is None:
            return False
        if depth >= DEPTH:
            self.notes.append(f"{name}: an archive {DEPTH} archives deep, not opened")
            return True
        listing = list_members(kind, opener, budget, self.room)
        if listing.damage.why:
            self.leave_out(name, listing.damage.why)
        if not listing.members and listing.damage.cut:
            source = Source(name, "binary", len(head), state="cut", read="partial", why=listing.damage.why)
            self.inputs.append(Input(source, lambda _: iter(())))
        for member in listing.members:
            if not member.name or is_ignored(member.name):
                continue
            if self.is_full(name):
                break
            self._add_member(f"{name}!{member.name}", member, depth, listing.budget)
        return True

    def _add_member(self, name: str, member: Member, depth: int, budget: Budget) -> None:
        head = _first(member, HEAD)
        if may_be_archive(head):
            from forensics.sources.archive import archive_kind

            data = _first(member, NESTED)
            if archive_kind(name, partial(io.BytesIO, data)) is not None:
                if self.room.keep(len(data)):
                    self.add_bytes(name, data, depth + 1, member.mtime, budget)
                else:
                    self.leave_out(
                        name, f"an archive inside an archive, beyond the {KEPT_IN_ALL >> 20} MiB held of them"
                    )
                return
        made = Input(Source(name, "text", member.size, mtime=member.mtime), member.opener, measured=False)
        self.unpacked += member.size
        describe_stream(made, member.size, later=self.unpacked > _UNPACKED_AT_ONCE)
        self.inputs.append(made)


def _described(task: tuple[Source, Path, int]) -> Source | str:
    """Return the source of a file on disk, described by its head and its tail, or why it cannot be read.

    Its head is read anew: those of thousands of files would fill the memory until all are found.
    """
    source, path, end = task
    made = Input(source, lambda _: iter(()))
    try:
        with open_regular(path) as file:
            describe_plain(made, file, file.read(HEAD), source.bytes, end)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return made.source


def _first(member: Member, limit: int) -> bytes:
    """The first bytes of a member as they are stored."""
    parts: list[bytes] = []
    left = limit
    for block in member.raw(Damage()):
        parts.append(block[:left])
        left -= len(parts[-1])
        if left <= 0:
            break
    return b"".join(parts)
