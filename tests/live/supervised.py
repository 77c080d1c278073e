"""A supervised program as a test starts it, and whom of the three processes it can kill."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.cli.program import COMMAND, environment

BOUND_S = 30.0
SCRIBE = """
import os, sys
ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
most, pause = int(sys.argv[2]), float(sys.argv[3])
import time
for number in range(1, most + 1):
    stream = 2 if number % 7 == 0 else 1
    os.write(stream, b"%08d of stream %d, and some words to fill the line\\n" % (number, stream))
    os.pwrite(ledger, b"%08d" % number, 0)
    if pause:
        time.sleep(pause)
sys.exit(7)
"""
"""Writes numbered lines to both streams, and into a ledger how many of them the kernel has taken."""


def wait_for(ready: Callable[[], Any], what: str) -> Any:
    """Ask again and again until there is an answer, within a bound."""
    end = time.monotonic() + BOUND_S
    while not (found := ready()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)
    return found


def start(folder: Path, *words: str, options: tuple[str, ...] = (), **changes: str) -> subprocess.Popen[bytes]:
    """Start a program under a supervisor, with pipes on all sides."""
    return subprocess.Popen(
        [*COMMAND, "run", "--run-dir", str(folder), *options, "--", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**changes),
    )


def record(folder: Path, number: int = 1) -> dict[str, Any]:
    """Return the record of an attempt; empty while there is none, an error where it is torn."""
    path = folder / f"attempt-{number:03d}" / "run.json"
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(text)
    return found


def processes(front: int) -> tuple[int, int]:
    """Return the recorder and the program below a front."""

    def look() -> tuple[int, int] | None:
        try:
            for recorder in psutil.Process(front).children():
                for program in recorder.children():
                    return recorder.pid, program.pid
        except psutil.Error:
            return None
        return None

    found: tuple[int, int] = wait_for(look, "the program")
    return found


def kill(*pids: int) -> None:
    """Kill as the kernel's OOM killer does."""
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue


def finished(folder: Path, number: int = 1) -> dict[str, Any]:
    """Wait until an attempt has an end in its record."""
    wait_for(lambda: record(folder, number).get("status") not in {None, "starting", "running"}, "the end in run.json")
    return record(folder, number)


def journal_identity(pid: int) -> float | None:
    """Return when a process began; None if it is gone."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None
