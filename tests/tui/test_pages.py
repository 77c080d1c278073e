"""Random access to the lines of a source."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources import Input, find, pages
from forensics.sources.pages import Pages
from tests.tui.screen import indexed, pages_of

BYTES = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"b\n", b"\n\n", b"long" * 9, "é".encode(), b"\xff"])).map(
    b"".join
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that every text has many."""
    monkeypatch.setattr(pages, "BLOCK", 8)
    monkeypatch.setattr(pages, "STEP", 16)
    monkeypatch.setattr(pages, "KEPT_BLOCKS", 3)


def starts(data: bytes) -> list[int]:
    """Return where the lines of a text begin."""
    found, at = [], 0
    for part in data.split(b"\n"):
        found.append(at)
        at += len(part) + 1
    return [at for at in found if at < len(data)]


@given(data=BYTES)
def test_numbers_and_places_of_lines_agree(data: bytes) -> None:
    """Each line is found by its number, and each byte tells the number of its line."""
    with closing(indexed(pages_of(data))) as read:
        begins = starts(data)
        assert read.lines == len(begins)
        assert [read.offset_of(number) for number in range(1, len(begins) + 1)] == begins
        assert read.offset_of(len(begins) + 1) is None
        assert read.offset_of(0) is None
        for at in range(len(data)):
            number = read.line_of(at)
            assert number == data.count(b"\n", 0, at) + 1
            assert read.line_start(at) == begins[number - 1]
            end = data.find(b"\n", at)
            assert read.line_end(at) == (end if end >= 0 else len(data))


@given(data=BYTES, start=st.integers(0, 20))
def test_walks_hand_over_whole_lines(data: bytes, start: int) -> None:
    """Forward and backward, pieces of whole lines add up to the text."""
    with closing(indexed(pages_of(data))) as read:
        begins = starts(data)
        at = begins[min(start, len(begins) - 1)] if begins else 0
        forward = list(read.forward(at))
        assert b"".join(block for _, block in forward) == data[at:]
        backward = list(read.backward(at))
        assert b"".join(block for _, block in reversed(backward)) == data[:at]
        for offset, block in (*forward, *backward):
            assert data[offset : offset + len(block)] == block
            assert offset in begins


@given(data=BYTES)
def test_a_line_is_found_before_the_index_is_complete(data: bytes) -> None:
    """Asking for a line indexes as far as it takes, and the end is there at once."""
    begins = starts(data)
    if not begins:
        return
    with closing(pages_of(data)) as read:
        middle = len(begins) // 2
        assert read.offset_of(middle + 1) == begins[middle]
        assert read.indexed <= begins[middle] + 3 * 16


def test_the_end_needs_no_index(tmp_path: Path) -> None:
    """The last lines are read backwards, and their numbers are not known yet."""
    data = b"".join(b"line %d\n" % number for number in range(1000))
    with closing(pages_of(data, tmp_path)) as read:
        last = read.line_start(len(data) - 1)
        assert last is not None
        assert data[last:] == b"line 999\n"
        assert read.line_of(last) is None
        assert read.lines is None
        assert indexed(read).line_of(last) == 1000


def test_a_file_that_grows(tmp_path: Path) -> None:
    """What is written later is there after a look, with its numbers."""
    with closing(indexed(pages_of(b"one\ntw", tmp_path))) as read:
        assert read.refresh() == "same"
        with (tmp_path / "a.log").open("ab") as file:
            file.write(b"o\nthree\n")
        assert read.refresh() == "grown"
        indexed(read)
        assert read.lines == 3
        assert read.offset_of(3) == 8
        assert read.read(4, 4) == b"two\n"


@pytest.mark.parametrize("how", ["shorter", "another"])
def test_a_file_that_is_another_one_now(tmp_path: Path, how: str) -> None:
    """A file that was cut or replaced is read anew, from its beginning."""
    with closing(indexed(pages_of(b"one\ntwo\n" * 9, tmp_path))) as read:
        if how == "another":
            (tmp_path / "b.log").write_bytes(b"new\n" * 30)
            (tmp_path / "b.log").rename(tmp_path / "a.log")
        else:
            (tmp_path / "a.log").write_bytes(b"new\n")
        assert read.refresh() == "new"
        indexed(read)
        assert read.read(0, 4) == b"new\n"
        assert read.lines == (30 if how == "another" else 1)


def test_what_is_packed_is_unpacked_once(tmp_path: Path) -> None:
    """A packed log is read like any other."""
    data = b"".join(b"step %d\n" % number for number in range(500))
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(data))
    with closing(Pages(find([str(tmp_path)]).inputs[0])) as read:
        assert read.offset_of(400) == data.index(b"step 399\n")
        assert indexed(read).lines == 500


def test_a_copy_has_a_limit_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what unpacks without end only the beginning is kept, and the note says how much."""
    monkeypatch.setattr(pages, "MOST_UNPACKED", 3 << 20)
    made = Input.from_bytes("bomb.gz", gzip.compress(b"0\n" * (5 << 20)))
    monkeypatch.setattr(pages, "STEP", 1 << 20)
    monkeypatch.setattr(pages, "BLOCK", 1 << 16)
    with closing(indexed(Pages(made))) as read:
        assert read.size == 3 << 20
        assert "only the first 3 MiB were unpacked" in read.note


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that has gone is empty, and the note says why."""
    (tmp_path / "a.log").write_bytes(b"x\n")
    made = find([str(tmp_path)]).inputs[0]
    (tmp_path / "a.log").unlink()
    with closing(Pages(made)) as read:
        assert read.size == 0
        assert "no such file" in read.note


def test_closed_pages_are_empty(tmp_path: Path) -> None:
    """A walk that is under way when the source is closed ends."""
    read = pages_of(b"one\n" * 100, tmp_path)
    walk = read.forward(0)
    next(walk)
    read.close()
    assert list(walk) == []
    assert not read.advance()
