"""The scripts of `relaunch --emit`, started as their users start them: by tmux, by torchrun."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import COMMAND, ROOT, environment, run
from tests.live import supervised
from tests.live.server import Server

CORE = ROOT / "samples" / "training_core" / "train.py"
PROGRAM = """
import sys, time
start = 6 if "--resume" in sys.argv else 0
for step in range(start + 1, 11):
    print(f"step {step}/10 loss {3 - step / 10:.2f}", flush=True)
    if step == 6 and not start:
        open(sys.argv[1], "wb").write(b"whole")
        print(f"saved checkpoint {sys.argv[1]} (step 6)", flush=True)
        sys.exit(137)
time.sleep(6)
print("Training complete", flush=True)
"""


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which the command is found by its name, as where it is installed."""
    shim = tmp_path / "bin" / "dflash-forensics"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    shim.chmod(0o755)
    path = os.pathsep.join([str(shim.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    return environment(PATH=path)


def emitted(folder: Path, form: str, *options: str) -> str:
    done = run("relaunch", str(folder), "--emit", form, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_the_script_for_tmux_runs_in_tmux(tmp_path: Path, server: Server, on_path: dict[str, str]) -> None:
    """The session is there when the script returns, and the second attempt ends well in it."""
    folder = tmp_path / "runs"
    kept = tmp_path / "step-000006.ckpt"
    (tmp_path / "train.py").write_text(PROGRAM)
    run("run", "--run-dir", str(folder), "--", sys.executable, str(tmp_path / "train.py"), str(kept))
    script = emitted(folder, "tmux", "--arg", "--resume=yes")
    mine = {k: v for k, v in on_path.items() if k not in {"TMUX", "TMUX_PANE"}} | {"TMUX_TMPDIR": str(server.folder)}
    try:
        done = subprocess.run(["bash", "-c", script], env=mine, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        supervised.wait_for(lambda: supervised.record(folder, 2).get("status") == "exited", "the second attempt")
        assert supervised.record(folder, 2)["exit_code"] == 0
        again = subprocess.run(["bash", "-c", script], env=mine, capture_output=True, check=False)
        assert again.returncode == 1
        assert b"exists already" in again.stderr
    finally:
        subprocess.run(["tmux", "kill-server"], env=mine, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_the_line_for_torchrun_trains(tmp_path: Path, on_path: dict[str, str]) -> None:
    """What stood in front of python stays in front of torchrun; the run goes on from its checkpoint to its end."""
    folder = tmp_path / "runs"
    fails = ("--checkpoints", str(tmp_path / "kept"), "--fail", "kill", "--fail-step", "8")
    core = (sys.executable, str(CORE), "--steps", "12", "--every", "3", *fails)
    once = ("--fail-once", str(tmp_path / "failed"))
    assert run("run", "--run-dir", str(folder), "--", "timeout", "300", *core, *once).returncode == 137
    line = emitted(folder, "torchrun", "--resume-option", "--resume")
    assert "-- timeout 300 torchrun --standalone --nproc-per-node=gpu" in line
    on_cpu = line.replace("--nproc-per-node=gpu", "--nproc-per-node=1")
    done = subprocess.run(["bash", "-c", on_cpu], env=on_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert supervised.record(folder, 2)["exit_code"] == 0
    assert b"HEALTHY" in run("analyze", str(folder)).stdout
