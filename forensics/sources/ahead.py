"""Reading ahead: a thread makes the next pieces of a stream while the last ones are looked through.

Worth it where making them takes its time outside Python, as unpacking and fetching do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator
from queue import Queue

DEPTH = 4
"""Pieces that wait at most; so many megabytes, as an `Input` cuts them."""


def ahead(pieces: Iterator[bytes], depth: int = DEPTH) -> Generator[bytes, None, None]:
    """Yield the pieces of a stream that a thread reads ahead of whoever takes them.

    Close it, and the thread ends behind the piece that it is at: no thread outlives the
    generator, for no process that has one may be copied. What `pieces` raises is raised here.
    """
    reader = _Reader(pieces, depth)
    try:
        reader.start()
    except RuntimeError:  # at a limit of threads, or where the machine has none
        yield from pieces
        return
    try:
        yield from reader.taken()
    finally:
        reader.end()


class _Reader(threading.Thread):
    """Fills a queue up to a None."""

    def __init__(self, pieces: Iterator[bytes], depth: int) -> None:
        super().__init__(name="reading-ahead", daemon=True)
        self._pieces = pieces
        self._queue: Queue[bytes | None] = Queue(depth)
        self._unwanted = False
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Read until the stream ends, or nobody wants it any more."""
        try:
            for piece in self._pieces:
                if self._unwanted:
                    break
                self._queue.put(piece)
        except BaseException as failure:  # noqa: BLE001 - it is raised where the pieces are taken
            self._failure = failure
        finally:
            if isinstance(self._pieces, Generator):
                with contextlib.suppress(Exception):
                    self._pieces.close()
            self._queue.put(None)

    def taken(self) -> Iterator[bytes]:
        """Yield what was read."""
        while (piece := self._queue.get()) is not None:
            yield piece
        self.join()
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Wait for the thread, which may wait for room in the queue."""
        self._unwanted = True
        while self.is_alive():
            with contextlib.suppress(Exception):
                self._queue.get(timeout=0.01)
