"""A mended launch, really run under tmux: what a killed run leaves is whole, and is read right."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import run

PROGRAM = """
import os, time
open("pid", "w").write(str(os.getpid()))
for step in range(1, 4000):
    print(f"step {step}/4000 | loss {3 - step / 2000:.4f} | grad_norm 1.0")
    time.sleep(0.01)
"""
BOUND_S = 30


@pytest.fixture
def surroundings() -> Iterator[dict[str, str]]:
    """An environment whose plain `tmux` is a server of the test's own."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, and nothing stands in for it here")
    folder = tempfile.mkdtemp(prefix="dfm-", dir="/tmp")
    kept = {k: v for k, v in os.environ.items() if k not in {"TMUX", "TMUX_PANE", "PYTHONUNBUFFERED"}}
    mine = {**kept, "TMUX_TMPDIR": folder, "SHELL": "/bin/bash", "TERM": "xterm"}
    try:
        yield mine
    finally:
        subprocess.run(["tmux", "kill-server"], env=mine, check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(path: Path) -> None:
    """Wait until a file is there and holds something."""
    until = time.monotonic() + BOUND_S
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.05)


def test_a_killed_run_of_a_mended_launch_leaves_everything(tmp_path: Path, surroundings: dict[str, str]) -> None:
    """The log to its last line, the true status, the start; the report names the signal and nothing of the capture."""
    (tmp_path / "train.py").write_text(PROGRAM)
    log = tmp_path / "logs" / "train.log"
    (tmp_path / "launch.sh").write_text(
        f'cd {tmp_path}\ntmux new-session -d -s mended "cd {tmp_path}; python3 train.py 2>&1 | tee {log}"\n'
    )
    run("preflight", str(tmp_path / "launch.sh"), "--fix")
    started = subprocess.run(
        ["bash", "launch.mended.sh"], cwd=tmp_path, env=surroundings, check=False, capture_output=True, text=True
    )
    assert started.returncode == 0, started.stderr
    wait_for(tmp_path / "pid")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    status = Path(f"{log}.exit_code")
    wait_for(status)
    assert status.read_text() == "137\n"
    assert log.read_text().endswith("\n")

    left = tmp_path / "left"
    left.mkdir()
    for file in (log, status, tmp_path / "launch.mended.sh"):
        shutil.copy(file, left)
    report = json.loads(run("analyze", str(left), "--format", "json").stdout)
    assert report["verdict"] == "failed"
    root = next(f for f in report["findings"] if f["role"] == "root")
    assert (root["id"], root["facts"]["signal"]) == ("host.killed-signal", 9)
    assert report["run"]["exit_code"] == 137
    assert report["run"]["started"] is not None
    last = [line for line in log.read_text().split("\n") if line.startswith("step ")][-1]
    assert report["run"]["last_step"] == int(last.split("/")[0].removeprefix("step "))
    assert {s["path"]: s["state"] for s in report["sources"]}["train.log"] == "whole"
    assert not [f for f in report["findings"] if f["id"].startswith("capture.")]
    assert not [f for f in report["findings"] if f["id"].startswith("launch.")]


def test_a_mended_launch_says_when_the_run_died_at_once(tmp_path: Path, surroundings: dict[str, str]) -> None:
    """What took five minutes to notice is told by the script, and the log says why."""
    log = tmp_path / "train.log"
    (tmp_path / "launch.sh").write_text(
        f'tmux new-session -d -s mended "python3 {tmp_path}/missing.py 2>&1 | tee {log}"\n'
    )
    run("preflight", str(tmp_path / "launch.sh"), "--fix")
    command = ["bash", str(tmp_path / "launch.mended.sh")]
    started = subprocess.run(command, cwd=tmp_path, env=surroundings, check=False, capture_output=True, text=True)
    assert started.returncode == 1
    assert "died at once" in started.stderr
    assert "No such file" in log.read_text()
    again = subprocess.run(command, cwd=tmp_path, env=surroundings, check=False, capture_output=True, text=True)
    assert "exists already" in again.stderr
