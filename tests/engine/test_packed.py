"""A packed log that several processes unpack says what the same log says as it is."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analyze import analyze, examine
from forensics.engine import executor, read
from forensics.render.json_v1 import to_json
from forensics.scan import Part, StreamPart, split, split_stream
from forensics.sources import Watch, find
from forensics.sources.watch import STOPPED
from tests.engine.test_parts import log
from tests.packing import zstd

TEXT = log(3_000)
STEPS = b"".join(b"step %d loss %d.%d\n" % (i, i * 7919 % 13, i * 104729 % 9973) for i in range(300_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstd.compress}
every_packer = pytest.mark.parametrize("suffix", PACKERS)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(st.text("ab\n\r", max_size=60).map(str.encode), st.integers(1, 7), st.integers(1, 5), st.integers(0, 90))
def test_parts_of_a_stream_are_its_bytes(data: bytes, size: int, count: int, guess: int) -> None:
    """However it comes in pieces and whatever its size was thought to be; each part begins with a line."""
    found = []
    for index in range(count):
        part = Part(index, count, index * guess // count, (index + 1) * guess // count)
        reader = StreamPart(pieces(data, size), part)
        own = b"".join(reader.pieces())
        assert data[reader.start :].startswith(own)
        assert reader.start == 0 or data[reader.start - 1 : reader.start] in {b"\n", b""} or reader.start == len(data)
        assert reader.last or data == data[: reader.start] + own + b"".join(reader.beyond())
        found.append((own, reader.last))
    assert b"".join(own for own, _ in found) == data
    assert found[-1][1]
    assert not any(own for (_, last), (own, _) in pairwise(found) if last)


@given(st.integers(0, 1 << 45))
def test_a_stream_has_few_parts(size: int) -> None:
    """The last one begins behind all others, which have to be unpacked for it."""
    assert 1 <= len(split_stream(size)) <= 2


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small log is read as a large one is."""
    monkeypatch.setattr(read, "STEP_CAP", 400)


def parted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("split", "split_stream"):
        monkeypatch.setattr(read, name, lambda _size: split(len(TEXT), len(TEXT) // 3))


def report(path: Path, **options: Any) -> str:
    """Return the report in JSON without the name of the log."""
    return re.sub(r"train\.log(\.\w+)?", "train.log", to_json(examine([str(path)], **options).report).decode())


def reading_ahead() -> list[str]:
    """Return the threads that still unpack, of all there are."""
    return [thread.name for thread in threading.enumerate() if thread.name == "reading-ahead"]


@every_packer
def test_a_packed_log_says_what_it_says_unpacked(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts or not, in one process or in several, byte for byte."""
    parted(monkeypatch)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (plain := tmp_path / "a" / "train.log").write_bytes(TEXT)
    (packed := tmp_path / "b" / f"train.log.{suffix}").write_bytes(PACKERS[suffix](plain.read_bytes()))
    monkeypatch.setattr(read, "local", lambda _total: executor.Forked(2))
    assert (expected := report(plain).replace("/a/", "/b/")) == report(packed)
    monkeypatch.setattr(read, "local", lambda _total: executor.Serial())
    assert expected == report(packed)
    assert "memory.gpu-oom" in expected
    assert not reading_ahead()


@every_packer
@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_cut_log_is_told_as_cut(suffix: str, kept: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whichever part it ends: the lines before the cut are counted, the end is said to be missing."""
    data = PACKERS[suffix](TEXT)
    (path := tmp_path / f"train.log.{suffix}").write_bytes(data[: int(len(data) * kept)])
    monkeypatch.setattr(read, "local", lambda _total: executor.Serial())
    expected = analyze([str(path)]).sources
    monkeypatch.setattr("forensics.sources.describe.AT_ONCE", 0)  # as a large one: its size is a guess
    parted(monkeypatch)
    assert analyze([str(path)]).sources == expected
    assert expected[0].state == "cut"
    assert "ends too early" in expected[0].why


@every_packer
def test_the_size_of_a_packed_log_is_reckoned(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first quarter of a megabyte, within a fifth."""
    monkeypatch.setattr("forensics.sources.describe.AT_ONCE", 0)
    (path := tmp_path / f"train.log.{suffix}").write_bytes(PACKERS[suffix](STEPS))
    (item,) = find([str(path)]).inputs
    assert not item.measured
    assert abs(item.reckoned() - len(STEPS)) < len(STEPS) / 5


def test_parts_that_are_unpacked_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before a part was read for another one; all together it is what the log takes."""
    parted(monkeypatch)
    monkeypatch.setattr("forensics.sources.describe.AT_ONCE", 0)
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(STEPS))
    monkeypatch.setattr(read, "local", lambda _total: executor.Forked(2))
    watch = Watch()
    analyze([str(tmp_path)], watch=watch)
    assert watch.seen == watch.expected == (tmp_path / "train.log.gz").stat().st_size


def test_a_stop_ends_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report says in which part, and judges nothing."""

    class Stops(Watch):
        def saw(self, count: int) -> None:
            super().saw(count)
            self.stop()

    parted(monkeypatch)
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(TEXT))
    monkeypatch.setattr(read, "local", lambda _total: executor.Serial())
    found = analyze([str(tmp_path)], watch=Stops())
    assert f"{STOPPED} in part 1 of 3" in found.sources[0].why
    assert (found.verdict, found.sources[0].read) == ("unknown", "partial")
    assert not reading_ahead()
