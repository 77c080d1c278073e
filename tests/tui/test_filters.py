"""Which lines are shown."""

from __future__ import annotations

from array import array
from contextlib import closing
from threading import Event as Flag

import pytest

from forensics.model import Context, Source
from forensics.tui import hunt
from forensics.tui.filters import FilterError, parse
from tests.tui.screen import indexed, pages_of

LOG = b"""\
2026-11-29 12:50:00 [rank0] INFO step 1 loss 2.5
2026-11-29 12:50:01 [rank1] INFO step 1 loss 2.6
2026-11-29 12:50:02 [rank0] WARNING slow batch
2026-11-29 12:50:03 [rank1] ERROR boom
Traceback (most recent call last):
  File "train.py", line 3
RuntimeError: out of memory
NCCL INFO Channel 00
"""
CONTEXT = Context(Source("a.log", "training-log", len(LOG)))
SPOKEN = {"exception": frozenset({5, 6, 7}), "nccl": frozenset({8})}


def chosen(said: str, data: bytes = LOG) -> list[int]:
    """Return the numbers of the lines that a filter shows."""
    made = parse(said, [0, 1], list(SPOKEN))
    assert made is not None
    out = array("Q")
    with closing(indexed(pages_of(data))) as pages:
        hunt.choose(pages, made, CONTEXT, SPOKEN, out, Flag())
        return [pages.line_of(at) or 0 for at in out]


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("rank:0", [1, 3]),
        ("rank:0,1 -loss", [3, 4]),
        ("level:error", [4, 5, 7]),
        ("level:warn", [3]),
        ("-level:info", [3, 4, 5, 6, 7, 8]),
        ("speaker:exception", [5, 6, 7]),
        ("speaker:exception,nccl -traceback", [6, 7, 8]),
        ("-speaker:exception -rank:0,1", [8]),
        ("loss", [1, 2]),
        ("LOSS", []),
        ('"out of memory"', [7]),
        ("text:step rank:1", [2]),
        ("step loss -2.5", [2]),
    ],
)
def test_what_is_shown(said: str, lines: list[int]) -> None:
    """Of one kind any value will do, of each kind given one must fit, and what has a minus must not."""
    assert chosen(said) == lines


@pytest.mark.parametrize("said", ["", "  ", '""', "rank:"])
def test_nothing_said_shows_everything(said: str) -> None:
    """An empty filter is none."""
    assert parse(said) is None or said == "rank:"


@pytest.mark.parametrize(
    ("said", "why"),
    [("rank:x", "a rank is a number, not x"), ("rank:7", "there is no rank 7; there is 0, 1"),
     ("speaker:nobody", "there is no speaker nobody; there is nccl, exception")],
)  # fmt: skip
def test_what_is_wrong_is_told(said: str, why: str) -> None:
    """A rank or a speaker that does not exist is named, with those that do."""
    with pytest.raises(FilterError, match=why):
        parse(said, [0, 1], list(SPOKEN))


def test_a_walk_goes_on_where_it_ended() -> None:
    """What is written later is chosen too, and a last line that grew is judged anew."""
    made = parse("loss")
    assert made is not None
    out = array("Q")
    first = b"loss 1\nother\nlo"
    with closing(indexed(pages_of(first))) as pages:
        end = hunt.choose(pages, made, CONTEXT, {}, out, Flag())
    with closing(indexed(pages_of(first + b"ss 2\nloss 3\n"))) as pages:
        hunt.choose(pages, made, CONTEXT, {}, out, Flag(), start=end)
        assert [pages.line_of(at) for at in out] == [1, 3, 4]


def test_a_walk_that_is_stopped_tells_where() -> None:
    """A walk can be ended at any time and taken up again."""
    made = parse("x")
    assert made is not None
    data = b"x\n" * 2000
    stop, out = Flag(), array("Q")
    stop.set()
    with closing(indexed(pages_of(data))) as pages:
        end = hunt.choose(pages, made, CONTEXT, {}, out, stop)
        assert len(out) < 2000
        hunt.choose(pages, made, CONTEXT, {}, out, Flag(), start=end)
        assert list(out) == list(range(0, 4000, 2))


@pytest.mark.parametrize(
    ("said", "clock"),
    [
        ("12:50:02", "12:50:02"), ("12:50", "12:50:00"), ("2026-11-29T12:50:03", "12:50:03"),
        ("2026-11-29T12:50:03Z", "12:50:03"), ("-1s", "12:50:02"), ("+2", "12:50:02"), ("-10m", "12:50:00"),
        ("2026-11-29 13:50", "12:50:03"),
    ],
)  # fmt: skip
def test_a_time_is_found(said: str, clock: str) -> None:
    """The first line at or after a time; the last one with a time where all are earlier."""
    with closing(indexed(pages_of(LOG))) as pages:
        first, last = hunt.edges(pages, CONTEXT)
        wanted = hunt.moment(said, first, last)
        at = hunt.at_time(pages, CONTEXT, wanted)
        assert at is not None
        assert clock.encode() in LOG[at : LOG.index(b"\n", at)]


def test_a_time_among_lines_without_one() -> None:
    """Lines without a time between those that have one do not mislead the way there."""
    data = b"".join(b"2026-11-29 12:%02d:%02d x\n" % divmod(n, 60) + b"no time here\n" * 40 for n in range(600))
    with closing(indexed(pages_of(data))) as pages:
        first, last = hunt.edges(pages, CONTEXT)
        for second in (0, 1, 299, 598, 599):
            clock = b"12:%02d:%02d" % divmod(second, 60)
            at = hunt.at_time(pages, CONTEXT, hunt.moment(clock.decode(), first, last))
            assert at is not None
            assert data[at : at + 19] == b"2026-11-29 " + clock


def test_a_clock_past_midnight_is_the_next_day() -> None:
    """A time of day before the beginning is that of the next day, where the log goes on that long."""
    day = 1_800_000_000 // 86400 * 86400
    assert hunt.moment("01:00", day + 23 * 3600, day + 26 * 3600) == day + 25 * 3600
    assert hunt.moment("01:00", day + 2 * 3600, day + 3 * 3600) == day + 3600


@pytest.mark.parametrize("said", ["soon", "25 o'clock", "-1x"])
def test_no_time(said: str) -> None:
    """What is no time is told as such."""
    with pytest.raises(ValueError, match="no time"):
        hunt.moment(said, 0.0, 1.0)


def test_no_line_tells_a_time() -> None:
    """Without times there is nothing to count from, and nothing to find."""
    with closing(indexed(pages_of(b"a\nb\n"))) as pages:
        assert hunt.edges(pages, CONTEXT) == (None, None)
        assert hunt.at_time(pages, CONTEXT, 0.0) is None
    with pytest.raises(ValueError, match="no line here tells a time"):
        hunt.moment("-5m", None, None)
