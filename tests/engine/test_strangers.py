"""Logs of other people's jobs in the folder of a run tell nothing of it."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from tests.engine.runs import OOM, root, rulebook, steps

DONE = "Training completed. Do not forget to share your model on huggingface.co/models =)\n"
SACCT = """JobID             User        JobName      State ExitCode    Elapsed
------------ --------- -------------- ---------- -------- ----------
48205        {a:>9}            vae     FAILED      1:0   03:31:12
48211        {b:>9}            sft  COMPLETED      0:0   03:47:39
"""
CONTROL = """JobId=48205 JobName=vae
   UserId=mlopez(4711) GroupId=users(100)
   JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0

JobId=48211 JobName=sft
   UserId=rkumar(4712) GroupId=users(100)
   JobState=COMPLETED Reason=None ExitCode=0:0
"""
FAILED = f"loading the model\n{OOM}"


def analyse(files: dict[str, str]) -> Report:
    return analyze_files({name: text.encode() for name, text in files.items()}, rulebook())


@pytest.mark.parametrize("table", [SACCT.format(a="mlopez", b="rkumar"), CONTROL], ids=["sacct", "scontrol"])
@pytest.mark.parametrize("log", ["slurm-48205_mlopez.out", "beside/slurm-48205.out"])
def test_the_failed_job_of_another_user_is_none_of_ours(table: str, log: str) -> None:
    """The table of the scheduler says whose it is."""
    report = analyse({"jobs.txt": table, log: FAILED, "slurm-48211.out": steps(1, 60) + DONE})
    assert report.verdict == "healthy"
    assert (root(report), report.run.exit_code) == (None, 0)


@pytest.mark.parametrize("folder", ["neighbours", "neighbor", "other_users", "unrelated"])
def test_a_folder_may_be_named_after_what_others_ran(folder: str) -> None:
    """Without a table."""
    report = analyse({f"{folder}/train.log": FAILED, "train.log": steps(1, 60) + DONE})
    assert report.verdict == "healthy"


def test_the_failed_job_of_the_same_user_is_not_forgotten() -> None:
    """A server of ours and a trainer of ours may be two jobs."""
    files = {"jobs.txt": SACCT.format(a="rkumar", b="rkumar"), "serve/slurm-48205.out": steps(1, 30) + OOM}
    report = analyse(files)
    assert root(report) == "memory.gpu-oom"


def test_the_only_log_is_the_one_in_question_whatever_its_folder_is_called() -> None:
    """Somebody asks why the neighbour's job failed."""
    assert root(analyse({"neighbours/train.log": steps(1, 30) + OOM})) == "memory.gpu-oom"


def test_ours_is_the_job_that_trained() -> None:
    """A failed job that trained is not overlooked for another user's that only started."""
    table = SACCT.format(a="rkumar", b="mlopez")
    files = {"jobs.txt": table, "a/slurm-48205.out": steps(1, 60) + OOM, "b/slurm-48211.out": "starting\n"}
    assert root(analyse(files)) == "memory.gpu-oom"
