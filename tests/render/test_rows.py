"""The timeline for a person."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from forensics.render.rows import render


def row(**values: Any) -> dict[str, Any]:
    """Return a row as the timeline has it."""
    empty = dict.fromkeys(("time", "rank", "step", "memory_bytes", "message"))
    return {**empty, "path": "train.log", "line": 1, "speaker": "progress", "kind": "step", **values}


ROWS = [
    row(
        time="2026-11-29T12:00:00.000Z", step=1, message="step 1 loss 2.5 memory_bytes 4.83184e+08", memory_bytes=2**29
    ),
    row(time="2026-11-29T12:00:01.500Z", line=2, speaker="nccl", kind="warn", message="漢字 \x1b[31mred " * 40),
    row(path="a/very/long/path/to/some/rank_17_of_512.log", line=7, speaker="exception", kind="traceback", message="x"),
]


@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_row_keeps_its_line(width: int) -> None:
    """Every row is one line, none wider than the screen, without a control character."""
    lines = render(ROWS, width).splitlines()
    assert len(lines) == 4
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_a_screen_has_room_for_the_message() -> None:
    """On a screen the date stands once, empty columns go, and the step is not said twice."""
    head, first, *_ = render(ROWS, 80).splitlines()
    assert head.split() == ["2026-11-29", "UTC", "WHERE", "WHAT", "STEP", "MESSAGE"]
    assert first.split() == ["12:00:00.000", "train.log:1", "step", "1", "loss", "2.5", "memory", "512.00", "MiB"]


def test_without_a_screen_nothing_is_shortened() -> None:
    """For a pipe, times, places and speakers are whole."""
    lines = render(ROWS).splitlines()
    assert lines[0].startswith("TIME")
    assert lines[1].startswith("2026-11-29T12:00:00.000Z  train.log:1 ")
    assert "a/very/long/path/to/some/rank_17_of_512.log:7" in lines[3]
    assert "memory 512.00 MiB" in lines[1]


def test_days_are_told_apart() -> None:
    """Where rows are of several days, each bears its date."""
    lines = render([*ROWS, row(time="2026-11-30T01:00:00.000Z", message="y")], 80).splitlines()
    assert lines[-1].startswith("11-30 01:00:00")


def test_an_empty_timeline_is_its_heading() -> None:
    """Without rows there is the heading."""
    assert render([]) == "TIME  WHERE  WHAT  RANK  STEP  MESSAGE\n"
    assert render([], 80) == render([])
