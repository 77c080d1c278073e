"""What a screen shows of the bytes of a log."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from forensics.tui.paint import Escapes, fit, folds, from_cell, segments, show
from forensics.tui.plain import plain

NASTY = st.text(
    st.sampled_from("ab \t\x1b[]0;m\x07\x08\x00\r\u202e\u200d\u200b\ufe0f\u0301漢🏽👩é\x9b31m\u2028אب"), max_size=60
)
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(text=NASTY, escapes=st.sampled_from(list(Escapes)))
def test_nothing_shown_acts_on_a_terminal(text: str, escapes: Escapes) -> None:
    """Whatever a log holds, no control, bidirectional or joining character reaches the screen."""
    shown = show(text.encode("utf-8", "replace"), escapes).text
    assert not [character for character in shown if unicodedata.category(character) in ACTING]
    assert "\ufe0f" not in shown
    assert "🏽" not in shown


@given(data=st.binary(max_size=80), escapes=st.sampled_from(list(Escapes)))
def test_any_bytes_are_shown(data: bytes, escapes: Escapes) -> None:
    """No bytes raise, and the styles lie within the text."""
    shown = show(data, escapes)
    assert all(0 <= start < end <= len(shown.text) for start, end, _ in shown.spans)


@given(text=NASTY, width=st.integers(2, 20))
def test_no_fold_is_wider_than_the_screen(text: str, width: int) -> None:
    """Folded parts take at most the width, and add up to the text."""
    shown = show(text.encode(), Escapes.SPELLED).text
    parts = folds(shown, width, 1000)
    assert all(cell_len(shown[start:end]) <= width for start, end in parts)
    assert "".join(shown[start:end] for start, end in parts) == shown


def test_colours_are_shown_stripped_or_spelled_out() -> None:
    """Colours of the program become styles, or nothing, or pictures of what was written."""
    data = b"\x1b[1;31mERROR\x1b[0m: x \x1b[38;5;208mhot\x1b[38;2;1;2;3mrgb\x1b[m"
    shown = show(data)
    assert shown.text == "ERROR: x hotrgb"
    assert [(start, end) for start, end, _ in shown.spans] == [(0, 5), (9, 12), (12, 15)]
    assert (shown.spans[0][2].color, shown.spans[0][2].bold) == (Color.from_ansi(1), True)
    assert show(data, Escapes.STRIPPED).spans == ()
    assert show(data, Escapes.SPELLED).text.startswith("␛[1;31mERROR␛[0m: x")


@pytest.mark.parametrize(
    "hidden", [b"\x1b[8mseen\x1b[0m", b"\x1b[30;40mseen", b"\x1b[38;5;9;48;5;9mseen", b"\x1b[5mseen"]
)
def test_no_text_is_hidden(hidden: bytes) -> None:
    """Concealed, blinking, and text on its own colour are shown all the same."""
    shown = show(hidden)
    assert shown.text == "seen"
    for _, _, style in shown.spans:
        assert not style.conceal
        assert not style.blink
        assert style.color is None or style.color != style.bgcolor


def test_links_and_titles_are_taken_out() -> None:
    """A link of the log is no link on the screen."""
    shown = show(b"\x1b]8;;http://example.org\x07click\x1b]8;;\x07 \x1b]0;title\x07end")
    assert shown.text == "click end"
    assert not any(style.link for _, _, style in shown.spans)


def test_tabs_stand_where_they_did() -> None:
    """Tabs go to every eighth column, behind colours too."""
    assert show(b"a\tb").text == "a       b"
    assert show(b"\x1b[31mab\x1b[0m\tc").text == "ab      c"


def test_marks_without_end_are_spelled_out() -> None:
    """Two combining marks stay with their letter; a pile of them is written down, and a first one has no letter."""
    assert show("e\u0301\u0301\u0301x".encode()).text == "e\u0301\u0301\\u0301x"
    assert show("\u0301x".encode()).text == "\\u0301x"


def test_wide_characters_are_never_halved() -> None:
    """A wide character that does not fit goes to the next part."""
    assert folds("漢字x", 3, 9) == [(0, 1), (1, 3)]
    assert fit("ab漢", 0, 3) == 2
    assert from_cell("漢字x", 2) == 1


def test_styles_are_cut_with_their_text() -> None:
    """Parts of a text have the styles that lie in them."""
    made = segments(show(b"ab\x1b[31mcd\x1b[0mef"), 1, 5, Style(), [(4, 6, Style(bold=True))])
    red = Style(color=Color.from_ansi(1))
    assert made == [Segment("b", Style()), Segment("cd", red), Segment("e", Style(bold=True))]


def test_markup_is_text() -> None:
    """Square brackets of a log are brackets."""
    assert plain("[red]x[/red] [@click=app.quit]y[/]").plain == "[red]x[/red] [@click=app.quit]y[/]"
