"""Who explains whom: one root, its chain, and what is not ours."""

from __future__ import annotations

from tests.engine.runs import OOM, RAISED, analyse, finding, root, steps

TIMEOUT = (
    "[rank{rank}]:[E1129 12:{minute}:00.4 ProcessGroupNCCL.cpp:689] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=25, OpType=ALLREDUCE, NumelIn=7, NumelOut=7, Timeout(ms)=20000) ran for 20020 milliseconds before "
    "timing out.\n"
)


def rank(number: int, text: str) -> str:
    return "".join(f"[rank{number}]: {line}\n" for line in text.rstrip("\n").split("\n"))


def test_the_time_outs_of_others_follow_from_the_rank_that_raised() -> None:
    """Sixty-three watchdogs are one consequence."""
    log = steps(1, 5) + rank(3, RAISED.format(error="KeyError: 'input_ids'"))
    log += "".join(TIMEOUT.format(rank=r, minute="50") for r in range(3)) + "".join(
        TIMEOUT.format(rank=r, minute="50") for r in range(4, 8)
    )
    report = analyse(train_log=log)
    assert report.root is not None
    assert report.root.ranks == (3,)
    timeouts = finding(report, "comm.collective-timeout")
    assert timeouts.role in {"cause", "consequence"}
    assert report.root.id in timeouts.because


def test_at_most_one_finding_is_the_root() -> None:
    """Two independent errors are one root and one note."""
    log = steps(1, 5) + OOM + RAISED.format(error="ModuleNotFoundError: No module named 'x'")
    report = analyse(train_log=log)
    assert [f.role for f in report.findings].count("root") == 1


def test_the_silent_rank_is_not_blamed_by_the_ranks_that_waited() -> None:
    """Time-outs alone have no other cause in this log; they are the root until more is known."""
    log = steps(1, 5) + "".join(TIMEOUT.format(rank=r, minute="50") for r in (0, 1, 2))
    assert root(analyse(train_log=log)) == "comm.collective-timeout"


def test_a_kernel_line_with_the_pid_of_the_dead_worker_explains_its_death() -> None:
    """The launcher saw status -9; the kernel knows why."""
    log = steps(1, 5) + (
        "E1129 12:55:16.518000 583 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: -9) "
        "local_rank: 1 (pid: 697) of binary: /usr/bin/python\n"
    )
    kernel = (
        "[Sun Nov 29 12:55:15 2026] Out of memory: Killed process 697 (python) total-vm:612440188kB, anon-rss:119220452kB, "
        "file-rss:71120kB, shmem-rss:20188kB, UID:1004 pgtables:1127kB oom_score_adj:0\n"
    )
    report = analyse(train_log=log, dmesg_txt=kernel)
    assert root(report) == "memory.host-oom-kill"
    assert finding(report, "host.killed-signal").because == ("memory.host-oom-kill",)


def test_a_kernel_line_of_another_day_is_not_ours() -> None:
    """The kernel's log reaches back over other people's jobs."""
    log = "".join(f"2026-11-29 12:50:{i:02d} | INFO | step {i}/10 | loss 2.0\n" for i in range(1, 11))
    kernel = (
        "[Thu Nov 12 03:00:00 2026] NVRM: Xid (PCI:0000:bd:00): 79, pid=12, name=python, GPU has fallen off the bus.\n"
    )
    report = analyse(train_log=log, dmesg_txt=kernel, exit_code="0\n")
    assert report.verdict == "healthy"
    assert finding(report, "gpu.fell-off-bus").role == "note"


def test_a_failure_of_an_earlier_attempt_is_a_note() -> None:
    """The second try finished; the first one's time-out is history."""
    first = "2026-11-29 10:00:00 | INFO | start\n" + steps(1, 5) + OOM
    second = "2026-11-29 11:00:00 | INFO | start\n" + steps(1, 100) + "2026-11-29 11:30:00 | INFO | Training complete\n"
    report = analyse(**{"attempt1.log": first, "attempt2.log": second})
    assert report.verdict == "healthy"
    assert finding(report, "memory.gpu-oom").role == "note"
    assert "earlier attempt" in finding(report, "memory.gpu-oom").explanation


def test_the_failure_of_the_last_attempt_counts() -> None:
    """The other way round the run has failed."""
    first = "2026-11-29 10:00:00 | INFO | start\n" + steps(1, 100) + "2026-11-29 10:30:00 | INFO | Training complete\n"
    second = "2026-11-29 11:00:00 | INFO | start\n" + steps(1, 5) + OOM
    assert root(analyse(**{"attempt1.log": first, "attempt2.log": second})) == "memory.gpu-oom"


def test_a_restart_in_one_log_that_succeeds_is_healthy() -> None:
    """Torchrun restarted the workers, and they went through."""
    log = steps(1, 40) + rank(0, OOM) + steps(30, 100) + "Training complete\n"
    assert analyse(train_log=log, exit_code="0\n").verdict == "healthy"


def test_every_finding_cites_a_place() -> None:
    """There is no finding without evidence, and evidence is verbatim."""
    log = steps(1, 5) + OOM
    report = analyse(train_log=log, exit_code="1\n")
    lines = log.split("\n")
    for found in report.findings:
        assert found.evidence
        for place in found.evidence:
            if place.path == "train.log" and place.line:
                assert place.text.split("\n")[0] in lines[place.line - 1]


def test_the_same_run_gives_the_same_report() -> None:
    """Nothing depends on the clock, on order of sets, or on what was analysed before."""
    log = steps(1, 5) + rank(1, OOM) + TIMEOUT.format(rank=0, minute="50")
    assert analyse(train_log=log) == analyse(train_log=log)


def test_a_warning_long_before_the_failure_it_foretold_explains_it() -> None:
    """Steps between an unfused attention and the allocation that did not fit are no recovery."""
    warned = (
        "/venv/torch/nn/attention/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile() - "
        "this will use an unfused implementation that materializes the full scores matrix.\n"
    )
    frames = (
        '  File "/venv/torch/_higher_order_ops/flex_attention.py", line 391, in sdpa_dense\n    out = math_attention(\n'
    )
    failed = OOM.replace("    main()\n", f"    main()\n{frames}").replace("6.00 GiB", "276.00 GiB")
    report = analyse(train_log=warned + steps(1, 24) + failed)
    assert root(report) == "compile.dense-fallback"
    assert finding(report, "compile.dense-fallback").evidence[0].line == 1
    assert "compile.dense-fallback" in finding(report, "memory.gpu-oom").because


BUILT = (
    "May 17 21:12:03 b200-n03 kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build  "
    "(dvs-builder@U22)  Mon Dec  8 13:05:00 UTC 2025\n"
    "May 17 21:12:04 b200-n03 kernel: Linux version 6.8.0 (gcc 13.3.0) #51-Ubuntu SMP Thu Aug 29 13:45:52 UTC 2024\n"
)
XID = "May 18 03:04:49 b200-n03 kernel: NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT Fatal   XC0 i0 Link 09 (0x026001c6)\n"


def test_the_day_on_which_a_driver_was_built_is_not_the_year_of_the_kernels_lines() -> None:
    """The lines of syslog name none; the other logs of the run do."""
    stamped = "".join(f"2026-05-18 03:0{n}:00,000 INFO step {n}/900 | loss 2.{n}\n" for n in range(1, 5))
    raised = RAISED.format(error="RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution")
    report = analyse(train_log=stamped + raised, dmesg_txt=BUILT + XID)
    assert report.root is not None
    assert (report.root.id, report.root.facts["xid"], report.root.facts["pci"]) == (
        "gpu.nvlink-error",
        149,
        "0000:dc:00",
    )


def test_a_kernel_log_that_names_the_year_dates_the_lines_of_others() -> None:
    """Also behind the node and the level that Talos puts before a line."""
    stamped = "".join(f"INFO 05-18 03:0{n}:00 [loggers.py:118] step {n}/900 | loss 2.{n}\n" for n in range(1, 5))
    talos = "10.0.0.7: kern: warning: [2026-05-18T03:04:49.5Z]: NVRM: Xid (PCI:0000:dc:00): 79, pid=7, GPU has fallen off the bus.\n"
    report = analyse(train_log=stamped, dmesg_txt=talos)
    assert report.run.started == 1_779_073_260
    assert report.root is not None
    assert report.root.facts["node"] == "10.0.0.7"
