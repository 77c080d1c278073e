"""Healthy needs evidence, failed needs a cause or a status, and what cannot be told is unknown."""

from __future__ import annotations

import pytest

from tests.engine.runs import OOM, RAISED, analyse, finding, root, steps


def test_a_status_of_zero_and_progress_are_healthy() -> None:
    """Somebody recorded that it ended well."""
    report = analyse(train_log=steps(1, 100), exit_code="0\n")
    assert (report.verdict, root(report), report.restart_helps) == ("healthy", None, "no")


def test_a_word_of_completion_is_enough() -> None:
    """Without a status the program's own word counts."""
    assert analyse(train_log=steps(1, 50) + "Training complete\n").verdict == "healthy"


def test_the_last_of_the_planned_steps_is_enough() -> None:
    """A run that reached its total has done what it was asked."""
    assert analyse(train_log=steps(1, 100)).verdict == "healthy"


def test_a_log_that_just_stops_is_unknown_and_says_what_would_settle_it() -> None:
    """It may still be running."""
    report = analyse(train_log=steps(1, 50))
    assert (report.verdict, root(report)) == ("unknown", None)
    assert "nvidia-smi" in report.reason


def test_a_status_without_an_explanation_is_a_failure_without_a_root() -> None:
    """The status is evidence, and no cause is invented for it."""
    report = analyse(train_log=steps(1, 50), exit_code="3\n")
    assert (report.verdict, root(report)) == ("failed", None)


def test_zero_from_a_pipeline_is_not_evidence() -> None:
    """`python | tee; echo $?` says how tee ended."""
    launch = "python3 train.py 2>&1 | tee train.log; echo $? > exit_code\n"
    assert analyse(train_log=steps(1, 50), exit_code="0\n", launch_sh=launch).verdict == "unknown"


def test_a_nan_loss_fails_a_run_that_exited_with_zero() -> None:
    """The program was content; the loss is not a number."""
    log = steps(1, 20) + "".join(f"step {i}/40 | loss nan | grad_norm nan\n" for i in range(21, 41))
    report = analyse(train_log=log + "Training complete\n", exit_code="0\n")
    assert (report.verdict, root(report)) == ("failed", "train.nan-loss")
    assert finding(report, "train.nan-loss").facts["first_nan_step"] == 21


def test_a_loss_that_is_not_a_number_once_is_not_a_failure() -> None:
    """A skipped step recovers."""
    log = steps(1, 20) + "step 21/40 | loss nan | grad_norm nan\n" + steps(22, 40, 40)
    assert analyse(train_log=log, exit_code="0\n").verdict == "healthy"


def test_a_finished_run_with_a_warning_is_degraded() -> None:
    """It ran eagerly past the limit: finished, but slow."""
    warning = "W1129 12:43:33.835000 490 torch/_dynamo/convert_frame.py:1743] [0/8] torch._dynamo hit config.recompile_limit (8)\n"
    report = analyse(train_log=steps(1, 50) + warning + steps(51, 100), exit_code="0\n")
    assert (report.verdict, root(report)) == ("degraded", "compile.recompile-limit")


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-29 12:51:52,190 - WARNING - trainer - batch size 64 does not fit, halving: CUDA out of memory. "
        "Tried to allocate 400.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 139.29 GiB is free.",
        "metrics: error_rate=0.4 Error = 1.904410 fault_count=0",
        "usage: train.py [--resume-after-oom] handles 'CUDA out of memory' by halving the batch",
        "see https://example.org/docs/xid-79-gpu-has-fallen-off-the-bus for help",
        "note: NVRM: Xid messages are written to dmesg",
        "Traceback (most recent call last): is what you see if this fails",
        "destroy_process_group() was not called before program exit, which can leak resources.",
        "config: {'on_error': 'RuntimeError: CUDA error: device-side assert triggered', 'retries': 3}",
        "# if you see 'slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-11-29T12:00:00 DUE TO TIME LIMIT ***' raise --time",
    ],
)
def test_words_that_merely_occur_are_no_finding(line: str) -> None:
    """Logs, help texts, settings and metrics quote failures without having any."""
    report = analyse(train_log=steps(1, 50) + line + "\n" + steps(51, 100), exit_code="0\n")
    assert report.verdict == "healthy"
    assert not [f for f in report.findings if f.role != "note"]


def test_a_fault_that_the_run_outlived_is_a_note() -> None:
    """It was caught, and the steps went on."""
    report = analyse(train_log=steps(1, 20) + OOM + steps(21, 100), exit_code="0\n")
    assert report.verdict == "healthy"
    assert finding(report, "memory.gpu-oom").role == "note"


def test_a_status_turns_a_fault_that_seemed_outlived_into_the_cause() -> None:
    """Other threads went on for a while; the status says how it ended."""
    report = analyse(train_log=steps(1, 20) + OOM + steps(21, 30), exit_code="1\n")
    assert (report.verdict, root(report)) == ("failed", "memory.gpu-oom")


def test_trouble_at_the_exit_does_not_undo_a_finished_run() -> None:
    """The work was done before the interpreter fell over its own teardown."""
    report = analyse(train_log=steps(1, 100) + "Training complete\n" + RAISED.format(error="ValueError: late"))
    assert report.verdict == "healthy"
    assert all(f.role == "note" for f in report.findings)


def test_a_warning_that_led_to_an_error_is_a_failure() -> None:
    """The warning is the root; the error is what ended the run."""
    warning = (
        "/v/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile() - this will use an "
    )
    log = (
        warning
        + "unfused implementation that materializes the full scores matrix instead of generating a fused kernel.\n"
    )
    report = analyse(train_log=steps(1, 3) + log + OOM)
    assert (report.verdict, root(report)) == ("failed", "compile.dense-fallback")


def test_a_try_that_raised_is_forgiven_where_the_same_log_holds_one_that_went_well() -> None:
    """The second command was appended right behind the traceback of the first."""
    raised = RAISED.format(error="ModuleNotFoundError: No module named 'flash_attn'")
    log = "$ python train.py\n" + raised + "$ python train.py\n"
    log += "".join(f"epoch {i}/20 loss {4 - i / 10:.3f}\n" for i in range(1, 21)) + "Done.\n"
    report = analyse(train_log=log)
    assert (report.verdict, root(report)) == ("healthy", None)
