"""A log that stops at the end of a block, of a run that is alive: the rest sits in a buffer."""

from __future__ import annotations

import pytest

from forensics.model import Report
from tests.engine.runs import analyse, root

JOB = "#!/bin/bash\n#SBATCH --output=train.log\n#SBATCH -t 08:00:00\npython pretrain.py --train-iters 20000\n"
RUNS = """             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
             90412     batch    gpt-2b      ana  R    1:42:10      1 hgx-114
"""
SAVED = "2026-03-02 11:36:02 Saved checkpoint Iteration: 6000\n"
BUSY = """timestamp, index, utilization.gpu [%], memory.used [MiB]
2026/03/02 11:40:11.001, 0, 97 %, 61120 MiB
2026/03/02 11:40:11.001, 1, 98 %, 61120 MiB
"""
METRICS = "".join(f'{{"step": {n}, "loss": 2.5}}\n' for n in range(4900, 4940))


def log(length: int) -> str:
    rows = (
        f"2026-03-02 10:{n // 3:02d}:{n % 3 * 20:02d} step {n * 20:5d}/20000 | loss {3 - n / 100:.4f} | grad_norm 1.0 | tok/s 48000\n"
        for n in range(170)
    )
    return "".join(rows)[:length]


def report(files: dict[str, str], length: int = 8192) -> Report:
    assert not log(length).endswith("\n")
    return analyse(**{"train_log": log(length), "job.sbatch": JOB, **files})


@pytest.mark.parametrize("length", [4096, 8192, 12288])
def test_the_run_goes_on(length: int) -> None:
    """The scheduler says so, and a checkpoint is younger than the log."""
    found = report({"squeue_txt": RUNS, "progress_txt": SAVED}, length)
    assert root(found) == "capture.buffered-output"
    assert found.verdict == "degraded"
    assert "still running" in found.reason


def test_a_busy_machine_shows_that_it_lives() -> None:
    """Nobody asked the scheduler: how it ended, if it did, is not known."""
    found = report({"progress_txt": SAVED, "gpu.csv": BUSY})
    assert (root(found), found.verdict) == ("capture.buffered-output", "unknown")
    assert root(report({"progress_txt": SAVED})) == "capture.log-truncated"


def test_metrics_in_a_file_of_their_own_show_progress() -> None:
    """What a program writes itself it flushes."""
    assert root(report({"squeue_txt": RUNS, "metrics.jsonl": METRICS})) == "capture.buffered-output"


@pytest.mark.parametrize(
    ("length", "files"),
    [
        (8192, {"squeue_txt": RUNS}),
        (8192, {"squeue_txt": RUNS, "progress_txt": SAVED.replace("11:36", "10:10").replace("6000", "600")}),
        (8000, {"squeue_txt": RUNS, "progress_txt": SAVED}),
        (8192, {"squeue_txt": RUNS, "progress_txt": SAVED, "job.sbatch": JOB.replace("python", "python -u")}),
        (8192, {"squeue_txt": RUNS, "progress_txt": SAVED, "copy_txt": "lost connection\n"}),
        (8192, {"squeue_txt": RUNS.replace(" R ", "CG "), "progress_txt": SAVED, "exit_code": "1\n"}),
    ],
)
def test_a_log_that_ends_there_for_another_reason(length: int, files: dict[str, str]) -> None:
    """A program that may hang, a log copied while it was written, one that is not buffered, a broken copy, an end."""
    found = report(files, length)
    assert root(found) != "capture.buffered-output"
    assert found.verdict != "degraded"


WRAPPED = """#!/bin/bash
#SBATCH --output=out_%j.out
#SBATCH --error=err_%j.err
python3 main.py --epochs 400
"""
MUTE = {
    "train_sh": WRAPPED,
    "out_245.out": "Job started on c002 at Sun Sep 12 14:20:11 EDT 2021\n",
    "err_245.err": "slurmstepd: error: *** JOB 245 ON c002 CANCELLED AT 2021-09-13T15:02:11{why} ***\n",
    "gpu.csv": BUSY,
}


@pytest.mark.parametrize(
    "beside", [{}, {"by_hand_log": "step 1 | loss 2.0\nstep 2 | loss 1.9\n"}], ids=["alone", "beside a trial"]
)
def test_a_mute_job_that_somebody_cancelled_had_worked(beside: dict[str, str]) -> None:
    """Its own log has nothing to say; what a trial by hand printed is no word of it."""
    files = {name: text.format(why="") for name, text in MUTE.items()}
    assert root(analyse(**files, **beside)) == "capture.buffered-output"


def test_a_mute_job_whose_time_was_over_ended_of_that() -> None:
    """Nobody was misled by its silence."""
    files = {name: text.format(why=" DUE TO TIME LIMIT") for name, text in MUTE.items()}
    assert root(analyse(**files)) == "scheduler.time-limit"


def test_a_monitor_in_a_session_shows_the_run_at_work() -> None:
    """`nvidia-smi dmon`, typed by hand: the same columns as in a file of its own."""
    dmon = """me@ws3:~$ date
Sat Nov 29 12:40:00 UTC 2026
me@ws3:~$ nvidia-smi dmon -c 2 -s pum
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa     fb   bar1   ccpm
# Idx      W      C      C      %      %      %      %      %      %     MB     MB     MB
    0    437     71      -     97     61      0      0      0      0  21877     16      0
    0    441     71      -     98     62      0      0      0      0  21877     16      0
me@ws3:~$
"""
    idle = dmon.replace(" 97     61", "  0      0").replace(" 98     62", "  0      0").replace("21877", "    0")
    found = [
        {f.id for f in analyse(train_log="step 1/9 | loss 2.0\n", host_txt=text).findings} for text in (dmon, idle)
    ]
    assert ["gpu.all-idle" in ids for ids in found] == [False, True]


def test_somebody_killed_a_run_that_only_seemed_to_hang() -> None:
    """The GPU worked, as a query without a header shows, and the log had what came from stderr alone."""
    script = "nohup python run.py -e 80 &> run.log &\n"
    session = (
        "$ nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader\n{load} %, 9914 MiB\n"
        "$ kill -9 88213   # no epoch line for 5 h, hangs?\n"
    )
    log = f"nohup: ignoring input\n{STDERR}"
    found = [root(analyse(go_sh=script, run_log=log, session_txt=session.format(load=load))) for load in (87, 0)]
    assert found == ["capture.buffered-output", None]


LISTED = """me@login:~$ date
Mon Mar  2 12:10:00 2026
me@login:~$ ls -l --time-style=full-iso
-rw-r--r-- 1 me me      214 2026-03-02 10:00:20.118201 +0000 train.log
-rw-r--r-- 1 me me 41833117 2026-03-02 12:08:51.334902 +0000 model_best.pth.tar
"""
STDERR = "/v/site-packages/torch/functional.py:504: UserWarning: torch.meshgrid: pass the indexing argument.\n"


def test_a_log_that_holds_none_of_the_words_of_a_run_at_work() -> None:
    """Only stderr came through; what was saved since is younger, and the GPU is busy."""
    files = {"job.sbatch": JOB, "train_log": STDERR, "shell_txt": LISTED, "squeue_txt": RUNS}
    assert root(analyse(**files)) == "capture.buffered-output"
    assert root(analyse(**{**files, "train_log": log(3000).rpartition("\n")[0] + "\n"})) is None
    assert root(analyse(**{**files, "job.sbatch": JOB.replace("python ", "python -u ")})) is None


def test_ps_shows_the_program_at_work() -> None:
    """No look at the GPU, but at the process that the script started."""
    ps = "me@login:~$ ps -o pid,stat,etime,cmd -p 99\n  PID STAT     ELAPSED CMD\n   99 {state}  03:38:52 python {name}\n"
    script = "nohup python main.py -gr 2000 > train.log 2>&1 &\n"
    shown = [("Rl", "main.py"), ("Zl", "main.py"), ("Rl", "other.py")]
    found = [
        root(analyse(run_sh=script, train_log=STDERR, shell_txt=LISTED + ps.format(state=state, name=name)))
        for state, name in shown
    ]
    assert found == ["capture.buffered-output", None, None]
