"""Statuses that somebody wrote down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.exit_status import PARSER


def parse(data: bytes) -> list[Event]:
    return list(PARSER.parse(data, Context(Source("exit_code", "exit-code", len(data)))))


@pytest.mark.parametrize(
    ("data", "code", "signal"),
    [
        (b"0\n", 0, None),
        (b"1", 1, None),
        (b"137\n", 137, 9),
        (b"139", 139, 11),
        (b"143\r\n", 143, 15),
        (b"-9\n", -9, 9),
        (b"-6", -6, 6),
        (b"255\n", 255, None),
        (b"\n\n124\n", 124, None),
        (b"exit code: 137\n", 137, 9),
        (b"EXIT_CODE=1", 1, None),
        (b'{"exit_code": 137, "signal": 9}', 137, 9),
        (b'{"exit_code": null, "signal": 11}', -11, 11),
        (b'{"returncode": -15}', -15, 15),
        (b"0\n\0\0\0", 0, None),
        (b"$ echo $?\n0\n", 0, None),
        (b"ml@gpu3:~/runs$ echo $?\n137\n", 137, 9),
    ],
)
def test_a_status_is_read_with_the_signal_in_it(data: bytes, code: int, signal: int | None) -> None:
    """The shell's 128 + n, Python's -n, a supervisor's JSON."""
    (event,) = parse(data)
    assert (event.speaker, event.kind) == ("status", "exit")
    assert (event.fields["exit_code"], event.fields.get("signal")) == (code, signal)


def test_the_line_of_the_status_is_cited() -> None:
    """Blank lines before it count."""
    assert parse(b"\n\n124\n")[0].line == 3


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"done", b"999", b"{}", b'{"exit_code": true}', b"[1]", b"12 13", b"\xff\xfe", b"$ echo $?\n"]
)
def test_what_is_no_status_gives_nothing(data: bytes) -> None:
    """Words, other JSON, a number that no status can be."""
    assert parse(data) == []


@given(data=st.binary(max_size=60))
def test_any_bytes_give_a_status_or_nothing(data: bytes) -> None:
    """A file that is not what its name says raises nothing."""
    assert len(parse(data)) <= 1
