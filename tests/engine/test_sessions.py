"""What somebody's session shows beside a run: the past of the machine, and the logs of jobs before."""

from __future__ import annotations

from tests.engine.test_whose import root, steps


def test_a_session_shows_what_the_kernel_said_long_before_the_run() -> None:
    dmesg = (
        "$ dmesg -T | tail -2\n"
        "[Sat May 18 02:12:08 2024] Out of memory: Kill process 8812 (python) score 911 or sacrifice child\n"
        "[Sat May 18 02:12:08 2024] Killed process 8812 (python) total-vm:311204412kB, anon-rss:240110220kB\n"
    )
    log = "".join(f"[2024-06-06 08:{50 + i}:34] (step={5000 + i}) Train Loss: 0.15\n" for i in range(8))
    assert root({"log.txt": log, "shell.txt": dmesg}) is None
    assert root({"log.txt": log.replace("2024-06-06 08", "2024-05-18 02"), "shell.txt": dmesg}) is None
    ours = log.replace("2024-06-06 08:5", "2024-05-18 02:0")
    assert root({"log.txt": ours, "shell.txt": dmesg}) == "memory.host-oom-kill"


def test_what_a_session_shows_of_the_log_of_a_job_before_is_not_of_ours() -> None:
    session = (
        "lh@login1:/data/x$ sbatch s03.sh\n"
        "Submitted batch job 620191\n"
        "lh@login1:/data/x$ sacct -j 620191 -o JobID,JobName,State,ExitCode,Elapsed\n"
        "JobID           JobName      State ExitCode    Elapsed\n"
        "------------ ---------- ---------- -------- ----------\n"
        "620191         cgcnn-ft     FAILED     0:53   00:00:01\n"
        "lh@login1:/data/x$ tail -3 output_{job}/stderr.{job}\n"
        "RuntimeError: CUDA error: device-side assert triggered\n"
        "srun: error: gn11: task 0: Exited with exit code 1\n"
    )
    log = steps(1, 30) + "RuntimeError: CUDA error: device-side assert triggered\n"
    before = {"session.txt": session.format(job=618802), "output_618802/stderr.618802": log}
    assert root(before) == "capture.log-missing"
    assert root({"session.txt": session.format(job=620191)}) == "gpu.device-assert"
