"""Runs of the training core that several tests look at."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import ROOT, run

SAMPLES = ROOT / "samples"
TRAIN = SAMPLES / "training_core" / "train.py"
LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run left: a folder with its log and exit status, and its steps as JSON objects."""

    folder: Path
    status: int

    @property
    def log(self) -> str:
        """Return the log."""
        return (self.folder / "train.log").read_text()

    def steps(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the steps by drafter and step; a step taken again counts as taken last."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return {(step["drafter"], step["step"]): step for step in map(json.loads, lines)}

    def report(self) -> dict[str, Any]:
        """Return what `analyze` says of the folder."""
        done = run("analyze", str(self.folder), "--format", "json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def roots(self) -> list[str]:
        """Return the ids of the root causes."""
        return [f["id"] for f in self.report()["findings"] if f["role"] == "root"]


Train = Callable[..., Ran]


@pytest.fixture(scope="session")
def train() -> Train:
    """Return a function that runs the core as a shell script would: all output in one log, the status beside it."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")

    def run_it(folder: Path, *arguments: str, limit_s: int = LIMIT_S, **environment: str) -> Ran:
        folder.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, str(TRAIN), "--device", "cpu", "--steps", "10", *arguments]
        words += ["--json", str(folder / "metrics.jsonl")]
        shell = 'timeout "$0" "$@"; status=$?; echo $status > exit_code; exit $status'
        with (folder / "train.log").open("ab") as log:
            done = subprocess.run(
                ["bash", "-c", shell, str(limit_s), *words],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), **environment},
                check=False,
            )
        return Ran(folder, done.returncode)

    return run_it


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Return a function that imports a module of the core."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    yield lambda name: importlib.import_module(f"training_core.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "training_core"]:
        del sys.modules[name]
