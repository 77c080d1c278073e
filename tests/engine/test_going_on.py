"""What the run went on after is not what ended it, whoever of the job tells so."""

from __future__ import annotations

import pytest

from tests.engine.runs import OOM, RAISED, analyse, finding, root, steps

PUSH = "".join(f"5: {line}\n" for line in RAISED.format(error="ConnectionError: push failed").splitlines())
CANCELLED = "slurmstepd: error: *** JOB 904417 ON gpu031 CANCELLED AT 2024-12-05T02:00:46 ***\n"


def test_a_rank_that_reports_no_steps_has_gone_on_where_the_others_did() -> None:
    """Ranks train in lockstep, so nine more steps of rank 0 mean that rank 5 was there: it handled its error."""
    log = steps(1, 20, prefix="0: ") + PUSH + steps(21, 40, prefix="0: ") + CANCELLED
    assert root(analyse(train_log=log)) == "scheduler.cancelled"


def test_a_rank_that_died_is_not_said_to_have_gone_on_by_the_step_that_was_under_way() -> None:
    """The others finish what they had begun, and then wait."""
    log = steps(1, 20, prefix="0: ") + PUSH + steps(21, 22, prefix="0: ") + CANCELLED
    assert root(analyse(train_log=log)) == "setup.python-exception"


@pytest.mark.parametrize(("answer", "expected"), [("OK", None), ("not responding, timed out", "host.stale-nfs")])
def test_a_file_server_that_answers_again_explains_nothing(answer: str, expected: str | None) -> None:
    """The kernel says both, and only the last counts."""
    kernel = (
        "[Mon Jun  3 06:11:20 2024] nfs: server store01 not responding, still trying\n"
        f"[Mon Jun  3 06:17:49 2024] nfs: server store01 {answer}\n"
    )
    assert root(analyse(train_log=steps(1, 100), dmesg_txt=kernel)) == expected


def test_a_lost_peer_before_the_first_time_out_is_what_they_waited_for() -> None:
    """The line has no time of its own; the lines around it place it ten minutes before the others gave up."""
    lost = (
        "n1:44:49 [0] transport/net_ib.cc:1930 NCCL WARN NET/IB: Got completion from peer 10.30.0.12<53942> with "
        "status=12 opcode=0 len=0 vendor err 129 (Send)\n"
    )
    step = (
        "[titan] 2025-05-11 22:41:0{n},591 - root - INFO - step: 13{n}  loss:  2.2231  grad_norm:  0.8625  tps: 5,919\n"
    )
    end = "[titan] 2025-05-11 22:41:11,800 - root - INFO - watchdog ends this rank\n"
    late = (
        "[rank3]:[E511 22:51:11.830000137 ProcessGroupNCCL.cpp:685] [Rank 3] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=173904, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600075 "
        "milliseconds before timing out.\n"
    )
    told = "".join(step.format(n=n) for n in range(5))
    report = analyse(rank0_log=told + lost + end, rank3_log=told + late)
    assert root(report) == "comm.peer-lost"


TMUX = "$ tmux new-session -d -s run 'bash start.sh'\nduplicate session: run\n"


def test_no_log_is_of_a_run_that_was_refused() -> None:
    """The old session's log is there, with its own failure; the new run never began."""
    log = steps(1, 20) + RAISED.format(error="ValueError: odd")
    report = analyse(train_log=log, tmux_txt=TMUX)
    assert (report.verdict, root(report)) == ("failed", "capture.tmux-duplicate")


def test_a_refusal_that_was_dealt_with_is_over() -> None:
    """Whoever ended the old session and tried again has the logs of the new one."""
    again = "$ tmux kill-session -t run\n$ tmux new-session -d -s run 'bash start.sh'\n$ tmux ls\nrun: 1 windows\n"
    log = steps(1, 20) + RAISED.format(error="ValueError: odd")
    assert root(analyse(train_log=log, tmux_txt=TMUX + again)) == "setup.python-exception"


def filling(sizes: list[float]) -> str:
    """Return a log whose memory goes through these sizes in GiB, and then runs out."""
    log = "".join(f"step {n}/99 | loss 2.0 | mem {size:.2f} GiB\n" for n, size in enumerate(sizes, 1))
    return log + OOM


@pytest.mark.parametrize(
    ("sizes", "grows"),
    [
        ([40 + n for n in range(40)], True),
        ([60.0] * 20 + [75.0] * 20, False),
        ([70.0] * 40, False),
        ([40.0, 79.0], False),
    ],
    ids=["a little each step", "one longest batch", "level", "too few"],
)
def test_memory_that_grows_from_step_to_step_is_told_from_a_full_card(sizes: list[float], grows: bool) -> None:  # noqa: FBT001 - a case
    """What is kept too long shows in every quarter of the run; a long batch lifts the peak once."""
    told = finding(analyse(train_log=filling(sizes)), "memory.gpu-oom").explanation
    assert ("Memory grew from 40.00 GiB at step 1 to 79.00 GiB at step 40" in told) is grows
