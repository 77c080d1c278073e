"""`timeline` from end to end."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.program import run, run_on_terminal

LOG = """\
2026-11-29 12:00:00 [rank0]: step 1/3 loss 2.5
2026-11-29 12:30:00 [rank1]: step 1/3 loss 2.4
2026-11-29 12:59:00 [rank0]: step 2/3 loss 2.3
2026-11-29 13:00:00 [rank1]: Traceback (most recent call last):
2026-11-29 13:00:00 [rank1]:   File "t.py", line 1, in <module>
2026-11-29 13:00:00 [rank1]: ValueError: \x1b[31mbad
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A run of two ranks with times."""
    (tmp_path / "train.log").write_text(LOG)
    return str(tmp_path)


def rows(*args: str) -> list[dict[str, str]]:
    """Return the rows that the program writes as CSV."""
    done = run("timeline", *args, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def test_rows_are_in_the_order_of_time(path: str) -> None:
    """Steps and what was said stand in one table, oldest first."""
    found = rows(path)
    times = [row["time"] for row in found]
    assert times == sorted(times)
    assert [row["step"] for row in found if row["kind"] == "step"] == ["1", "1", "2"]
    assert found[-1]["time"] == "2026-11-29T13:00:00.000Z"


def test_rank_and_kind_choose_rows(path: str) -> None:
    """`--rank` keeps one rank, `--kind` a kind or a speaker."""
    assert {row["rank"] for row in rows(path, "--rank", "1")} == {"1"}
    assert {row["kind"] for row in rows(path, "--kind", "step")} == {"step"}
    assert {row["speaker"] for row in rows(path, "--kind", "exception")} == {"exception"}


@pytest.mark.parametrize(
    ("since", "options", "first"),
    [
        ("2026-11-29T12:30", [], "12:30:00"),
        ("2026-11-29T14:00+01:30", [], "12:30:00"),
        ("2026-11-29 12:59:00", ["--tz", "Asia/Kolkata"], "07:29:00"),
        ("5m", [], "12:59:00"),
    ],
)
def test_since_takes_a_time_or_counts_back(path: str, since: str, options: list[str], first: str) -> None:
    """`--since` is a time, in UTC or the zone of `--tz` unless it names one, or counts back from the end."""
    assert rows(path, "--since", since, *options)[0]["time"] == f"2026-11-29T{first}.000Z"


def test_formats_hold_the_same_rows(path: str, tmp_path: Path) -> None:
    """CSV, JSON and Parquet hold the same rows; the table shows them without control characters."""
    target = tmp_path / "out.parquet"
    assert run("timeline", path, "--format", "parquet", "-o", str(target)).returncode == 0
    frame = pl.read_parquet(target)
    target.unlink()
    as_json = json.loads(run("timeline", path, "--format", "json").stdout)
    assert [row["line"] for row in as_json] == frame["line"].to_list() == [int(r["line"]) for r in rows(path)]
    table = run("timeline", path).stdout.decode()
    assert "ValueError" in table
    assert "\x1b" not in table


@pytest.mark.parametrize("since", ["yesterday", "12 parsecs", "2026-13-01"])
def test_what_is_no_time_is_refused(path: str, since: str) -> None:
    """A `--since` that is no time is one line with the forms it takes."""
    done = run("timeline", path, "--since", since)
    assert done.returncode == 2
    assert b"is no time; write" in done.stderr


def test_counting_back_needs_a_time(tmp_path: Path) -> None:
    """Counting back from the end is refused where no line tells a time."""
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    done = run("timeline", str(tmp_path), "--since", "5m")
    assert done.returncode == 2
    assert b"no line tells one" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kind", "stepp"], b"nothing is of kind stepp; there is "),
        (["--rank", "7"], b"nothing is of rank 7; there are ranks 0-1\n"),
        (["--rank", "0", "--kind", "exception"], b"nothing fits all the options together\n"),
    ],
)
def test_a_choice_of_nothing_says_what_there_is(path: str, options: list[str], said: bytes) -> None:
    """An option that fits no row is answered on stderr with those that would; the output stays in its format."""
    done = run("timeline", path, *options, "--format", "json")
    assert (done.returncode, done.stdout) == (0, b"[]\n")
    assert done.stderr.startswith(said)


def test_the_table_fits_a_terminal(path: str) -> None:
    """On a terminal no row is wider than the screen, and each still says something."""
    lines = run_on_terminal("timeline", path, COLUMNS="64").splitlines()
    assert max(map(len, lines)) <= 64
    assert lines[0].startswith("2026-11-29 UTC")
    assert "loss 2.5" in lines[1]


def test_every_record_of_a_large_log_is_for_programs(tmp_path: Path) -> None:
    """Parquet has them all, CSV on request, and a note tells their order; a table on the screen is no place for them."""
    steps = 25_000
    line = "2026-11-29 12:00:00,123 [rank0]: step {step}/{steps} loss 2.5 grad_norm 1.25 lr 1.0e-4 tokens/s 31000 "
    text = "".join(f"{line.format(step=step, steps=steps)}{'-' * 80}\n" for step in range(steps))
    (tmp_path / "train.log").write_text(text)
    few = rows(str(tmp_path), "--kind", "step")
    assert len(few) < steps
    whole = tmp_path.parent / f"{tmp_path.name}.parquet"
    done = run("timeline", str(tmp_path), "--kind", "step", "--format", "parquet", "-o", str(whole))
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(whole)["step"].to_list() == list(range(steps))
    assert b"not of time" in done.stderr
    assert b"evenly thinned" not in done.stderr
    assert rows(str(tmp_path), "--kind", "step", "--full")[-1]["step"] == str(steps - 1)
    assert run("timeline", str(tmp_path), "--full").returncode == 2
