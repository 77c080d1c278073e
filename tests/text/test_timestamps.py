"""The time at the start of a line, in every form that logs print."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.timestamps import leading_time

NOVEMBER = datetime(2026, 11, 29, 12, 50, 41, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("2026-11-29 12:50:41 | INFO | args", "INFO | args"),
        ("2026-11-29 12:50:41,000 - INFO - trainer - x", "INFO - trainer - x"),
        ("2026-11-29T12:50:41.000000Z kernel", "kernel"),
        ("2026-11-29T14:50:41+02:00 host kernel: x", "host kernel: x"),
        ("2026-11-29 12:50:41 UTC x", "x"),
        ("2026-11-29T12:50:41.000000000Z stdout F Traceback", "Traceback"),
        ("2026-11-29T12:50:41Z   File", "  File"),
        ("2026/11/29 12:50:41.000, 0, 4 MiB", ", 0, 4 MiB"),
        ("[2026-11-29 12:50:41,000] [INFO] x", "[INFO] x"),
        ("[2026-11-29 12:50:41 TP0] MLA", "MLA"),
        ("[2026-11-29 12:50:41,000][main.Trainer][INFO] - x", "[main.Trainer][INFO] - x"),
        ("Sun Nov 29 12:50:41 2026       ", "      "),
        ("Sun Nov 29 12:50:41 UTC 2026", ""),
        ("[Sun Nov 29 12:50:41 2026] NVRM: Xid", "NVRM: Xid"),
        ("Sun 2026-11-29 12:50:41 UTC host kernel: x", "host kernel: x"),
        ("Nov 29 12:50:41 host kernel: x", "host kernel: x"),
        ("E1129 12:50:41.000000000 ProcessGroupNCCL.cpp:684] x", "ProcessGroupNCCL.cpp:684] x"),
        ("W1129 12:50:41.000000 1145 torch/distributed/run.py:851] x", "1145 torch/distributed/run.py:851] x"),
        ("I20261129 12:50:41.000000  4242 solver.cpp:222] x", " 4242 solver.cpp:222] x"),
        ("[E1129 12:50:41.000000000 ProcessGroupNCCL.cpp:684] x", "x"),
        ("INFO 11-29 12:50:41 config.py:112] x", "config.py:112] x"),
        ("INFO 2026-11-29 12:50:41 | step 1", "step 1"),
        ("11/29/2026 12:50:41 - INFO - x", "INFO - x"),
        ("[11/29/26 12:50:41] INFO     x", "INFO     x"),
        ("11/29 12:50:41 - mmengine - INFO - x", "mmengine - INFO - x"),
        ("2026-11-29,12:50:41 | INFO | x", "INFO | x"),
        ("2026-11-29 12:50:41.000: do_dummy", "do_dummy"),
        ("2026-11-29 12:50:41,000 >> loading", "loading"),
        ("20261129 12:50:41 x", "x"),
        ("E0000 00:00:1795956641.000000   77 cuda_dnn.cc:8310] x", "  77 cuda_dnn.cc:8310] x"),
    ],
)
def test_a_time_gives_its_seconds_and_what_follows(line: str, rest: str) -> None:
    """Every form names the same moment; its brackets and one separator go with it, indentation stays."""
    time, taken = leading_time(line, year=2026)
    assert (time, line[taken:]) == (NOVEMBER, rest)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("12:55:19 step 3", "step 3"),
        ("[13:55:19] train step=0", "train step=0"),
        ("[12345.678901] NVRM: Xid", "NVRM: Xid"),
        ("[    0.000000] Linux version", "Linux version"),
        ("E1129 12:56:00.426210447 x", "x"),
        ("Nov 29 12:55:03 host x", "host x"),
        ("E0229 12:56:00.426210447 x", "x"),
    ],
)
def test_a_time_without_a_date_is_taken_off_but_tells_nothing(line: str, rest: str) -> None:
    """Times of day, seconds since boot, and dates whose year nobody knows have no place on the calendar."""
    time, taken = leading_time(line)
    assert time is None
    assert line[taken:] == rest


@pytest.mark.parametrize(
    "line",
    [
        "8304",
        "1774699333.304",
        "1774699333304 loss 3",
        "20261129",
        "2026 samples",
        "2026-11-29 - x",
        "2026-13-29 12:50:41 x",
        "2026-02-30 12:50:41 x",
        "12:34:56/100 [00:12<00:13]",
        "[00:12:33, 3.4it/s]",
        "[  12.5] x",
        "E1129",
        "INFO step 3",
        "Monday is a day",
        "Nov 2026",
        "May the 4th",
        "",
        "[",
        "  12:00:00 x",
    ],
)
def test_numbers_and_words_are_no_times(line: str) -> None:
    """A bare number is never a time, whatever its value; nor is a date alone, a duration, or an impossible day."""
    assert leading_time(line, year=2026) == (None, 0)


def test_a_local_time_is_shifted_and_a_zoned_one_is_not() -> None:
    """The offset of the user's zone applies only where the line names none."""
    assert leading_time("2026-11-29 12:50:41 x", utc_offset_s=3600)[0] == NOVEMBER - 3600
    assert leading_time("2026-11-29 12:50:41Z x", utc_offset_s=3600)[0] == NOVEMBER
    assert leading_time("2026-11-29 07:20:41-05:30 x", utc_offset_s=3600)[0] == NOVEMBER


def test_fractions_and_half_days_count() -> None:
    """Nanoseconds keep what a float can hold, and an afternoon is not a morning."""
    assert leading_time("2026-11-29 12:50:41,250 x")[0] == NOVEMBER + 0.25
    assert leading_time("Sun 29 Nov 2026 12:50:41 AM UTC")[0] == NOVEMBER - 12 * 3600


@given(st.text(max_size=60), st.one_of(st.none(), st.integers(1, 9999)))
def test_no_text_makes_it_raise_or_take_too_much(text: str, year: int | None) -> None:
    """Any text and year give a time or none, within the text."""
    time, taken = leading_time(text, year=year)
    assert 0 <= taken <= len(text)
    assert time is None or taken


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2199, 12, 31)),  # noqa: DTZ001 - zones are written into the line
    st.sampled_from(["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M:%S", "[%a %b %d %H:%M:%S %Y]"]),
)
def test_any_moment_is_read_back(moment: datetime, form: str) -> None:
    """What strftime writes is read as the same second."""
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert leading_time(moment.strftime(form) + " x")[0] == moment.timestamp()
