"""The logs under a supervisor that is killed between any two of its writes, and a disk that takes no more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics.supervise.appender import Appender, RefusedError, parts
from forensics.supervise.logs import HEADER, Logs

STREAMS = ("stdout", "stderr")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe that does not block its reader."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    yield read, write
    os.close(read)
    os.close(write)


def wrote(folder: Path, pipe: tuple[int, int], *pieces: tuple[str, bytes]) -> Logs:
    """Let pieces come through a pipe, and merge them."""
    logs = Logs(folder, STREAMS)
    for name, data in pieces:
        os.write(pipe[1], data)
        assert logs.take(name, pipe[0])
        logs.tend()
    return logs


def test_lines_of_two_streams_are_not_torn_by_each_other(tmp_path: Path, pipe: tuple[int, int]) -> None:
    """A line in pieces waits for its end; the other stream goes first."""
    logs = wrote(tmp_path, pipe, ("stdout", b"step 1 "), ("stderr", b"warning\n"), ("stdout", b"loss 2\nst"))
    logs.tend(last=True)
    logs.close()
    assert (tmp_path / "train.log").read_bytes() == b"warning\nstep 1 loss 2\nst"


@pytest.mark.parametrize("kept", range(0, 40, 3))
def test_whatever_a_killed_supervisor_had_merged_the_next_one_completes(
    tmp_path: Path, pipe: tuple[int, int], kept: int
) -> None:
    """The merged log cut at any byte, the index torn in any line: afterwards all is there, once."""
    logs = wrote(
        tmp_path, pipe, ("stdout", b"a 1\na 2\n"), ("stderr", b"b 1\n"), ("stdout", b"a 3\na 4\n"), ("stderr", b"b 2\n")
    )
    logs.close()
    train, index = tmp_path / "train.log", tmp_path / "index"
    whole = train.read_bytes()
    rows = index.read_bytes().splitlines(keepends=True)[1:]
    cut = min(kept, len(whole))
    # The index announces before anything is copied: rows up to the one that the cut is in, and half of the next.
    sizes = [int(row.split(b"\t")[3]) for row in rows]
    shown = next((n + 1 for n in range(len(rows)) if sum(sizes[: n + 1]) >= cut), len(rows))
    index.write_bytes(HEADER + b"".join(rows[:shown]) + b"".join(rows[shown : shown + 1])[:9])
    train.write_bytes(whole[:cut])
    again = Logs(tmp_path, STREAMS)
    again.tend(last=True)
    again.close()
    merged = train.read_bytes()
    assert merged.startswith(whole[:cut])
    assert sorted(merged.splitlines()) == sorted(whole.splitlines())
    assert [line for line in merged.splitlines() if line.startswith(b"a")] == [b"a 1", b"a 2", b"a 3", b"a 4"]
    told = [row.split(b"\t") for row in index.read_bytes().splitlines()[1:]]
    assert sum(int(row[3]) for row in told) == len(merged)


def test_parts_are_counted_as_one_log(tmp_path: Path) -> None:
    """Sizes and offsets go on over a rotation, and a reopened log knows its older parts."""
    log = Appender(tmp_path / "x.log", 4)
    for piece in (b"abcd", b"efgh", b"ij"):
        log.write(piece)
        if log.due:
            log.roll()
    log.close()
    assert [p.read_bytes() for p in parts(tmp_path / "x.log")] == [b"abcd", b"efgh", b"ij"]
    again = Appender(tmp_path / "x.log", 4)
    assert (again.size, again.read(8, 9)) == (10, b"ij")
    again.close()


def test_what_the_disk_refuses_waits_and_comes_when_there_is_room(
    tmp_path: Path, pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its order, with nothing lost as long as it fits into memory."""
    said: list[str] = []
    logs = Logs(tmp_path, STREAMS, say=said.append)
    room = [False]
    real, splice = os.write, os.splice

    def refused(handle: int, data: bytes) -> int:
        if not room[0] and handle != pipe[1]:
            raise OSError(28, "No space left on device")
        return real(handle, data)

    def refused_too(source: int, target: int, count: int, **more: int) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        return splice(source, target, count, **more)

    monkeypatch.setattr(os, "write", refused)
    monkeypatch.setattr(os, "splice", refused_too)
    for line in (b"one\n", b"two\n", b"three\n"):
        os.write(pipe[1], line)
        assert logs.take("stdout", pipe[0])
        logs.tend()
    assert logs.full
    room[0] = True
    logs.tend(last=True)
    logs.close()
    assert (tmp_path / "train.log").read_bytes() == (tmp_path / "stdout.log").read_bytes() == b"one\ntwo\nthree\n"
    assert [text.split(":")[0] for text in said] == [said[0].split(":")[0], "there is room on the disk again"]
    assert logs.lost == {}


def test_a_refused_write_tells_what_went_through() -> None:
    """The error carries the number of bytes."""
    assert RefusedError(3, OSError(28, "No space left on device")).done == 3
