"""Evidence made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from forensics.render.excerpt import cut, excerpt, focus
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


def test_a_line_is_never_broken() -> None:
    """A line keeps one row, in which what stands can be searched for in the file; blanks are where it is cut."""
    assert excerpt("a line of some words that is too long for the screen", 30, 3) == ["a line of some words…screen"]


LONG = "torch.OutOfMemoryError: " + "x" * 90 + " Tried to allocate 276.00 GiB on GPU 12." + " y" * 200 + " end of it"


@pytest.mark.parametrize(
    ("deciding", "kept"),
    [
        ((), "end of it"),
        (("276.00 GiB",), "allocate 276.00 GiB on"),
        (("2.00 GiB", "12"), "GPU 12."),
        (("end",), "end"),
    ],
)
def test_a_cut_keeps_the_deciding_words(deciding: tuple[str, ...], kept: str) -> None:
    """The beginning stays, and of the rest what decides; a number is not found inside another."""
    got = focus(LONG, 80, deciding)
    assert got.startswith("torch.OutOfMemoryError:")
    assert kept in got


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "W1129 12:43:33.835000 490 torch/_dynamo/convert_frame.py:1743] torch._dynamo hit config.x (8)",
            "torch._dynamo",
        ),
        (
            "/opt/venv/lib/python3.12/site-packages/torch/nn/a.py:1704: UserWarning: called without compile",
            "UserWarning",
        ),
        ("2026-11-29 12:00:00,123 - trainer.loop - INFO - the loader is slow and the GPUs wait", "the loader"),
    ],
)
def test_what_stands_before_a_message_goes_first(line: str, said: str) -> None:
    """Of a line too long, what a logger or Python put in front of the message is left out first."""
    assert focus(line, 60).startswith(f"…{said}")
    assert focus(line, 200) == line


@given(TEXT, st.integers(1, 60), st.lists(st.text(max_size=8), max_size=3))
def test_a_focused_line_fits(text: str, cells: int, deciding: list[str]) -> None:
    """Whatever decides, the line fits."""
    got = focus(text.replace("\n", " "), cells, deciding)
    assert cell_len(got) <= cells
    assert inert(got)
