"""A file that only grows, in parts of bounded size, written so that a full disk is an answer and not a crash."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from forensics.supervise.journal import FULL


class RefusedError(Exception):
    """The disk takes no more, being full or gone; `done` bytes were written all the same."""

    def __init__(self, done: int, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.done = done


class Appender:
    """The end of a log.

    `path` is the newest part; older ones are `path.1` (the newest of them), `path.2` and so on, as
    logrotate has it. `size` counts the bytes of all parts.
    """

    def __init__(self, path: Path, most_bytes: int = 0) -> None:
        """Open a log at its end, making it if it is not there.

        Args:
            path: where it is.
            most_bytes: size at which a part is full; 0 for no limit.

        Raises:
            OSError: it cannot be opened.
        """
        self.path = path
        self.most_bytes = most_bytes
        self.older = sum(part.stat().st_size for part in parts(path)[:-1])
        self._handle = self._open()
        self.here: int = os.lseek(self._handle, 0, os.SEEK_END)
        self._spliced = hasattr(os, "splice")

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return self.older + self.here

    @property
    def due(self) -> bool:
        """Tell whether the part has grown to its size."""
        return 0 < self.most_bytes <= self.here

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            RefusedError: not all of it fitted.
        """
        view, done = memoryview(data), 0
        while view:
            try:
                count = os.write(self._handle, view)
            except OSError as error:
                raise RefusedError(done, error) from error
            self.here += count
            done += count
            view = view[count:]

    def take(self, pipe: int, most: int) -> int | None:
        """Move what a pipe holds into the file without its ever being only in this process's memory.

        Whoever is killed at whatever moment, a byte is in the pipe or in the file.

        Returns:
            The number of bytes, 0 at the end of the pipe; None where this system cannot do it.

        Raises:
            RefusedError: there is no room; what did not fit is still in the pipe.
            BlockingIOError: the pipe is empty.
        """
        if not self._spliced:
            return None
        try:
            count = os.splice(pipe, self._handle, most, flags=os.SPLICE_F_NONBLOCK)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno in FULL:
                raise RefusedError(0, error) from error
            self._spliced = False  # not on this file system: the reader writes by itself
            return None
        self.here += count
        return count

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of the newest part; `offset` counts from the begin of the oldest."""
        handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(handle, count, max(0, offset - self.older))
        finally:
            os.close(handle)

    def cut(self, size: int) -> None:
        """Take back what was written beyond a size of the newest part."""
        os.ftruncate(self._handle, size - self.older)
        self.here = os.lseek(self._handle, 0, os.SEEK_END)

    def roll(self) -> None:
        """Begin a new part. Names move from the oldest on, so that a kill leaves a gap and no loss."""
        older = parts(self.path)[:-1]
        for number, part in zip(range(len(older), 0, -1), older, strict=True):
            part.rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        os.close(self._handle)
        self.older += self.here
        self._handle = self._open()
        self.here = 0

    def sync(self) -> None:
        """Put it on the disk."""
        with contextlib.suppress(OSError):
            os.fdatasync(self._handle) if hasattr(os, "fdatasync") else os.fsync(self._handle)

    def close(self) -> None:
        """Let the file go."""
        with contextlib.suppress(OSError):
            os.close(self._handle)

    def _open(self) -> int:
        # No O_APPEND: the kernel refuses to splice into a file that has it.
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.lseek(handle, 0, os.SEEK_END)
        return handle


def parts(path: Path) -> list[Path]:
    """Return the parts of a log that are there, the oldest first, the newest always."""
    numbered = [
        (int(suffix), found)
        for found in path.parent.glob(f"{path.name}.*")
        if (suffix := found.name.removeprefix(f"{path.name}.")).isdecimal()
    ]
    return [*(found for _, found in sorted(numbered, reverse=True)), path]
