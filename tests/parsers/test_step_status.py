"""What build tools, task runners and CI say of a step that failed."""

from __future__ import annotations

import pytest

from forensics.parsers.step_status import PARSER
from tests.cutting import parse
from tests.engine.runs import analyse, steps


def told(text: str) -> list[tuple[object, object]]:
    return [(e.fields.get("exit_code"), e.fields.get("signal")) for e in parse(PARSER, text)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("make: *** [Makefile:5: train] Error 1", 1),
        ("make: *** [train] Error 127", 127),
        ("make[2]: *** [/w/mk/rules.mk:80: train/large] Error 2", 2),
        ("gmake: *** [Makefile:5: train] Error 1", 1),
        ("/usr/bin/make: *** [Makefile:5: train] Error 1", 1),
        ("mingw32-make.exe: *** [Makefile:5: train] Error 1", 1),
        ("make: *** [Makefile:5: train] Fehler 1", 1),
        ("make: *** [Makefile:5: train] Erreur 2", 2),
        ("make: *** [Makefile:5: train] Ошибка 1", 1),
        ("make: *** [Makefile:5：train] 错误 1", 1),
        ("make: *** [Makefile:5: train] エラー 1", 1),
        ("make: *** [Makefile:5: train] Killed", 137),
        ("make: *** [train] Segmentation fault (core dumped)", 139),
        ("make: *** No rule to make target 'train'.  Stop.", 1),
        ("ninja: build stopped: subcommand failed.", 1),
        ("npm ERR! code ELIFECYCLE", 1),
        ("npm error code 3", 3),
        ("npm ERR! Exit status 1", 1),
        (" ELIFECYCLE  Command failed with exit code 4.", 4),
        ("error Command failed with exit code 1.", 1),
        ('error: script "train" exited with code 1', 1),
        ("Command exited with non-zero status 3", 3),
        ("Command terminated by signal 9", 137),
        ("##[error]Process completed with exit code 1.", 1),
        ("Error: Process completed with exit code 1.", 1),
        ("##[error]Bash exited with code '2'.", 2),
        ("ERROR: Job failed: exit code 1", 1),
        ("ERROR: Job failed: command terminated with exit code 137", 137),
        ("ERROR: script returned exit code 1", 1),
        ("Build step 'Execute shell' marked build as failure", 1),
        ("Finished: FAILURE", 1),
        ("🚨 Error: The command exited with status 1", 1),
        ('The command "python train.py" exited with 1.', 1),
        ("2024-05-01 10:00:00,123 sagemaker-training-toolkit ERROR    Reporting training FAILURE", 1),
        ("error: Recipe `train` failed on line 5 with exit code 1", 1),
        ("error: Recipe `train` failed with exit code 2", 2),
        ("error: Recipe `train` was terminated on line 5 by signal 9", 137),
        ('task: Failed to run task "train": exit status 1', 1),
        ('task: Failed to run task "all": task: Failed to run task "train": exit status 3', 3),
        ("ERROR: failed to reproduce 'train': failed to run: python src/train.py, exited with 1", 1),
        ("Exiting because a job execution failed. Look below for error messages", 1),
        ("nox > Command python train.py failed with exit code 1", 1),
        ("Error: Subtasks train, eval returned non-zero exit status", 1),
        ("error: process didn't exit successfully: `target/release/train` (exit status: 101)", 101),
        ("error: process didn't exit successfully: `target/release/train` (signal: 9, SIGKILL: kill)", 137),
        ("The command '/bin/sh -c python train.py' returned a non-zero code: 1", 1),
        ("ERROR conda.cli.main_run:execute(49): `conda run python train.py` failed. (See above for error)", 1),
    ],
)
def test_each_says_it_in_its_own_words(line: str, code: int) -> None:
    """GNU make in the language of its user, the others in English."""
    assert [found for found, _ in told(line)] == [code]
    assert analyse(train_log=f"{steps(1, 20)}{line}\n").verdict == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "make: [Makefile:9: clean] Error 1 (ignored)",
        "make[1]: Leaving directory '/w'",
        "make: Nothing to be done for 'train'.",
        "make: *** Waiting for unfinished jobs....",
        "make: *** [Makefile:5: train] Error 1 (ignored)",
        "ninja: no work to do.",
        "npm ERR! code E404",
        "npm warn deprecated request@2.88.2",
        "    Command exited with non-zero status N means that the program failed",
        "Process completed with exit code 0 is what a good step says",
        "# error: Recipe `train` failed on line 5 with exit code 1",
        "Finished: SUCCESS",
        "The command line was parsed",
        "see `make: *** [train] Error 1` in the FAQ",
        "make: *** [Makefile:5: tr",
    ],
)
def test_what_is_ignored_quoted_or_torn_says_nothing(line: str) -> None:
    """An error that make ignores, a sentence about one, and a line that was cut."""
    assert [code for code, _ in told(line) if code] == []
    assert analyse(train_log=f"{steps(1, 20)}{line}\n").verdict == "unknown"


def test_a_step_that_failed_above_the_training_is_of_something_else() -> None:
    """Helpers that could not be built, and a program that goes on without them."""
    failed = "make: *** [helpers] Error 1\n"
    assert analyse(train_log=f"{failed}{steps(1, 100)}").verdict == "healthy"
    assert analyse(train_log=f"{steps(1, 20)}{failed}" + "still busy\n" * 40).verdict == "unknown"
    assert analyse(train_log=f"{steps(1, 20)}{failed}Training complete\n").verdict == "healthy"


def test_a_recorded_status_of_the_program_itself_wins() -> None:
    """It is what the launch got to know; one that a pipeline may have replaced is not."""
    log = f"{steps(1, 20)}make: *** [Makefile:5: train] Error 1\n"
    assert analyse(train_log=log, exit_code="0\n", run_sh="make train > train.log 2>&1\n").verdict == "healthy"
    masked = analyse(train_log=log, exit_code="0\n", run_sh="make train 2>&1 | tee train.log\necho $? > exit_code\n")
    assert (masked.verdict, masked.run.exit_code) == ("failed", 1)
    assert masked.root is not None
    assert masked.root.id == "capture.pipe-status-masked"


def test_a_signal_is_told_as_one() -> None:
    """128 and the signal, as a shell has it."""
    assert told("make: *** [Makefile:5: train] Killed") == [(137, 9)]
