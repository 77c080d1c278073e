"""The plan of a second try, as the command `relaunch` tells it: shown, never started from here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE_S = 300.0


class NoPlanError(Exception):
    """There is no plan; the message says why."""


def plan(paths: Sequence[str]) -> str:
    """Return the plan for the run of a folder, in words.

    It is made in a process of its own, as the analysis is. Without `--yes` that process changes nothing.

    Raises:
        NoPlanError: the run is not one folder, or no plan can be made of it.
    """
    if len(paths) != 1 or not Path(paths[0]).is_dir():
        raise NoPlanError("a plan is made for one folder; open that")
    command = [sys.executable, "-m", "forensics", "relaunch", "--", paths[0]]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoPlanError(f"no plan: {error}") from error
    told = done.stdout.decode("utf-8", "replace")
    if done.returncode in {0, 1} and told.strip():
        return told
    why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    raise NoPlanError(why.removeprefix("dflash-forensics: ") or f"no plan: status {done.returncode}")
