"""The timeline with every progress record, of logs of which an analysis keeps only some."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from forensics.analyze import Collected, events, write_every_row
from forensics.engine import read
from forensics.timeline import Choice, Format, rows, table
from forensics.timeline import filter as chosen_of
from forensics.timeline import write as write_table

RANKS, STEPS = 3, 900
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small log is thinned as a large one is, and its rows come in many pieces."""
    monkeypatch.setattr(read, "STEP_CAP", 200)
    monkeypatch.setattr(rows, "ROWS", 250)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A log of three ranks, a packed one, and one that is kept whole; not all lines have a time."""
    lines = []
    for step in range(STEPS):
        time = f"2026-11-29 12:{step // 60:02d}:{step % 60:02d} " if step % 3 else ""
        lines += [f"{time}[rank{rank}]: step {step}/{STEPS} loss {2 + step % 7 / 10:.1f}\n" for rank in range(RANKS)]
        if step % 300 == 50:
            lines.append("node0:1:1 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed\n")
    (tmp_path / "a.log").write_text("".join(lines))
    (tmp_path / "b.log.gz").write_bytes(gzip.compress("".join(lines).encode()))
    (tmp_path / "c.log").write_text("".join(lines[:30]))
    return tmp_path


def written(said: Collected, form: Format, choice: Choice | None = None) -> tuple[bytes, int]:
    stream = io.BytesIO()
    count = write_every_row(said, form, stream, choice or Choice())
    return stream.getvalue(), count


def test_every_progress_record_is_a_row(run: Path) -> None:
    """In the order of files and lines, numbered, each with the time of the nearest line above."""
    said = events([str(run)])
    assert sorted(said.thinned) == ["a.log", "b.log.gz"]
    data, count = written(said, "parquet")
    frame = pl.read_parquet(io.BytesIO(data))
    assert len(frame) == count
    assert frame["order"].to_list() == list(range(count))
    assert frame.schema == table(said.events, said.steps, said.sources).schema
    places = frame.select("path", "line").rows()
    assert places == sorted(places)
    steps = frame.filter(pl.col("kind") == "step")
    assert steps.group_by("path", maintain_order=True).len()["len"].to_list() == [RANKS * STEPS, RANKS * STEPS, 30]
    first = steps.filter(pl.col("path") == "a.log")
    assert first["step"].to_list() == [step for step in range(STEPS) for _ in range(RANKS)]
    assert first["time"].is_sorted()
    assert first["time_from"].to_list()[:4] == ["none", "none", "none", "own"]
    assert "inherited" in first["time_from"].to_list()
    warned = frame.filter((pl.col("speaker") == "nccl") & (pl.col("path") == "a.log"))
    assert len(warned) == 3


def test_each_format_has_the_same_rows(run: Path) -> None:
    """CSV with one header, JSON as one array."""
    said = events([str(run)])
    frame = pl.read_parquet(io.BytesIO(written(said, "parquet")[0]))
    for form in ("csv", "json"):
        stream = io.BytesIO()
        write_table(frame, form, stream)
        found, count = written(said, form)
        assert count == len(frame)
        if form == "csv":
            assert found == stream.getvalue()
        else:
            assert json.loads(found) == json.loads(stream.getvalue())


@pytest.mark.parametrize(
    "choice", [Choice(rank=1), Choice(kind="nccl"), Choice(since=NOON.timestamp() + 300), Choice(rank=77)]
)
def test_rows_are_chosen_as_in_the_table(run: Path, choice: Choice) -> None:
    """By rank, kind and time; where nothing is chosen there are columns without rows."""
    said = events([str(run)])
    every = pl.read_parquet(io.BytesIO(written(said, "parquet")[0]))
    expected = chosen_of(every, rank=choice.rank, kind=choice.kind, since=choice.since)
    assert len(expected) < len(every)
    assert len(expected) > 0 or choice.rank == 77
    for form in ("parquet", "csv", "json"):
        data, count = written(said, form, choice)
        assert count == len(expected)
        if form == "parquet":
            assert pl.read_parquet(io.BytesIO(data)).drop("order").equals(expected.drop("order"))
        elif form == "json":
            assert len(json.loads(data)) == count
        else:
            assert data.count(b"\n") == count + 1


def test_a_small_run_is_there_whole(tmp_path: Path) -> None:
    """Nothing has to be read again where nothing was left out."""
    (tmp_path / "train.log").write_text("step 1/3 loss 2.5\nstep 2/3 loss 2.4\n")
    assert not events([str(tmp_path)]).thinned
