"""Slurm's lines in a job's output, in the wordings of 17.11 to 26.05."""

from __future__ import annotations

import pytest

from forensics.parsers.slurm import PARSER
from tests.cutting import check_laws, one, parse


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("DUE TO TIME LIMIT ***", "TIME LIMIT"),
        ("DUE TO PREEMPTION ***", "PREEMPTION"),
        ("DUE TO JOB REQUEUE ***", "JOB REQUEUE"),
        ("DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", "NODE FAILURE"),
        ("DUE to SIGNAL Terminated ***", "SIGNAL Terminated"),
        ("DUE TO TASK FAILURE ***", "TASK FAILURE"),
        ("***", None),
    ],
)
@pytest.mark.parametrize(
    ("entity", "step"),
    [("JOB 494583", None), ("STEP 494583.0", "0"), ("STEP 494583.batch", "batch"), ("STEP StepId=494583.1", "1")],
)
def test_a_cancellation_tells_who_where_when_and_why(
    tail: str, reason: str | None, entity: str, step: str | None
) -> None:
    """Job and step are cancelled in lines of their own; the reason is missing where scancel was called."""
    event = one(PARSER, f"slurmstepd: error: *** {entity} ON gpu-c14 CANCELLED AT 2024-04-20T09:09:37 {tail}")
    assert (event.kind, event.time) == ("cancelled", 1713604177.0)
    assert (event.fields["job_id"], event.fields["node"]) == (494583, "gpu-c14")
    assert event.fields.get("step_id") == step
    assert event.fields.get("reason") == reason


def test_a_torn_line_still_tells_of_the_cancellation() -> None:
    """A progress bar had not ended its line."""
    event = one(
        PARSER,
        " 10%|#         | 50/500 [00:10<01:40]slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-04-20T09:09:37 "
        "DUE TO TIME LIMIT ***",
    )
    assert (event.kind, event.fields["reason"]) == ("cancelled", "TIME LIMIT")


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("tasks 0-4,6-7: Aborted (core dumped)", {"tasks": (0, 1, 2, 3, 4, 6, 7), "signal": 6, "core_dumped": True}),
        ("task 0: Exited with exit code 1", {"tasks": (0,), "exit_code": 1}),
        ("tasks 1,3: Killed", {"tasks": (1, 3), "signal": 9}),
        ("task 2: Segmentation fault", {"signal": 11}),
        ("task 2: Bus error", {"signal": 7}),
        ("task 2: Floating point exception", {"signal": 8}),
        ("tasks 8-15: Terminated", {"signal": 15}),
        ("task 3: Out Of Memory", {"tasks": (3,), "reason": "Out Of Memory"}),
    ],
)
def test_srun_reports_how_tasks_ended(words: str, facts: dict[str, object]) -> None:
    """Host, tasks, and code or signal."""
    event = one(PARSER, f"srun: error: h100-11: {words}")
    assert (event.kind, event.fields["host"]) == ("task-exit", "h100-11")
    assert facts.items() <= event.fields.items()


@pytest.mark.parametrize(
    ("line", "count", "step"),
    [
        ("Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.", 1, "0"),
        ("Detected 3 oom_kill events in StepId=77.batch. Some of the step tasks have been OOM Killed.", 3, "batch"),
        ("Detected 2 oom-kill event(s) in StepId=77.0. Some of your processes may have been killed by the cgroup "
         "out-of-memory handler.", 2, "0"),
        ("Detected 2 oom-kill event(s) in StepId=77.0 cgroup. Some of your processes may have been killed by the "
         "cgroup out-of-memory handler.", 2, "0"),
        ("Detected 1 oom-kill event(s) in step 77.batch cgroup. Some of your processes may have been killed by the "
         "cgroup out-of-memory handler.", 1, "batch"),
    ],
    ids=["23.02", "23.02 plural", "22.05", "20.11", "19.05"],
)  # fmt: skip
def test_memory_kills_are_counted_in_every_wording(line: str, count: int, step: str) -> None:
    """The wording changed four times."""
    event = one(PARSER, f"slurmstepd: error: {line}")
    assert (event.kind, event.fields["count"], event.fields["job_id"], event.fields["step_id"]) == (
        "oom",
        count,
        77,
        step,
    )


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        ("slurmstepd: error: Exceeded step memory limit at some point.", "memory-limit", {}),
        ("slurmstepd: error: Exceeded job memory limit", "memory-limit", {}),
        (
            "slurmstepd: error: StepId=77.0 exceeded memory limit (5000 > 4000), being killed",
            "memory-limit",
            {"job_id": 77, "used": 5000, "limit": 4000},
        ),
        (
            "slurmstepd: error: *** JOB 7 STEPD TERMINATED ON n1 AT 2024-04-20T09:09:37 DUE TO JOB NOT ENDING WITH SIGNALS ***",
            "stepd-terminated",
            {"node": "n1", "reason": "JOB NOT ENDING WITH SIGNALS"},
        ),
        (
            "slurmstepd: error: *** STEP 7.0 ON n1 FAILED (non-zero exit code or other failure mode) ***",
            "failed",
            {"job_id": 7},
        ),
        ("slurmstepd: error: *** REASON: bad node ***", "reason", {"reason": "bad node"}),
        (
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
            "submit-refused",
            {"reason": "Invalid partition name specified"},
        ),
        (
            "srun: error: Unable to allocate resources: Requested node configuration is not available",
            "submit-refused",
            {"reason": "Requested node configuration is not available"},
        ),
        (
            "srun: error: Unable to create step for job 77: Invalid generic resource (gres) specification",
            "submit-refused",
            {"job_id": 77},
        ),
        ("srun: error: Node failure on gpu-[3,7]", "node-failure", {"node": "gpu-[3,7]"}),
        ("srun: error: Aborting, io error and missing step on node 3", "node-failure", {"node": "3"}),
        ("srun: Force Terminated StepId=77.0", "force-terminated", {"job_id": 77, "step_id": "0"}),
        ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", "force-terminated", {}),
        ("srun: error: Timed out waiting for job step to complete", "force-terminated", {}),
        ("salloc: Job allocation 77 has been revoked.", "force-terminated", {}),
        ("srun: Terminating StepId=77.0", "force-terminated", {"job_id": 77}),
        (
            "slurmstepd: error: execve(): torchrunn: No such file or directory",
            "exec-failed",
            {"missing_path": "torchrunn"},
        ),
        (
            "slurmstepd: error: Could not open stdout file /logs/7.out: No such file or directory",
            "output-missing",
            {"missing_path": "/logs/7.out"},
        ),
    ],
)
def test_other_lines_have_their_kinds(line: str, kind: str, facts: dict[str, object]) -> None:
    """What Slurm says around a job, with the facts in it."""
    event = one(PARSER, line)
    assert event.kind == kind
    assert facts.items() <= event.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "2024-04-20 09:09:37,123 - INFO - monitor - srun: error: n1: task 3: Out Of Memory",
        "srun: job 77 queued and waiting for resources",
        "sbatch: Submitted batch job 77",
        "srun python train.py",
        "*** JOB OFFER *** apply today",
        "#SBATCH --time=01:00:00",
        "signal handler installed for DUE TO TIME LIMIT",
    ],
)
def test_look_alikes_stay_silent(line: str) -> None:
    """Progress of the queue, scripts and programs that talk about Slurm."""
    assert parse(PARSER, line) == []


def test_a_task_list_of_a_million_is_bounded() -> None:
    """A hostile range costs no memory."""
    tasks = one(PARSER, "srun: error: n1: tasks 0-999999999,5: Killed").fields["tasks"]
    assert isinstance(tasks, tuple)
    assert len(tasks) == 4096


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other."""
    check_laws(
        PARSER,
        [
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***",
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-04-20T09:0",
            "srun: error: h100-11: tasks 0-4,6-7: Aborted (core dumped)",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0.",
        ],
    )


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("slurmd[n1]: *** JOB 7 CANCELLED AT 2014-04-20T09:09:37 DUE TO TIME LIMIT ***", None),
        ("slurmd[n1]: *** STEP 7.0 KILLED AT 2014-04-20T09:09:37 WITH SIGNAL 9 ***", 9),
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-04-20T09:09:37 DUE to SIGNAL Killed ***", 9),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-04-20T09:0", None),
    ],
)
def test_a_cancellation_is_told_by_the_oldest_and_the_newest_release(line: str, signal: int | None) -> None:
    """The node stood in the head at first; the signal is a number or its words; the line may be cut."""
    event = one(PARSER, line)
    assert (event.kind, event.fields["job_id"], event.fields.get("signal")) == ("cancelled", 7, signal)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sbatch: error: Invalid generic resource (gres) specification", "submit-refused"),
        ("srun: unrecognized option '--gpu=4'", "submit-refused"),
        ("srun: fatal: No command given to execute.", "submit-refused"),
        ("slurmstepd: error: pyxis: couldn't start container", "container-failed"),
        ("salloc: error: Node failure on gpu-c15", "node-failure"),
    ],
)
def test_what_kept_a_job_from_starting_is_told(line: str, kind: str) -> None:
    """Options that are refused, containers that do not start, nodes that are lost."""
    assert one(PARSER, line).kind == kind


@pytest.mark.parametrize(
    "head", ["slurmstepd: error: ", "[41902.batch] error: ", "[2024-05-14T09:31:07.467] [41902.batch] error: "]
)
@pytest.mark.parametrize(
    ("words", "kind", "path"),
    [
        ("Could not open stdout file /s/a b.out: No such file or directory", "output-missing", "/s/a b.out"),
        ("Could not open stderr file /s/x.err: Permission denied", "output-missing", "/s/x.err"),
        ("execve(): python: No such file or directory", "exec-failed", "python"),
    ],
)
def test_a_step_that_could_not_begin_is_told_by_itself_or_by_the_daemon_of_its_node(
    head: str, words: str, kind: str, path: str
) -> None:
    """The daemon's log has the step's number where the job's output would name slurmstepd."""
    event = one(PARSER, head + words)
    assert (event.kind, event.fields["missing_path"]) == (kind, path)
    assert event.fields.get("job_id") == (41902 if "batch" in head else None)


@pytest.mark.parametrize("line", ["[step 5] error: Could not open std", "[41902.batch] done with job"])
def test_other_lines_with_brackets_are_no_step(line: str) -> None:
    """A cut line, and what the daemon says of every job."""
    assert parse(PARSER, line) == []
