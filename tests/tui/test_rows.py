r"""Rows: lines, and the records that `\r` had overwritten."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from forensics.tui.rows import SHOWN, Row, Rows
from forensics.tui.viewport import Viewport
from tests.tui.screen import indexed, pages_of

TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"d e"]), max_size=14).map(b"".join)


def down(rows: Rows) -> list[Row]:
    """Return all rows, from the first on."""
    found, row = [], rows.first()
    while row is not None:
        found.append(row)
        row = rows.after(row)
    return found


def up(rows: Rows) -> list[Row]:
    """Return all rows, from the last one on."""
    found, row = [], rows.last()
    while row is not None:
        found.append(row)
        row = rows.before(row)
    return found


def records(data: bytes) -> list[tuple[int, bytes]]:
    r"""Return the records of a text: what stands between ends, and nothing between two `\r`."""
    found, at = [], 0
    for end in re.finditer(rb"\r*\n|\r+", data):
        piece = data[at : end.start()]
        if piece or end[0].endswith(b"\n"):
            found.append((at, piece))
        at = end.end()
    return found + ([(at, data[at:])] if data[at:] else [])


@given(data=TEXTS)
def test_rows_are_the_same_in_both_directions(data: bytes) -> None:
    """Walking up meets the rows that walking down met; numbers are those of an editor."""
    with closing(indexed(pages_of(data))) as pages:
        rows = Rows(pages)
        found = down(rows)
        assert up(rows) == found[::-1]
        assert [row.number for row in found] == list(range(1, (pages.lines or 0) + 1))


@given(data=TEXTS)
def test_unfolded_rows_are_the_records(data: bytes) -> None:
    """Unfolded, each record is a row, in both directions and from any byte of it."""
    with closing(indexed(pages_of(data))) as pages:
        rows = Rows(pages)
        rows.unfolded = True
        wanted = records(data)
        assert [(row.offset, row.data) for row in down(rows)] == wanted
        assert up(rows) == down(rows)[::-1]
        for offset, piece in wanted:
            for at in range(offset, offset + len(piece)):
                row = rows.at(at)
                assert row is not None
                assert row.offset == offset


def test_of_a_line_that_was_rewritten_the_last_record_is_shown() -> None:
    """A progress bar shows where it stopped, and how often it was drawn."""
    data = b"start\n" + b"\r".join(b"step %d" % n for n in range(1, 58)) + b"\r\nend\n"
    with closing(indexed(pages_of(data))) as pages:
        bar = down(Rows(pages))[1]
        assert (bar.data, bar.records, bar.number) == (b"step 57", 57, 2)


def test_a_bar_of_megabytes_is_read_at_its_end_only() -> None:
    """Of a long line that was rewritten, the last record is found without reading the line."""
    data = b"\r".join(b"%06d/900000 [loss 2.5]" % n for n in range(60_000)) + b"\n"
    with closing(indexed(pages_of(data))) as pages:
        (bar,) = down(Rows(pages))
        assert (bar.data, bar.records) == (b"059999/900000 [loss 2.5]", -1)


def test_of_a_long_line_only_the_beginning_is_read() -> None:
    """A line of megabytes is cut, and the row says how much is missing."""
    with closing(indexed(pages_of(b"x" * (3 << 20) + b"\nend\n"))) as pages:
        first, last = down(Rows(pages))
        assert (len(first.data), first.cut) == (SHOWN, (3 << 20) - SHOWN)
        assert (last.data, last.number) == (b"end", 2)


def test_only_the_chosen_lines() -> None:
    """A filter leaves rows out, and their numbers stay."""
    with closing(indexed(pages_of(b"a\nb\nc\nd\n"))) as pages:
        rows = Rows(pages)
        rows.only = array("Q", [2, 6])
        assert [(row.data, row.number) for row in down(rows)] == [(b"b", 2), (b"d", 4)]
        assert up(rows) == down(rows)[::-1]
        near = rows.at(5)
        assert near is not None
        assert near.data == b"b"


@given(
    data=TEXTS,
    moves=st.lists(st.sampled_from(["down", "up", "page", "back", "home", "end", "scroll", "go"]), max_size=12),
    height=st.integers(1, 5),
    folds=st.integers(1, 3),
)
def test_the_window_always_holds_the_cursor(data: bytes, moves: list[str], height: int, folds: int) -> None:
    """However one moves, the cursor is in the window, and the window is as full as the text allows."""
    with closing(indexed(pages_of(data))) as pages:
        rows = Rows(pages)
        view = Viewport(rows, lambda row: 1 + len(row.data) % folds)
        view.height = height
        steps: dict[str, Callable[[], None]] = {
            "down": lambda: view.step(1), "up": lambda: view.step(-1), "page": lambda: view.page(1),
            "back": lambda: view.page(-1), "home": view.home, "end": view.end, "scroll": lambda: view.scroll(2),
            "go": lambda: view.go(len(data) // 2),
        }  # fmt: skip
        every = down(rows)
        for move in moves:
            steps[move]()
            shown = view.lines()
            assert len(shown) <= height
            assert not every or any(place.row.offset == view.cursor for place in shown)
            total = sum(view.folded(row) for row in every)
            if move != "home":
                assert len(shown) == min(height, total)


def test_the_cursor_moves_by_rows_and_the_window_by_lines() -> None:
    """One step is one row; a page leaves two lines to find one's place by."""
    with closing(indexed(pages_of(b"".join(b"%d\n" % n for n in range(1, 101))))) as pages:
        view = Viewport(Rows(pages))
        view.height = 10
        view.step(3)
        assert view.row is not None
        assert view.row.data == b"4"
        view.page(1)
        assert view.lines()[0].row.data == b"9"
        view.end()
        assert view.lines()[-1].row.data == b"100"
        view.home()
        assert (view.top, view.cursor) == (0, 0)
