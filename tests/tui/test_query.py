"""What is searched for, and where it is found."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources import pages
from forensics.tui import query
from forensics.tui.hunt import Hit, search
from forensics.tui.query import ERRORS, PatternError, Query, TooSlowError
from tests.tui.screen import indexed, pages_of

LOG = b"one\nERROR two\nthree \x1b[31mer\x1b[0mror\nfour\nf\xc3\xa9e\nstep 1\rstep 2\nend"


def test_lower_case_finds_both_and_a_capital_is_meant() -> None:
    """`error` finds ERROR; `Error` does not."""
    assert Query("error").spans("an ERROR") == [(3, 8)]
    assert Query("Error").spans("an ERROR") == []


def test_words_are_no_pattern_and_patterns_are() -> None:
    """Dots are dots unless a pattern is asked for."""
    assert Query("a.c").spans("abc a.c") == [(4, 7)]
    assert Query("a.c", is_regex=True).spans("abc a.c") == [(0, 3), (4, 7)]


@pytest.mark.parametrize("wrong", ["(", "[a", "*", "(?P<x"])
def test_no_pattern(wrong: str) -> None:
    """What is no pattern is told as such."""
    with pytest.raises(PatternError):
        Query(wrong, is_regex=True).check()


def found(sought: Query, data: bytes, start: int = 0, *, back: bool = False) -> Hit | None:
    """Search some bytes."""
    with closing(indexed(pages_of(data))) as read:
        return search(read, sought, start, back=back)


@pytest.mark.parametrize(
    ("words", "line"),
    [("error", 1), ("ERROR", 1), ("error ", 1), ("fée", 4), ("FÉE", 4), ("step 2", 5), ("step 1", 5), ("end", 6)],
)
def test_the_next_line_that_holds_it(words: str, line: int) -> None:
    """Words are found in any line, with their accents, and in records that were overwritten."""
    hit = found(Query(words.lower() if words == "FÉE" else words), LOG)
    assert hit is not None
    assert LOG.count(b"\n", 0, hit.offset) == line


def test_colours_do_not_hide_words() -> None:
    """Words are found though a colour begins in the middle of them."""
    hit = found(Query("three error"), LOG)
    assert hit is not None
    assert LOG[hit.offset :].startswith(b"three")


def test_a_search_goes_round() -> None:
    """Behind the last one comes the first, and the hit says so; backward as well."""
    log = b"x 1\ny\nx 2\ny\n"
    assert found(Query("x"), log, 6) == Hit(0, around=True)
    assert found(Query("x"), log, 0) == Hit(6)
    assert found(Query("x"), log, 0, back=True) == Hit(6, around=True)
    assert found(Query("x"), log, 10, back=True) == Hit(6)
    assert found(Query("zzz"), log) is None
    assert found(Query("x 1"), b"x 1\n") == Hit(0, around=True)


@given(
    data=st.lists(st.sampled_from([b"foo", b"bar", b" ", b"\n", b"x", b"\xff"]), max_size=20).map(b"".join),
    pattern=st.sampled_from(
        [r"foo", r"^bar", r"foo$", r"fo+ ?b", r"foo\s*bar", r"foo(?!\s*bar)", r"[^x]foo", r"\bx", r"x*+$"]
    ),
)
def test_many_lines_at_once_find_what_each_line_finds(data: bytes, pattern: str) -> None:
    """A pattern is tried on many lines at once where that cannot change the answer, and the answer is the same."""
    sought = Query(pattern, is_regex=True)
    alone = []
    at = 0
    for part in data.split(b"\n"):
        if at < len(data) and sought.holds(query.text_of(part)):
            alone.append(at)
        at += len(part) + 1
    assert list(sought.lines(data)) == alone
    assert list(sought.lines(data, last_first=True)) == alone[::-1]


def test_a_pattern_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern with exponential cost ends in a word about where, not in a frozen screen."""
    monkeypatch.setattr(query, "PATIENCE_S", 0.2)
    with pytest.raises(TooSlowError):
        found(Query("(a|a|aa)+$", is_regex=True), b"x\n" + b"a" * 60 + b"!\n")
    assert Query("(a|a|aa)+$", is_regex=True).spans("a" * 60 + "!") == []


def test_a_search_walks_over_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hit far away is found in both directions."""
    monkeypatch.setattr(pages, "STEP", 1 << 12)
    log = b"needle\n" + b"hay\n" * 9000 + b"needle\n" + b"hay\n" * 9000
    middle = log.rindex(b"needle")
    assert found(Query("needle"), log, 7) == Hit(middle)
    assert found(Query("needle"), log, len(log) - 4, back=True) == Hit(middle)
    assert found(Query("needle"), log, middle, back=True) == Hit(0)


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):", "torch.OutOfMemoryError: CUDA out of memory", "2026 ERROR boom",
        "RuntimeError: x", "[rank3]:[E1129 12:00:00 ProcessGroupNCCL.cpp:1] x", "Segmentation fault (core dumped)",
        "NVRM: Xid (PCI:0000:01:00): 79",
    ],
)  # fmt: skip
def test_lines_of_errors(line: str) -> None:
    """The key for the next error stops at what programs, drivers and shells print."""
    assert Query(ERRORS, is_regex=True).holds(line)


@pytest.mark.parametrize("line", ["step 1 loss 2.5", "error_rate 0.1", "saved checkpoint", "level=INFO", "0 errors"])
def test_lines_of_no_error(line: str) -> None:
    """Metrics and words about errors are passed over."""
    assert re.search(ERRORS, line) is None
