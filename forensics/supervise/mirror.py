"""The output of a supervised program at the terminal or the pipe of the one who called: read from the logs.

A reader that stops reading, a pager or a frozen terminal, holds up the mirror and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from forensics.supervise.appender import parts

_PIECE = 1 << 16
_WAIT_S = 0.05


class Mirror:
    """Threads that copy logs to standard output and standard error as they grow."""

    def __init__(self, folder: Path, *, terminal: bool) -> None:
        pairs = [("train.log", 1)] if terminal else [("stdout.log", 1), ("stderr.log", 2)]
        self._done = threading.Event()
        self._threads = [
            threading.Thread(target=self._copy, args=(folder / name, handle), daemon=True) for name, handle in pairs
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Return when everything has been shown."""
        self._done.set()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(0.2)

    def _copy(self, path: Path, target: int) -> None:
        shown = 0
        while True:
            done = self._done.is_set()
            data = _from(path, shown)
            shown += len(data)
            if not _write(target, data):
                return
            if not data:
                if done:
                    return
                self._done.wait(_WAIT_S)


def _from(path: Path, offset: int) -> bytes:
    """Return bytes of a log that may be in parts, from an offset into all of them."""
    for part in parts(path):
        with contextlib.suppress(OSError):
            size = part.stat().st_size
            if offset < size or part == path:
                with part.open("rb") as file:
                    file.seek(offset)
                    return file.read(_PIECE)
            offset -= size
    return b""


def _write(target: int, data: bytes) -> bool:
    """Write all of it; False if nobody reads any more."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except OSError:
            return False
    return True
