"""Evidence made to fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from forensics.render.excerpt import cut, excerpt
from tests.render.reports import inert

TEXT = st.text(alphabet=st.characters() | st.sampled_from(" \t\r\nabc漢字é\u0301🎉\x1b"), max_size=300)


@given(TEXT, st.integers(4, 60), st.integers(1, 6))
def test_an_excerpt_fits(text: str, cells: int, rows: int) -> None:
    """Any text becomes at most so many printable rows of at most so many cells."""
    got = excerpt(text, cells, rows)
    assert 1 <= len(got) <= max(rows, 2)
    assert all(cell_len(row) <= cells for row in got)
    assert inert("\n".join(got))


@given(st.text(alphabet="ab 漢", max_size=200), st.integers(1, 60))
def test_a_cut_line_fits_and_a_short_one_is_left_alone(text: str, cells: int) -> None:
    """A line is cut only where it must be."""
    got = cut(text, cells)
    assert cell_len(got) <= cells
    assert got == text or cell_len(text) > cells


def test_middle_lines_are_counted() -> None:
    """Of many lines the first and the last are kept and those between are counted."""
    text = "\n".join(f"line {n}" for n in range(20))
    assert excerpt(text, 40, 5) == ["line 0", "line 1", "… 16 lines", "line 18", "line 19"]


def test_one_row_shows_the_last_line() -> None:
    """With one row to fill, a traceback shows what it ends in, and a table more than its border."""
    assert excerpt("+----+\n| 12 |\n+----+", 40, 1) == ["| 12 |"]
    assert excerpt("Traceback:\n  File\nValueError: no\n", 40, 1) == ["ValueError: no"]


def test_a_line_breaks_at_its_spaces() -> None:
    """A line that needs more rows is broken between words."""
    assert excerpt("aaaa bbbb cccc dddd", 11, 3) == ["aaaa bbbb", "cccc dddd"]
