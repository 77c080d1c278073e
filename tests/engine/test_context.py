"""What stands around a root is joined to it: the rank by its pid, the status, the job, the driver's versions."""

from __future__ import annotations

import pytest

from tests.engine.runs import OOM, RAISED, analyse, root

FAILURES = """
E1129 12:00:09.000000 900 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: 3 (pid: 4103) of binary: /usr/bin/python3
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_12:00:09
  host      : n1
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 4101)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_12:00:08
  host      : n1
  rank      : 3 (local_rank: 3)
  exitcode  : {code} (pid: 4103)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""
KILLED = (
    "[Sun Nov 29 12:00:08 2026] Out of memory: Killed process {pid} (python3) total-vm:99kB, anon-rss:122081742kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n"
)


def test_the_kernels_victim_has_the_rank_of_its_pid() -> None:
    """The kernel knows pids, the launcher knows whose they are."""
    report = analyse(train_log=FAILURES.format(code=-9), dmesg_txt=KILLED.format(pid=4103))
    assert report.root is not None
    assert (root(report), report.root.ranks) == ("memory.host-oom-kill", (3,))


def test_a_pid_that_the_launcher_does_not_know_gives_no_rank() -> None:
    """Another process on that machine was killed: it is none of the ranks."""
    report = analyse(train_log=FAILURES.format(code=-9), dmesg_txt=KILLED.format(pid=77))
    assert all(3 not in f.ranks for f in report.findings if f.id == "memory.host-oom-kill")


def test_a_traceback_of_nobody_is_the_launchers_first_failure() -> None:
    """A log without prefixes does not say who raised; the launcher says who failed first, and with what."""
    report = analyse(train_log=OOM + FAILURES.format(code=1))
    assert report.root is not None
    assert (report.root.ranks, report.root.facts["exit_code"]) == ((3,), 1)


@pytest.mark.parametrize(("name", "job"), [("slurm-633026_out", 633026), ("slurm-77_4_out", 77), ("train_log", None)])
def test_the_job_is_known_by_its_log(name: str, job: int | None) -> None:
    """Slurm names the log by the job."""
    file = name[::-1].replace("_", ".", 1)[::-1] if name.startswith("slurm") else "train.log"
    report = analyse(**{file: steps_then_raise()})
    assert report.root is not None
    assert report.root.facts.get("job_id") == job


def steps_then_raise() -> str:
    return "step 1/10 | loss 2.0\nstep 2/10 | loss 1.9\n" + RAISED.format(error="ValueError: odd")


def test_a_mismatch_names_the_module_that_is_loaded() -> None:
    """`/proc/driver/nvidia/version` says which half is the old one."""
    smi = (
        "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.54\n"
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.43.02  Tue Feb 23 23:31:36 UTC 2021\n"
    )
    report = analyse(smi_txt=smi)
    assert report.root is not None
    assert (report.root.facts["kernel_module"], report.root.facts["library"]) == ("535.43.02", "535.54")


def of_second_node(first: int) -> str:
    """Return the log of a node with ranks 4 to 7 of 8, whose lines count the ranks from `first` on."""
    told = OOM.splitlines()
    table = (
        FAILURES.format(code=1)
        .replace("rank      : 1 (", "rank      : 5 (")
        .replace("rank      : 3 (", "rank      : 7 (")
    )
    return "".join(f"[rank{first + 3}]: {line}\n" for line in told) + table


@pytest.mark.parametrize("first", [0, 4], ids=["local ranks", "global ranks"])
def test_the_table_of_the_launcher_tells_which_ranks_the_lines_of_a_later_node_name(first: int) -> None:
    """`torchrun --tee` prefixes its lines with the local rank, programs theirs with the global one."""
    report = analyse(node1_log=of_second_node(first))
    assert report.root is not None
    assert report.root.ranks == (7,)


def test_a_line_without_the_table_keeps_its_rank() -> None:
    """Nothing tells how many ranks run before it; and a cut table tells nothing."""
    report = analyse(node1_log=of_second_node(0).partition("Failures:")[0])
    assert report.root is not None
    assert report.root.ranks == (3,)


def test_the_table_of_ranks_says_more_than_the_launchers_own_status() -> None:
    """A launcher ends with 1 whatever its workers ended with."""
    report = analyse(train_log=OOM + FAILURES.format(code=-6), exit_code="1\n")
    assert report.root is not None
    assert (report.root.facts["exit_code"], report.run.exit_code) == (-6, 1)
    killed = analyse(train_log=OOM + FAILURES.format(code=1), exit_code="137\n")
    assert killed.root is not None
    assert killed.root.facts["exit_code"] == 137


def test_a_shell_tells_the_status_of_a_training_in_its_background() -> None:
    """And of other jobs, which say nothing of this one."""
    shell = "$ nohup {command} > train.log 2>&1 &\n[1] 20098\n$ \n[1]+  Exit 3                  nohup {command} > train.log 2>&1\n"
    raised = RAISED.format(error="ValueError: bad shard")
    ours = analyse(train_log=raised, shell_txt=shell.format(command="python train.py"))
    assert (ours.run.exit_code, ours.root and ours.root.facts["exit_code"]) == (3, 3)
    other = analyse(train_log=raised, shell_txt=shell.format(command="rsync -a in out"))
    assert other.run.exit_code is None


def test_of_two_logs_the_status_in_that_of_the_root_counts() -> None:
    """`docker compose up` writes it at the end of each."""
    raised = RAISED.format(error="ValueError: bad shard")
    report = analyse(
        first_log="step 1/9 | loss 2.0\nstep 2/9 | loss 1.9\nharness-1 exited with code 0\n",
        resume_log=f"step 2/9 | loss 2.0\n{raised}\u001b[Kharness-1 exited with code 1\n",
    )
    assert report.run.exit_code == 1


def test_a_batch_system_reports_job_and_node() -> None:
    """LSF puts its report before or behind what the program printed."""
    lsf = (
        "Subject: Job 1180233: <opus-mt-deu> in cluster <ccc> Exited\n\n"
        "Job was executed on host(s) <8*dccxc214>, in queue <x86_24h>, as user <me> in cluster <ccc>\n"
        "TERM_OWNER: job killed by owner.\nExited with exit code 130.\n"
    )
    report = analyse(report_txt=lsf)
    assert report.root is not None
    facts = report.root.facts
    assert (facts["job_id"], facts["node"]) == (1180233, "dccxc214")


def test_a_process_names_itself_as_a_signal_ends_it() -> None:
    """As glog's handler of signals does, in Paddle and Caffe."""
    last = "  [SignalInfo: *** SIGABRT (@0x3e800001e1f) received by PID 7711 (TID 0x7f1c31fff700) from PID 7711 ***]\n"
    report = analyse(train_log=OOM + last)
    assert report.root is not None
    assert report.root.facts["pid"] == 7711


@pytest.mark.parametrize(
    ("returned", "fact"),
    [("returned non-zero exit status 255.", ("exit_code", 255)), ("died with <Signals.SIGKILL: 9>.", ("signal", 9))],
)
def test_a_launcher_says_what_the_command_returned(returned: str, fact: tuple[str, int]) -> None:
    """What accelerate raises below the traceback of the training itself, if that is what it started."""
    raised = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
    raised += "subprocess.CalledProcessError: Command '['{name}', 'x']' " + returned + "\n"
    trained, listed = (analyse(train_log=OOM + raised.format(name=name)).root for name in ("python", "ls"))
    assert trained is not None
    assert listed is not None
    assert trained.facts[fact[0]] == fact[1]
    assert fact[0] not in listed.facts


def test_what_was_raised_is_told_beside_the_line_that_decides() -> None:
    """XLA's allocator speaks first, and Python raises what came of it."""
    log = (
        "2023-11-01 09:24:11.480012: W external/tsl/framework/bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of "
        "memory trying to allocate 4.44GiB (rounded to 4770354432)requested by op \n"
        + RAISED.format(
            error="jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
            "4770354232 bytes."
        )
    )
    report = analyse(train_log=log)
    assert report.root is not None
    assert (root(report), report.root.facts["exception"]) == ("memory.gpu-oom", "jaxlib.xla_extension.XlaRuntimeError")
