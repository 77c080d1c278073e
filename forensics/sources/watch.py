"""How far the reading of a run has come, and whether it shall stop: shared by who reads and who looks on.

The reader tells what it has read and asks between two pieces whether to go on. Whoever looks on
(a progress bar, a key press) reads the counts and calls `stop`. Nothing here knows a terminal.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Source
from forensics.sources.input import Input
from forensics.text.sizes import format_size

STOPPED = "reading was stopped"
_WORD = struct.Struct("q")
_SLOTS = 255
"""Processes that can count at once, each in a slot of its own: those of a pool have numbers in a row."""


def _shared() -> mmap.mmap:
    return mmap.mmap(-1, _WORD.size * (1 + _SLOTS))


class Watch(Struct):
    """Counts of one reading, in bytes as the sources count them, and the wish to end it.

    `files` were found so far, `expected` bytes are to be read of them, `seen` were read; `name` is
    the source that is being read. `cut` has the paths whose reading was ended in the middle. Counts
    and wish lie in memory that processes forked from this one share.
    """

    files: int = 0
    expected: int = 0
    name: str = ""
    cut: set[str] = field(default_factory=set)
    _waiting: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _memory: mmap.mmap = field(default_factory=_shared)

    @property
    def seen(self) -> int:
        """Return the bytes that were read so far, by whatever process."""
        return sum(count for (count,) in _WORD.iter_unpack(self._memory[_WORD.size :]))

    @property
    def stopped(self) -> bool:
        """Tell whether the reader shall end, or has ended, before its end."""
        return self._memory[0] != 0

    @stopped.setter
    def stopped(self, value: bool) -> None:
        self._memory[0] = int(value)

    def stop(self) -> None:
        """Ask the reader to end at the next piece.

        Raises:
            KeyboardInterrupt: the reader waits for a pipe, which may never end by itself.
        """
        self.stopped = True
        if self._waiting:
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Mark a wait that only an exception can end."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    def expect(self, inputs: Iterable[Input]) -> None:
        """Count what there is to read of sources that were found."""
        self.expected += sum(_written(made.source) for made in inputs if made.source.read != "skipped")

    def saw(self, count: int) -> None:
        """Count bytes that were read; any thread may call it."""
        at = _WORD.size * (1 + os.getpid() % _SLOTS)
        with self._lock:
            _WORD.pack_into(self._memory, at, _WORD.unpack_from(self._memory, at)[0] + count)

    @property
    def partial(self) -> bool:
        """Tell whether reading was ended before its end, whatever it had come to by then."""
        return self.stopped or bool(self.cut)

    def follow(self, made: Input) -> Generator[bytes, None, None]:
        """Yield the content of a source, counting it, up to the end of the line in which a stop falls."""
        self.name = made.source.path
        planned, counted = _written(made.source), 0
        for piece in made.chunks():
            if self.stopped:
                line = piece.find(b"\n") + 1
                if line:
                    yield piece[:line]
                self.end(made, counted)
                return
            step = min(made.position, planned) - counted
            counted += step
            self.saw(step)
            yield piece
        self.saw(planned - counted)

    def through(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a part of a source, counting them, until a stop."""
        for block in blocks:
            if self.stopped:
                return
            self.saw(len(block))
            yield block

    def end(self, made: Input, counted: int) -> None:
        """Mark a source of which only the first bytes were read."""
        self.cut.add(made.source.path)
        why = f"{STOPPED} after {format_size(counted)}"
        source = made.source
        made.source = replace(
            source,
            read="skipped" if source.read == "skipped" else "partial",
            why=f"{source.why}; {why}" if source.why else why,
        )

    def left_out(self, source: Source) -> Source:
        """Return a source whose turn did not come, marked so; one that nobody meant to read stays as it is."""
        return source if source.read == "skipped" else replace(source, read="skipped", why=STOPPED)

    def told(self, sources: Iterable[Source]) -> str:
        """Return what a stop left out, in words; nothing where all was read."""
        unread = sum(source.why == STOPPED for source in sources)
        if not unread and not self.cut:
            return ""
        known = f" of {format_size(self.expected)}" if self.seen < self.expected else ""
        files = f"of the files found ({self.files}) {unread} were not read and {len(self.cut)} only in part"
        return f"partial: {STOPPED} after {format_size(self.seen)}{known}; {files}, so the run cannot be judged"


def _written(source: Source) -> int:
    return source.bytes - source.nul_bytes  # those at the end may be a hole, which nobody reads
