"""SIGKILL of the program, of its supervisor, of both: nothing written is lost, and no status is made up."""

from __future__ import annotations

import random
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.live import supervised

MOMENTS = 50
LINES = 3000
WHO = ("program", "front", "recorder", "program and front", "program and recorder", "supervisor", "all")


def one(folder: Path, whom: str, delay_s: float) -> str:
    """Kill at one moment; return what is wrong afterwards, or nothing."""
    ledger = folder / "ledger"
    runs = folder / "runs"
    words = (sys.executable, "-S", "-c", supervised.SCRIBE, str(ledger), str(LINES), "0.0001")
    front = supervised.start(runs, *words)
    recorder, program = supervised.processes(front.pid)
    supervised.wait_for(lambda: ledger.exists() and ledger.stat().st_size, "the first line")
    time.sleep(delay_s)
    pids = {"program": program, "front": front.pid, "recorder": recorder}
    names = {"supervisor": ["front", "recorder"], "all": ["front", "recorder", "program"]}.get(
        whom, whom.split(" and ")
    )
    supervised.kill(*(pids[name] for name in names))
    front.communicate(timeout=supervised.BOUND_S)
    alone = whom in {"supervisor", "all"}
    if alone:
        supervised.wait_for(lambda: not supervised.journal_identity(program), "the end of the program")
    else:
        supervised.finished(runs)
    again = run("run", "--run-dir", str(runs), "--", "true")
    return f"{whom} at {delay_s:.3f} s: {problem}" if (problem := check(runs, ledger, whom, again.returncode)) else ""


def check(runs: Path, ledger: Path, whom: str, again: int) -> str:
    """Return what does not hold of a folder whose run was killed and begun again."""
    first, second = supervised.record(runs, 1), supervised.record(runs, 2)
    attempt = runs / "attempt-001"
    if again != 0 or second.get("status") != "exited":
        return f"the next start ended with {again}"
    known = first["exit_code"]
    allowed: dict[str, set[int | None]] = {"supervisor": {None, 7, 141}, "all": {None, 7, 137}}
    if known not in allowed.get(whom, {137, 7} if "program" in whom else {7}):
        return f"the status is {known}"
    if (first["status"] == "unknown") != (known is None):
        return f"{first['status']} with status {known}"
    streams = {n: (attempt / f"{n}.log").read_bytes() for n in ("stdout", "stderr")}
    train, index = (attempt / "train.log").read_bytes(), (attempt / "index").read_bytes()
    if index[-1:] not in {b"", b"\n"} or sorted(train.split(b"\n")) != sorted(b"".join(streams.values()).split(b"\n")):
        return "train.log is not what the streams are"
    numbers = sorted(
        int(n) for n in re.findall(rb"^(\d{8}) of stream [12], and some words to fill the line$", train, re.MULTILINE)
    )
    if numbers != list(range(1, len(numbers) + 1)) and whom not in {"supervisor", "all"}:
        return "a line is missing in the middle"
    written = int(ledger.read_bytes())
    # With nobody left to hold the pipes, what was in them is gone with them; nothing else may be.
    if len(numbers) < written and whom not in {"supervisor", "all"}:
        return f"{written - len(numbers)} lines are lost"
    return ""


@pytest.mark.slow
def test_no_kill_at_any_moment_loses_a_byte_or_tears_the_journal(tmp_path: Path) -> None:
    """Fifty moments, all seven choices of whom to kill: bytes whole, journal whole, status true, next start works."""
    chance = random.Random(20261129)  # noqa: S311 - moments, not secrets
    moments = [(WHO[i % len(WHO)], chance.uniform(0, 0.5)) for i in range(MOMENTS)]
    folders = [tmp_path / f"{i:02d}" for i in range(MOMENTS)]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda pair: one(pair[0], *pair[1]), zip(folders, moments, strict=True)))
    assert not [problem for problem in told if problem]


def test_a_program_that_lives_on_without_its_supervisor_is_not_started_twice(tmp_path: Path) -> None:
    """Who runs there is named, by the pid to look for, and the status is that of wrong usage."""
    front = supervised.start(tmp_path, "sleep", "30")
    recorder, program = supervised.processes(front.pid)
    supervised.wait_for(lambda: supervised.record(tmp_path).get("pid"), "the record")
    supervised.kill(front.pid, recorder)
    front.communicate(timeout=supervised.BOUND_S)
    done = run("run", "--run-dir", str(tmp_path), "--", "true")
    assert done.returncode == 2
    assert f"pid {program}" in done.stderr.decode()
    supervised.kill(program)
    supervised.wait_for(lambda: not supervised.journal_identity(program), "the end of the program")
    assert run("run", "--run-dir", str(tmp_path), "--", "true").returncode == 0
    assert supervised.record(tmp_path)["status"] == "unknown"
