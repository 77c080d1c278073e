"""The training core under the supervisor: it fails for real, is named, is tried again, and goes on exactly where it stopped."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import ROOT, run
from tests.live import supervised

CORE = ROOT / "samples" / "training_core" / "train.py"
STEP = re.compile(r"\[(drafter \d+)\] step (\d+)/\d+ \| loss (\S+) ")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
]


def core(*options: str) -> tuple[str, ...]:
    """Return the command of a small training."""
    return (sys.executable, str(CORE), "--steps", "12", "--every", "3", *options)


def analyze(folder: Path) -> dict[str, Any]:
    """Return the report on a folder."""
    report: dict[str, Any] = json.loads(run("analyze", str(folder), "--format", "json").stdout)
    return report


def losses(folder: Path, number: int) -> dict[tuple[str, int], str]:
    """Return the loss of each drafter at each step that an attempt printed."""
    text = (folder / f"attempt-{number:03d}" / "train.log").read_text()
    return {(lane, int(step)): loss for lane, step, loss in STEP.findall(text)}


def test_a_killed_core_is_relaunched_and_its_curve_goes_on_exactly(tmp_path: Path) -> None:
    """The same losses as a run that nobody killed, from the step after the checkpoint on."""
    whole = tmp_path / "whole"
    assert run("run", "--run-dir", str(whole), "--", *core()).returncode == 0
    folder, kept = tmp_path / "runs", str(tmp_path / "kept")
    fails = ("--checkpoints", kept, "--fail", "kill", "--fail-step", "8", "--fail-once", str(tmp_path / "failed"))
    assert run("run", "--run-dir", str(folder), "--", *core(*fails)).returncode == 137
    report = analyze(folder)
    assert next(f["id"] for f in report["findings"] if f["role"] == "root") == "host.killed-signal"
    done = run("relaunch", str(folder), "--resume-option", "--resume", "--yes")
    assert done.returncode == 0, done.stderr
    record = supervised.record(folder, 2)["relaunch"]
    expected, second = losses(whole, 1), losses(folder, 2)
    assert min(step for _, step in second) == record["checkpoint_step"]
    assert second == {key: loss for key, loss in expected.items() if key in second}
    assert analyze(folder)["verdict"] == "healthy"


@pytest.mark.parametrize(
    ("fails", "mends"),
    [
        (("--fail", "bad-token", "--fail-step", "5"), "--bad-tokens=skip"),
        (("--attention", "dense"), "--attention=eager"),
    ],
    ids=["a bad token id", "dense attention refused"],
)
def test_a_failed_core_runs_again_only_when_something_is_changed(
    tmp_path: Path, fails: tuple[str, ...], mends: str
) -> None:
    """Refused as it is or of unknown help; with the option that mends it, it finishes."""
    folder = tmp_path / "runs"
    command = core(*fails, "--checkpoints", str(tmp_path / "kept"))
    assert run("run", "--run-dir", str(folder), "--", *command).returncode not in {0, 2}
    assert analyze(folder)["verdict"] == "failed"
    plan = run("relaunch", str(folder), "--resume-option", "--resume")
    assert b"Will it help: yes" not in plan.stdout
    done = run("relaunch", str(folder), "--resume-option", "--resume", "--arg", mends, "--yes")
    assert done.returncode == 0, done.stderr
    assert analyze(folder)["verdict"] == "healthy"
