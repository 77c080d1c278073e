"""Escape sequences: out of the text that is read, visible in the text that is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.ansi import strip, visible

HOSTILE = st.text(st.sampled_from("ab[]0;m\\ \x07\x08\x1b\x7f\x9b\x9c\x9d\x90\u202e\u200b\ufeff\t"), max_size=60)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[36m(TaskRunner pid=1)\x1b[0m hi", "(TaskRunner pid=1) hi"),
        ("\x1b[38;5;196mred\x1b[K", "red"),
        ("\x1b[4mGPU0\tGPU1\x1b[0m", "GPU0\tGPU1"),
        ("\x1b]8;;http://h\x07link\x1b]8;;\x1b\\ end", "link end"),
        ("\x1b]0;title\x07$ ls", "$ ls"),
        ("\x9b31mred", "red"),
        ("\x1b(B\x1b=done", "done"),
        ("1/10 [=>..]\x08\x08\x08\x082/10 [==>.]", "1/10 [=>..] 2/10 [==>.]"),
        ("\ufeffTraceback", "Traceback"),
        ("no escapes at all", "no escapes at all"),
        ("a\x00b\x07c", "abc"),
    ],
)
def test_escapes_and_controls_come_out(text: str, plain: str) -> None:
    """Colours, titles, links, character sets and stray controls go; the words and tabs stay."""
    assert strip(text) == plain


def test_an_unterminated_sequence_does_not_swallow_the_evidence() -> None:
    """A title that never ends, or a colour cut at the end of a line, loses its introducer only."""
    assert strip("\x1b]RuntimeError: CUDA error") == "RuntimeError: CUDA error"
    assert strip("loss 3.2\x1b[3") == "loss 3.2"
    assert strip("loss 3.2\x1b") == "loss 3.2"


def test_a_megabyte_of_introducers_is_read_at_once() -> None:
    """Hostile repetition costs one pass, whatever introducer is repeated."""
    for introducer in ("\x1b]", "\x9d", "\x1b[", "\x90", "\x1b"):
        assert len(strip(introducer * 500_000)) < 1_500_000


@given(HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    """After stripping, tabs and line feeds are the only control characters."""
    assert not [c for c in strip(text) if unicodedata.category(c) == "Cc" and c not in "\t\n"]


def test_dangerous_characters_are_shown_as_what_they_are() -> None:
    """Escapes have pictures; direction overrides and invisible characters their numbers; accents and tabs stay."""
    assert visible("a\x1b[31mb") == "a␛[31mb"
    assert visible("x\u202ey\u200bz") == "x\\u202ey\\u200bz"
    assert visible("naïve 100% ██ 日本") == "naïve 100% ██ 日本"
    assert visible("a\tb\nc") == "a\tb␊c"
    assert visible("a\tb", keep="") == "a␉b"
    assert visible("\udc80") == "\\udc80"


@given(st.text(max_size=60))
def test_shown_text_is_harmless_and_only_ever_grows(text: str) -> None:
    """No control, format or surrogate character is left, and text without any is unchanged."""
    shown = visible(text, keep="")
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert len(shown) >= len(text)
    assert visible(shown, keep="") == shown
