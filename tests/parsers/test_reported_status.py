"""What logs themselves say of an exit status."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from forensics.rulebook.load import load

BOOK = load()
STEPS = "".join(f"step {n}/9 loss {3 - n / 10:.2f}\n" for n in range(1, 6))


def status(line: str, after: str = "") -> int | None:
    """Return the exit status of a run whose log has this line below its steps."""
    return analyze_files({"train.log": f"{STEPS}{line}\n{after}".encode()}, BOOK).run.exit_code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("exit status 134", 134),
        ("run_rm.sh: exit status 1", 1),
        ("exit code: 1", 1),
        ("exit_status  137                 ", 137),
        ("    Exit_status = 271", 271),
        ("EXIT_CODE=137", 137),
        ("rc=0", 0),
        ("[pipeline 10:01:37] train finished, exit 0", 0),
        ("stage train: done exit=0", 0),
        ("TRAIN_EXIT=0", 0),
        ("TRAIN_RC=1", 1),
        ("JOB_STATUS=137", 137),
        ("exit=0", 0),
        ("training finished with exit code 2", 2),
        ("vllm-1 exited with code 1", 1),
        (
            "[2024-07-11 15:21:58,744] [ERROR] [launch.py:321:sigkill_handler] ['/e/bin/python', '-u'] exits with return code = 1",
            1,
        ),
        ("ERROR:composer.cli.launcher:Global rank 5 (PID 48105) exited with code -6", -6),
        ("  Exit code:    1", 1),
        ("ERROR: Job 3 failed with return code list: [137, 1]", 137),
        ("ERROR: Job 3 failed with return code list: [0, 1]", 1),
        ("# Ended (code 255) at Thu Mar 25 22:47:04 CST 2021, elapsed time 411 seconds", 255),
        ("ml@gpu3:~$ echo $?\n1", 1),
        ("$ echo $?\n0", 0),
    ],
)
def test_launchers_and_wrappers_tell_the_status(line: str, code: int) -> None:
    """Each in its own words, in the log of the run."""
    assert status(line) == code


@pytest.mark.parametrize(
    "line",
    [
        "pip exited with code 1, using the wheel instead",
        "if the exit code is 1, the data set is missing",
        "expected exit status 0",
        "data.rc=3 workers",
        "step_rc=1.5",
        "DOWNLOAD_EXIT=1",
        "TRAIN_STATUS=7 of 9 shards are ready",
        "loss exit=0.25",
        "returncode of the tokenizer: none",
    ],
)
def test_other_statuses_are_not_the_runs(line: str) -> None:
    """A command that the program called, a condition in a sentence, a metric's name."""
    assert status(line) is None


def test_a_status_that_training_went_on_after_was_of_something_else() -> None:
    """A helper's status in the middle of a log is no end."""
    more = "".join(f"step {n}/9 loss {3 - n / 10:.2f}\n" for n in range(6, 10))
    assert status("exit status 1", more) is None


def test_what_ended_first_says_more_than_what_was_ended() -> None:
    """A launcher sends SIGTERM to the others."""
    lines = "Global rank 0 (PID 64) exited with code -15\nGlobal rank 5 (PID 69) exited with code 1"
    assert status(lines) == 1
