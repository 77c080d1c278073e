"""What a program prints, kept: each stream raw, both merged by lines, and an index of the times.

    stdout.log, stderr.log   the bytes as they came; what is in them is safe, whoever dies
    train.log                both, in the order in which their lines came
    index                    for each piece of train.log: time, stream, offset, bytes, lines

The two streams are written first. What train.log gets is announced in the index, then copied
from them, so a supervisor that takes over knows from the three sizes what is still owed.
At a terminal there is one stream, which train.log takes as it comes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from forensics.supervise.appender import Appender, RefusedError

MERGED = "train.log"
INDEX = "index"
HEADER = b"# dflash-forensics index 1: time_s\tstream\toffset\tbytes\tlines\n"
NEWLINE = b"\n"
PIECE = 1 << 18
HELD_BYTES = 8 << 20
"""Output kept in memory while the disk is full; the oldest beyond it is lost, and counted."""
PATIENCE_S = 0.5
"""How long the begin of a line may wait for its end before it is merged without."""
RETRY_S = 1.0
_LONG_LINE = 1 << 20


class Stream:
    """One stream of the program: its file, and how far it has been merged."""

    def __init__(self, name: str, file: Appender) -> None:
        self.name = name
        self.file = file
        self.merged = 0
        self.complete = 0
        """Where the last line that is whole ends."""
        self.arrived: deque[tuple[int, float]] = deque()
        """Up to which offset the stream had come, when."""
        self.held: deque[bytes] = deque()
        self.held_bytes = 0
        self.lost_bytes = 0

    @property
    def offset(self) -> int:
        """How far the stream is safe on the disk."""
        return self.file.size

    def hold(self, data: bytes, most: int) -> None:
        """Keep bytes in memory, the newest that fit."""
        self.held.append(data)
        self.held_bytes += len(data)
        self.trim(most)

    def trim(self, most: int) -> None:
        """Give up the oldest of what is in memory, and count it."""
        while self.held and self.held_bytes > most:
            first = self.held.popleft()
            kept = first[min(len(first), self.held_bytes - most) :]
            self.held_bytes -= len(first) - len(kept)
            self.lost_bytes += len(first) - len(kept)
            if kept:
                self.held.appendleft(kept)


class Logs:
    """The logs of one attempt."""

    def __init__(
        self,
        folder: Path,
        names: tuple[str, ...],
        *,
        most_bytes: int = 0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the logs, or take them over from a supervisor that is gone.

        Args:
            folder: that of the attempt.
            names: the streams; none at a terminal, where train.log is the only log.
            most_bytes: size at which a part of a log is full; 0 for no limit.
            say: is told once when the disk is full, and when it is not any more.

        Raises:
            OSError: a log cannot be opened.
        """
        self.train = Appender(folder / MERGED, most_bytes)
        self.index = Appender(folder / INDEX)
        self.streams = {name: Stream(name, Appender(folder / f"{name}.log", most_bytes)) for name in names}
        self._terminal = None if names else Stream("terminal", self.train)
        self._owed: tuple[Stream, int] | None = None
        self._say = say
        self.full = False
        """Whether output waits in memory because the disk is full."""
        self._again = 0.0
        self._recover()

    @property
    def lost(self) -> dict[str, int]:
        """Return of each stream that lost something how many bytes it was."""
        return {s.name: s.lost_bytes for s in self._all() if s.lost_bytes}

    def take(self, name: str, source: int) -> bool:
        """Take what a pipe or a terminal holds; False at its end."""
        stream = self._terminal or self.streams[name]
        if not stream.held and self._terminal is None:
            try:
                count = stream.file.take(source, PIECE)
            except BlockingIOError:
                return True
            except RefusedError as refused:
                self._filled(refused)
                count = None
            if count is not None:
                if count:
                    self._note(stream, stream.file.read(stream.offset - count, count))
                return count > 0
        try:
            data = os.read(source, PIECE)
        except BlockingIOError:
            return True
        except OSError:  # Linux tells the end of a terminal as an error
            return False
        if data:
            self._keep(stream, data)
        return bool(data)

    def tend(self, *, last: bool = False) -> None:
        """Merge what has come; `last` says that no more will."""
        now = time.time()
        if self.full and not last and now < self._again:
            return
        try:
            self._unload()
            self._pay()
            for stream in sorted(self.streams.values(), key=lambda s: s.arrived[0][1] if s.arrived else now):
                self._merge(stream, now, last=last)
            self._roll()
        except RefusedError as refused:
            self._filled(refused)
        except OSError as error:
            self._filled(RefusedError(0, error))
        else:
            if self.full:
                self.full = False
                lost = sum(self.lost.values())
                self._say("there is room on the disk again" + (f"; {lost} bytes of output were lost" if lost else ""))

    def last_words(self, most: int) -> None:
        """Keep only the end of what waits in memory, for which there is room kept aside."""
        for stream in self._all():
            stream.trim(most // max(1, len(self.streams)))

    def sync(self) -> None:
        """Put everything on the disk."""
        for file in self._files():
            file.sync()

    def close(self) -> None:
        """Let the files go."""
        for file in self._files():
            file.close()

    def _all(self) -> list[Stream]:
        return [self._terminal] if self._terminal is not None else list(self.streams.values())

    def _files(self) -> list[Appender]:
        return [self.train, self.index, *(stream.file for stream in self.streams.values())]

    def _keep(self, stream: Stream, data: bytes) -> None:
        """Write bytes that are in memory; leave them there while the disk is full."""
        if stream.held:
            stream.hold(data, HELD_BYTES)
            return
        try:
            self._write(stream, data)
        except RefusedError as refused:
            stream.hold(data[refused.done :], HELD_BYTES)
            self._filled(refused)

    def _write(self, stream: Stream, data: bytes) -> None:
        try:
            stream.file.write(data)
        except RefusedError as refused:
            self._note(stream, data[: refused.done])
            raise
        self._note(stream, data)

    def _note(self, stream: Stream, data: bytes) -> None:
        """Remember when bytes came that were just written, and where the last whole line of them ends."""
        if not data:
            return
        start, now = stream.offset - len(data), time.time()
        if stream is self._terminal:
            # The index of a terminal follows its bytes, and is only poorer without a line.
            with contextlib.suppress(RefusedError):
                self._announce(now, stream.name, start, data)
            return
        if stream.arrived and stream.arrived[-1][0] > stream.complete and now - stream.arrived[-1][1] < PATIENCE_S:
            now = stream.arrived.pop()[1]  # the line had begun then: unbuffered programs write it in pieces
        ended = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1))
        if ended >= 0:
            stream.complete = start + ended + 1
        stream.arrived.append((start + len(data), now))

    def _filled(self, refused: RefusedError) -> None:
        self._again = time.time() + RETRY_S
        if not self.full:
            self.full = True
            where = self.train.path.parent
            self._say(f"{where} cannot be written ({refused}): the program goes on, its output waits in memory")

    def _unload(self) -> None:
        """Write what waits in memory, as far as there is room again."""
        for stream in self._all():
            while stream.held:
                data = stream.held[0]
                try:
                    self._write(stream, data)
                except RefusedError as refused:
                    stream.held[0] = data[refused.done :]
                    stream.held_bytes -= refused.done
                    raise
                stream.held.popleft()
                stream.held_bytes -= len(data)

    def _announce(self, when: float, name: str, offset: int, data: bytes) -> None:
        """Write one line of the index, whole or not at all."""
        size = self.index.size
        line = f"{when:.6f}\t{name}\t{offset}\t{len(data)}\t{data.count(NEWLINE)}\n".encode()
        try:
            self.index.write(line if size else HEADER + line)
        except RefusedError:
            self.index.cut(size)
            raise

    def _merge(self, stream: Stream, now: float, *, last: bool) -> None:
        while stream.merged < stream.offset:
            while stream.arrived and stream.arrived[0][0] <= stream.merged:
                stream.arrived.popleft()
            until, when = stream.arrived[0] if stream.arrived else (stream.offset, now)
            waited = last or now - when > PATIENCE_S or stream.offset - stream.merged > _LONG_LINE
            end = until if waited or until <= stream.complete else min(until, stream.complete)
            if end <= stream.merged:
                return
            end = min(end, stream.merged + PIECE)
            data = stream.file.read(stream.merged, end - stream.merged)
            if not data:  # the file was cut by somebody else
                stream.merged = stream.offset
                return
            self._announce(when, stream.name, self.train.size, data)
            self._owed = stream, len(data)
            self._pay()

    def _pay(self) -> None:
        """Copy what the index has announced."""
        while self._owed is not None:
            stream, count = self._owed
            data = stream.file.read(stream.merged, min(count, PIECE))
            if not data:
                self._owed = None  # the file was cut by somebody else
                return
            try:
                self.train.write(data)
            except RefusedError as refused:
                stream.merged += refused.done
                self._owed = stream, count - refused.done
                raise
            stream.merged += len(data)
            self._owed = (stream, count - len(data)) if count > len(data) else None

    def _roll(self) -> None:
        if self.train.due:
            self.train.roll()
        for stream in self.streams.values():
            if stream.file.due and stream.merged == stream.offset:
                stream.file.roll()

    def _recover(self) -> None:
        """Learn from the index and the sizes what an earlier supervisor had done, and what it still owed."""
        lines = self.index.read(0, self.index.size).split(b"\n") if self.index.size else [b""]
        if lines[-1]:
            self.index.cut(self.index.size - len(lines[-1]))
        announced, last = 0, ""
        for line in lines[:-1]:
            cells = line.decode("ascii", "replace").split("\t")
            if len(cells) != 5 or not cells[3].isdecimal():
                continue
            announced += int(cells[3])
            last = cells[1]
            if last in self.streams:
                self.streams[last].merged += int(cells[3])
        behind = announced - self.train.size
        if last in self.streams and behind > 0:
            stream = self.streams[last]
            stream.merged -= behind
            self._owed = stream, behind
        for stream in self.streams.values():
            stream.complete = stream.merged
            if stream.offset > stream.merged:
                stream.arrived.append((stream.offset, stream.file.path.stat().st_mtime))
                stream.complete = stream.offset
