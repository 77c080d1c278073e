"""The probe of the first compile: what it says where there is no torch, no GPU, no interpreter, and where it runs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from forensics.supervise.hostcheck import probed
from forensics.supervise.probe import Probe, Shape, Trial, asked, probe

SMALL = Shape(threads=3, heads=2, head_dim=16, ctx=128, anchors=16, block_size=8)
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


def has_gpu() -> bool:
    """Ask a process of its own: torch stays out of this one."""
    asking = [sys.executable, "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]
    return subprocess.run(asking, capture_output=True, check=False).returncode == 0


def test_an_interpreter_without_torch_says_so(tmp_path: Path) -> None:
    """The interpreter that will run the training is asked, not this one."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    found = probe(SMALL, python=python, environment={"PATH": "/usr/bin:/bin"})
    assert (found.state, found.survives, found.trials) == ("no-torch", "unknown", ())
    assert python in found.why


def test_an_interpreter_that_is_not_there_says_so(tmp_path: Path) -> None:
    """A wrong path is an answer, not an exception."""
    found = probe(SMALL, python=str(tmp_path / "python"))
    assert found.state == "no-python"
    assert "No such file" in found.why


def test_a_child_that_ends_otherwise_is_quoted(tmp_path: Path) -> None:
    """What runs instead of Python is told by its status and last words."""
    false = tmp_path / "python"
    false.write_text("#!/bin/sh\necho no such interpreter\nexit 3\n")
    false.chmod(0o755)
    found = probe(SMALL, python=str(false))
    assert found.state == "failed"
    assert "status 3: no such interpreter" in found.why


@needs_torch
def test_a_machine_without_a_gpu_says_so() -> None:
    """Without a GPU nothing is compiled, and which way survives stays unknown."""
    if has_gpu():
        pytest.skip("there is a GPU")
    found = probe(SMALL)
    assert (found.state, found.survives) == ("no-gpu", "unknown")
    assert found.torch


@needs_torch
def test_both_ways_are_tried_and_told_as_data() -> None:
    """On a CPU the probe runs too, if asked: behind a lock, then the threads at once."""
    found = probe(SMALL, cpu=True, tries=1)
    assert [trial.locked for trial in found.trials] == [True, False]
    assert found.trials[0].passed, found
    assert json.loads(json.dumps(found.plain()))["survives"] == found.survives


@needs_torch
def test_a_try_that_takes_too_long_names_where_its_threads_are() -> None:
    """Threads that have not finished count as hung, with the calls they are in; what a lock does not save ends it."""
    found = probe(SMALL, cpu=True, tries=1, limit_s=0.01)
    assert [trial.hung for trial in found.trials] == [3]
    assert found.survives == "neither"
    assert "not finished at the time limit" in found.trials[0].message


@pytest.mark.parametrize(
    ("lost", "says"),
    [
        (Trial(False, False, failed=2, exception="RuntimeError", message="FX\nand more"), "fails (RuntimeError: FX)"),
        (
            Trial(False, False, hung=3, message="not finished at the time limit"),
            "hangs (not finished at the time limit)",
        ),
    ],
    ids=["raises", "hangs"],
)
def test_what_the_race_did_is_said_in_one_line(lost: Trial, says: str) -> None:
    """An error by its type and first line; a hang, which has neither, as a hang."""
    told = probed(Probe("ran", "", SMALL, trials=(Trial(True, True), lost)))
    assert told.severity == "error"
    assert f"3 threads at once {says}; behind one lock it passes" in told.text


@pytest.mark.parametrize(
    ("raced", "locked", "says"),
    [
        ([True, True, True], [True], "both"),
        ([True, False], [True], "lock"),
        ([False], [False], "neither"),
        ([], [False], "neither"),
        ([True], [], "unknown"),
        ([], [True], "unknown"),
    ],
)
def test_what_survives_follows_from_the_tries(raced: list[bool], locked: list[bool], says: str) -> None:
    """One lost race is enough to call racing unsafe; without both ways tried nothing is known."""
    trials = (*(Trial(False, won) for won in raced), *(Trial(True, won) for won in locked))
    assert Probe("ran", "", SMALL, trials=trials).survives == says


def test_the_shape_is_read_off_a_command_line() -> None:
    """Names in use are known, with a blank or `=`; of several lengths the first; the rest stays as it is."""
    words = [
        "python",
        "train.py",
        "--threads",
        "3",
        "--ctx=512,2048",
        "--max_anchors",
        "1024",
        "--lr",
        "6e-4",
        "--heads",
    ]
    assert asked(words) == Shape(threads=3, ctx=512, anchors=1024)
    assert asked(["train.py", "--ctx", "auto", "--block-size", "3.5", "threads=9"]) == Shape()
