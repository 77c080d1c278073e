"""The analysis in a process of its own."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forensics.analyze import Analysis, examine
from forensics.tui.job import Failure, Job, Progress
from tests.cli.program import OOM, ROOT


def test_the_analysis_comes_whole() -> None:
    """What the other process hands over is what an analysis here would be."""
    sample = str(ROOT / "samples" / "010-collective-mismatch" / "run")
    *_, made = Job([sample]).said()
    assert isinstance(made, Analysis)
    here = examine([sample])
    assert made.report == here.report
    assert made.events == here.events
    assert len(made.steps) == len(here.steps)


def test_it_says_how_far_it_is(tmp_path: Path) -> None:
    """Of a larger log the bytes that were read are told, packed ones too."""
    log = "".join(f"2026-11-29 12:00:00 step {n}/900000 loss 2.5\n" for n in range(200_000))
    (tmp_path / "a.log").write_text(log)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(log.encode(), 1))
    *progress, made = Job([str(tmp_path)]).said()
    assert isinstance(made, Analysis)
    seen = [one for one in progress if isinstance(one, Progress)]
    assert len(seen) == len(progress)
    assert seen
    assert min(one.done for one in seen) > 0
    assert min(one.total for one in seen) >= len(log)


@pytest.mark.parametrize("what", ["path", "rules"])
def test_what_it_was_given_is_wrong(tmp_path: Path, what: str) -> None:
    """A path that has gone, and a rule that does not load, are no bugs."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y.toml").write_text("title = ")
    (tmp_path / "train.log").write_text(OOM)
    job = Job([str(tmp_path / "gone")]) if what == "path" else Job([str(tmp_path / "train.log")], [str(tmp_path)])
    *_, said = job.said()
    assert isinstance(said, Failure)
    assert not said.is_bug
    assert ("gone" if what == "path" else "y.toml") in said.why


def test_a_process_that_dies_is_told() -> None:
    """An analysis that the kernel killed is no silence."""
    job = Job([str(ROOT / "samples" / "001-story" / "run")])
    job._process.kill()
    *_, said = job.said()
    assert said == Failure("the analysis ended without an answer (status -9)", is_bug=True)


def test_it_can_be_stopped() -> None:
    """Stopping ends the process, twice as well as once."""
    job = Job([str(ROOT / "samples" / "001-story" / "run")])
    job.stop()
    assert not job._process.is_alive()
    job.stop()
