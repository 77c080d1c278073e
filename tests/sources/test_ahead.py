"""A thread that reads ahead changes nothing but the time, and ends with whoever takes what it read."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources.ahead import DEPTH, ahead


def named() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "reading-ahead"]


@given(st.lists(st.binary(max_size=4), max_size=40), st.integers(1, 5))
def test_pieces_come_as_they_are(pieces: list[bytes], depth: int) -> None:
    """All of them, in their order, empty ones too; no thread is left."""
    assert list(ahead(iter(pieces), depth)) == pieces
    assert not named()


def test_little_waits() -> None:
    """Of an endless stream only so much is read as there is room for, and closing ends it."""
    made, closed = [], threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                made.append(1)
                yield bytes(10)
        finally:
            closed.set()

    pieces = ahead(endless())
    taken = [next(pieces) for _ in range(3)]
    pieces.close()
    assert closed.is_set()
    assert not named()
    assert len(taken) <= len(made) <= len(taken) + DEPTH + 2


def test_what_the_stream_raises_is_raised_where_it_is_taken() -> None:
    """Behind the pieces that were read before."""

    def breaking() -> Iterator[bytes]:
        yield b"one"
        raise OSError(5, "Input/output error")

    pieces = ahead(breaking())
    assert next(pieces) == b"one"
    with pytest.raises(OSError, match="Input/output error"):
        next(pieces)
    assert not named()


def test_without_threads_it_reads_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a limit of threads, and in browsers, there are none."""

    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert list(ahead(iter([b"a", b"b"]))) == [b"a", b"b"]
