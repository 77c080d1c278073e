"""Whose a line is: what other jobs, other pods and other times left in the evidence ends no run of ours."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from forensics.rulebook.load import load
from tests.engine.runs import analyse

BOOK = load()
CLOCK = "2026-11-29 13:%02d:00,000 INFO "
RAISED = "Traceback (most recent call last):\n  File \"/w/t.py\", line 3, in f\n    g()\nKeyError: 'labels'\n"


def steps(first: int, last: int) -> str:
    """Return a minute-wise log of steps."""
    return "".join(f"{CLOCK % n}train: step {n}/60 loss {3 - n / 100:.2f}\n" for n in range(first, last + 1))


def report(files: dict[str, str]) -> Report:
    """Return the report on a run held in memory."""
    return analyze_files({name: text.encode() for name, text in files.items()}, BOOK)


def root(files: dict[str, str]) -> str | None:
    """Return the root of a run held in memory."""
    found = report(files).root
    return found.id if found else None


PODS = """\
NAME                              READY   STATUS      RESTARTS   AGE
data-prep-6c9d8b7f54-kq2lm        0/1     OOMKilled   0          2d3h
sft-llama-master-0                0/1     {status}       0          64m
"""
DESCRIBED = """\
Name:             sft-llama-master-0
Namespace:        ml
Status:           Failed
Reason:           Evicted
Message:          The node was low on resource: ephemeral-storage.
"""


def test_a_pod_of_another_job_ended_nothing_of_ours() -> None:
    """A listing shows the whole namespace; ours is the pod that was described, or whose log lies here."""
    log = steps(1, 5) + f"{CLOCK % 6}torch: Received 15 death signal, shutting down workers\n"
    assert (
        root({"pods.txt": PODS.format(status="Error"), "describe.txt": DESCRIBED, "train.log": log})
        == "scheduler.evicted"
    )
    assert root({"pods.txt": PODS.format(status="Error"), "sft-llama-master-0.log": steps(1, 5) + RAISED}) == (
        "setup.python-exception"
    )
    ours = PODS.replace("data-prep-6c9d8b7f54-kq2lm", "sft-llama-worker-0        ").format(status="Error")
    assert root({"pods.txt": ours, "sft-llama-master-0.log": steps(1, 5)}) == "memory.host-oom-kill"


CONTAINERS = """\
Name:             asr-worker-0
Namespace:        speech
Status:           Running
Containers:
  pytorch:
    State:          {ours}
    Limits:
      memory:          512Gi
      nvidia.com/gpu:  4
  metrics-sidecar:
    State:          {theirs}
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
"""


def test_a_sidecar_without_gpus_is_not_the_training() -> None:
    """Beside a container that has GPUs, one that has none may die as it likes."""
    log = steps(1, 5) + RAISED
    text = CONTAINERS.format(ours="Running", theirs="Running")
    assert root({"describe.txt": text, "train.log": log}) == "setup.python-exception"
    alone = text.replace("  metrics-sidecar:\n    State:          Running\n", "")
    assert root({"describe.txt": alone, "train.log": steps(1, 5)}) == "memory.host-oom-kill"


KILLED = "[Sun Nov 29 13:%02d:00 2026] Out of memory: Killed process %d (python) total-vm:9kB, anon-rss:9kB, UID:7\n"


def test_what_the_run_outlived_did_not_end_it() -> None:
    """Another process was killed while ours trained on for minutes; at the end of the log it is the cause."""
    assert root({"train.log": steps(1, 30) + RAISED, "dmesg.txt": KILLED % (10, 4711)}) == "setup.python-exception"
    assert root({"train.log": steps(1, 30), "dmesg.txt": KILLED % (30, 4711)}) == "memory.host-oom-kill"


SHOWN = """\
Sun Nov 29 14:41:12 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:02:00.0 Off |                    0 |
| N/A   34C    P0    56W / 300W |  10381MiB / 16160MiB |     {load}%      Default |
+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|=============================================================================|
|    0   N/A  N/A     21877      C   python                          10371MiB |
+-----------------------------------------------------------------------------+
"""


def test_our_process_on_the_gpu_was_not_the_one_that_crashed_before() -> None:
    """A later look at the GPUs shows another process at work than the kernel's line names."""
    crash = (
        "[Sun Nov 29 12:50:03 2026] python[{pid}]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[7f00+2a]\n"
    )
    shown = SHOWN.format(load=97)
    log = "step 1/9 loss 2.0\nstep 2/9 loss 1.9\n"
    assert root({"train.log": log, "smi.txt": shown, "dmesg.txt": crash.format(pid=19822)}) is None
    assert root({"train.log": log, "smi.txt": shown, "dmesg.txt": crash.format(pid=21877)}) == "host.segfault"


REQUEUED = """\
JobID             State ExitCode               Start                 End        NodeList
------------ ---------- -------- ------------------- ------------------- ---------------
551903        PREEMPTED      0:0 2026-11-29T08:30:21 2026-11-29T10:43:44           gh-22
551903.0      CANCELLED     0:15 2026-11-29T08:30:25 2026-11-29T10:43:44           gh-22
551903          {state}      0:0 2026-11-29T12:10:40             Unknown           gh-31
"""


def test_a_job_that_was_put_back_and_runs_is_well() -> None:
    """The first try and its step are history; the scheduler says that the job goes on."""
    found = report({"sacct.txt": REQUEUED.format(state="RUNNING"), "slurm-551903.out": steps(1, 30)})
    assert (found.verdict, found.root) == ("healthy", None)
    assert "still running" in found.reason
    died = report({"sacct.txt": REQUEUED.format(state="TIMEOUT"), "slurm-551903.out": steps(1, 30)})
    assert died.root is not None
    assert died.root.id == "scheduler.time-limit"


@pytest.mark.parametrize(
    ("when", "expected"), [("2026-11-29 12:59:12.883051204", "train.hang"), ("2026-11-29 14:40:30.000000000", None)]
)
def test_a_listing_tells_how_long_a_log_without_times_is_silent(when: str, expected: str | None) -> None:
    """The file was last written hours before somebody looked, and the processes hold their GPUs idle."""
    look = (
        "$ date; ls -l --full-time train.log\n"
        "Sun Nov 29 14:41:07 UTC 2026\n"
        f"-rw-rw-r-- 1 u3 u3 36283 {when} +0000 train.log\n"
        "$ nvidia-smi\n"
    ) + SHOWN.format(load=" 0")
    log = "".join(f"step {n}/900 loss {3 - n / 100:.2f}\n" for n in range(1, 30))
    assert root({"train.log": log, "look.txt": look}) == expected


DUMP = (
    "Process 4711: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n"
    'Thread 4711 ({state}): "MainThread"\n    _try_get_data (torch/utils/data/dataloader.py:761)\n'
)


@pytest.mark.parametrize(
    ("dump", "expected"),
    [(DUMP.format(state="idle"), "train.hang"), (DUMP.format(state="active"), None), ("", None)],
    ids=["one waits", "all work", "nobody looked"],
)
def test_ranks_that_spin_in_a_collective_hang_while_another_waits(dump: str, expected: str | None) -> None:
    """Their GPUs are busy at 100 %; that one process waits, and the log is silent for an hour, tells what they do."""
    look = (
        "$ date; stat -c '%y %s %n' train.log\n"
        "Sun Nov 29 14:41:07 UTC 2026\n"
        "2026-11-29 12:59:12.883051204 +0000 36283 train.log\n"
    )
    log = "".join(f"step {n}/900 loss {3 - n / 100:.2f}\n" for n in range(1, 30))
    files = {"train.log": log, "look.txt": look, "smi.txt": "Sun Nov 29 14:41:09 2026\n" + SHOWN.format(load="100")}
    assert root({**files, **({"pyspy.txt": dump} if dump else {})}) == expected


def test_a_job_of_another_number_is_not_ours() -> None:
    """A table lists the job before too; ours is the one whose log this is."""
    table = (
        "JobID             State ExitCode               Start                 End\n"
        "------------ ---------- -------- ------------------- -------------------\n"
        "51790           TIMEOUT      0:0 2026-11-29T10:59:51 2026-11-29T12:00:21\n"
        "51877            FAILED      1:0 2026-11-29T13:00:31 2026-11-29T13:06:41\n"
    )
    assert root({"sacct.txt": table, "slurm-51877.out": steps(1, 5) + RAISED}) == "setup.python-exception"


@pytest.mark.parametrize(
    ("command", "expected"), [("cc -o a a.c && ./a   # homework", None), ("python train.py", "host.segfault")]
)
def test_what_crashed_in_a_session_is_the_command_above_it(command: str, expected: str | None) -> None:
    """Somebody tried another program in the same terminal."""
    session = f"$ date\nSun Nov 29 13:40:00 UTC 2026\n$ {command}\nSegmentation fault (core dumped)\n$ free -g\n"
    assert root({"terminal.txt": session, "train.log": steps(1, 5)}) == expected


NAMESPACE = (
    CLOCK.replace("INFO ", "| INFO | ")
    + "fairseq_cli.train | Namespace(activation_fn='relu', batch_size=16, max_tokens=4096, num_heads=8, hidden_size=512, seq_len=128)\n"
)


def test_a_log_that_was_appended_to_is_about_its_last_try() -> None:
    """The program prints its settings once more, after it had trained and was interrupted."""
    first = NAMESPACE % 0 + steps(1, 20) + RAISED.replace("KeyError: 'labels'", "KeyboardInterrupt")
    second = NAMESPACE % 30 + RAISED
    assert root({"train.log": first + second}) == "setup.python-exception"
    assert root({"train.log": first}) == "host.interrupted"
    ranks = "".join(NAMESPACE % n for n in range(2)) + RAISED + NAMESPACE % 3
    assert root({"train.log": ranks}) == "setup.python-exception"


def test_a_container_that_was_started_anew_and_finished_is_well() -> None:
    """Its last state is history."""
    text = CONTAINERS.format(ours="Running", theirs="Terminated\n      Reason:       Completed\n      Exit Code:    0")
    alone = text.replace("  pytorch:\n    State:          Running\n", "").replace("metrics-sidecar", "pytorch")
    log = steps(1, 60) + f"{CLOCK % 59}train: training finished\n"
    assert report({"describe.txt": alone, "train.log": log}).verdict == "healthy"


def test_a_crash_long_before_a_signal_from_outside_was_anothers() -> None:
    """A launcher that loses a worker says so within seconds; ours spoke of a hang-up an hour later."""
    crash = (
        "[Sun Nov 29 12:10:03 2026] python3[250113]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[7f00+2a]\n"
    )
    started = (
        "W1129 11:50:06.328250 211804 torch/distributed/run.py:766] Setting OMP_NUM_THREADS environment variable\n"
    )
    ended = "W1129 13:45:06.328250 211804 torch/distributed/elastic/agent/server/api.py:719] Received Signals.SIGHUP death signal, shutting down workers\n"
    log = (
        started
        + "".join(f"step {n} loss {3 - n / 100}\n" for n in range(1, 30))
        + "2026-11-29 13:44:00 INFO x\n"
        + ended
    )
    assert root({"train.log": log, "dmesg.txt": crash}) == "host.killed-signal"


SLURMD = """\
[2024-05-14T09:31:07.437] Launching batch job {job} for UID 20481
[2024-05-14T09:31:07.467] [{job}.batch] error: Could not open stdout file /w/{job}.out: No such file or directory
"""
ASKED = """\
JobID           JobName      State ExitCode
------------ ---------- ---------- --------
41902             train  {state}
"""


def test_the_daemon_of_a_node_speaks_of_every_job_there() -> None:
    """What it could not open for another job ended none of ours; ours is known to have failed."""
    failed = {"sacct.txt": ASKED.format(state="   FAILED     0:53")}
    ours = report({**failed, "slurmd.log": SLURMD.format(job=41902)})
    assert (ours.root.id if ours.root else None, ours.verdict) == ("capture.log-missing", "failed")
    well = {"sacct.txt": ASKED.format(state="COMPLETED      0:0"), "train.log": steps(1, 60)}
    assert root({**well, "slurmd.log": SLURMD.format(job=41890)}) is None


@pytest.mark.parametrize(
    ("killed", "comm", "cause"),
    [
        (30112, "fsl_glm", "host.killed-signal"),
        (30112, "python", "memory.host-oom-kill"),
        (30112, "pt_data_worker", "memory.host-oom-kill"),
        (4727, "fsl_glm", "memory.host-oom-kill"),
    ],
)
def test_the_kernel_killed_another_program_than_the_shell_reports(killed: int, comm: str, cause: str) -> None:
    """The shell names pid 4727. A worker of the training has a pid of its own, another program is another's."""
    log = "".join(f"step {n}/90 loss {3 - n / 100:.2f}\n" for n in range(40))
    shell = "/var/spool/slurmd/job603995/slurm_script: line 9:  4727 Killed                  python train.py\n"
    kernel = f"[Mon Jul 10 16:02:11 2017] Out of memory: Killed process {killed} ({comm}) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n"
    assert root({"slurm-603995.out": log + shell, "dmesg.txt": kernel}) == cause


SRUN = """srun: error: gpu12: task 1: {first}
srun: launch/slurm: _step_signal: Terminating StepId=389.1
srun: error: gpu11: task 0: Terminated
"""
CANCELLED = """slurmstepd: error: *** STEP 389.1 ON gpu11 CANCELLED AT 2024-03-15T10:03:42 ***
[2024-03-15 10:03:42,118] torch.distributed.elastic.agent.server.api: [WARNING] Received Signals.SIGTERM death signal, shutting down workers
"""
UNREACHED = """Traceback (most recent call last):
  File "/env/lib/python3.10/site-packages/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 157, in _call_store
    return getattr(self._store, store_op)(*args, **kwargs)
torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.
"""


@pytest.mark.parametrize(
    ("first", "cause"), [("Exited with exit code 1", "comm.rendezvous-failure"), ("Terminated", "scheduler.cancelled")]
)
def test_srun_ends_the_others_when_a_task_has_left_by_itself(first: str, cause: str) -> None:
    """The node that failed was not cancelled, it is why the others were; no clock tells which came first."""
    files = {"389.err": SRUN.format(first=first), "rdzv/gpu11.err": CANCELLED, "rdzv/gpu12.err": UNREACHED}
    assert root(files) == cause


@pytest.mark.parametrize("end", ["srun: error: node7: task 0: Killed\n", ""])
def test_a_program_that_passes_over_the_signal_of_its_time_limit(end: str) -> None:
    """It goes on for some steps, and is killed then: the limit was no fault from which it recovered."""
    limit = "slurmstepd: error: *** JOB 77 ON node7 CANCELLED AT 2026-11-29T13:30:00 DUE TO TIME LIMIT ***\n"
    assert root({"slurm-77.out": steps(1, 29) + limit + steps(30, 36) + end}) == "scheduler.time-limit"


LSF = """Sender: LSF System <lsfadmin@node7>
Subject: Job 4471902: <ft> in cluster <c> Exited

------------------------------------------------------------
# LSBATCH: User input
#!/bin/bash
#BSUB -W 24:00
python finetune.py
------------------------------------------------------------

TERM_RUNLIMIT: job killed after reaching LSF run time limit.
Exited with exit code 140.

The output (if any) follows:

"""


def test_the_report_of_lsf_stands_above_what_the_job_said() -> None:
    """What is below it was printed before; and a file that begins with a job's script is no script."""
    assert root({"lsf.4471902.out": LSF + steps(1, 40)}) == "scheduler.time-limit"


@pytest.mark.parametrize(("pid", "cause"), [(319924, "memory.host-oom-kill"), (290111, "host.segfault")])
def test_of_two_ends_that_the_kernel_tells_ours_is_that_of_a_process_that_we_name(pid: int, cause: str) -> None:
    """Ray names the worker that died; hours before, some python on the machine had crashed."""
    log = (
        steps(1, 20)
        + f"ray.exceptions.ActorDiedError: The actor died unexpectedly.\n\tclass_name: Worker\n\tpid: {pid}\n"
    )
    kernel = (
        "Nov 29 13:02:40 n3 kernel: python3[290111]: segfault at 0 ip 00007f1b8c1e51a4 sp 00007ffd2cbd1e98 error 4 in libc.so.6\n"
        "Nov 29 13:20:11 n3 kernel: Memory cgroup out of memory: Killed process 319924 (ray::Worker) total-vm:1kB, anon-rss:1kB\n"
    )
    raised = 'Traceback (most recent call last):\n  File "/w/main.py", line 54, in main\n    run()\n'
    at = log.index("ray.exceptions")
    assert root({"driver.log": log[:at] + raised + log[at:], "kern.txt": kernel}) == cause


SHELLS = """\
JobID           JobName      State ExitCode    Elapsed
------------ ---------- ---------- -------- ----------
13527496     {name:<10}  COMPLETED      0:0   02:14:51
13527496.ex+     extern  COMPLETED      0:0   02:14:51
"""


@pytest.mark.parametrize(
    ("name", "verdict"), [("interacti+", "unknown"), ("bash", "unknown"), ("sys/dashb+", "unknown"), ("sft", "healthy")]
)
def test_an_allocation_in_which_somebody_typed_ends_as_its_shell_does(name: str, verdict: str) -> None:
    """COMPLETED is then no word on the training in it."""
    report = analyse(train_log=steps(1, 30), sacct_txt=SHELLS.format(name=name))
    assert report.verdict == verdict


EARLY = "2026-11-29 13:00:01,000 INFO train: starting\n" + "".join(f"step {n}/900 loss 2.{n}\n" for n in range(10, 400))
KILLED_LATE = (
    "Nov 29 16:31:07 box kernel: [90411.3] Out of memory: Killed process 148213 (python3) total-vm:164801252kB, "
    "anon-rss:61203344kB, file-rss:40736kB, shmem-rss:0kB, UID:1000 pgtables:124204kB oom_score_adj:0\n"
)


@pytest.mark.parametrize(
    ("log", "status", "found"),
    [
        (EARLY, "137\n", "memory.host-oom-kill"),
        (EARLY, "1\n", None),
        (EARLY, "139\n", "host.segfault"),
        (EARLY + "2026-11-29 13:40:01,000 INFO train: saved\n", "137\n", "host.killed-signal"),
    ],
    ids=["as the kernel did", "otherwise", "by another signal", "long before"],
)
def test_a_log_without_times_may_have_gone_on_until_the_kernel_ended_it(
    log: str, status: str, found: str | None
) -> None:
    """Its first line has a time, its last ones have none: what the status says decides."""
    assert root({"train.log": log, "kern.log": KILLED_LATE, "exit_code": status}) == found
