"""A run that is well is never called failed, whatever its trainer, its libraries and its folder print."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from forensics.rulebook.load import Rulebook, load
from tests.cli.program import run
from tests.healthy.folders import FOLDERS, UNFINISHED, steps
from tests.healthy.forms import Trained
from tests.healthy.harmless import HARMLESS, Harmless
from tests.healthy.trainers import TRAINED


@cache
def rulebook() -> Rulebook:
    return load()


def analyse(**files: str) -> Report:
    return analyze_files({name: text.encode() for name, text in files.items()}, rulebook())


def blamed(report: Report) -> list[tuple[str, str]]:
    return [(f.id, f.severity) for f in report.findings if f.role != "note"]


@pytest.mark.parametrize("trained", TRAINED, ids=lambda t: t.name)
def test_a_whole_log_of_a_trainer_is_understood(trained: Trained) -> None:
    """Its last step is known, nothing is blamed, and its own way to end is evidence of the end."""
    report = analyse(**{trained.file: trained.log})
    assert blamed(report) == []
    assert (report.verdict, report.run.last_step) == (trained.verdict, trained.last_step)


@pytest.mark.parametrize("trained", TRAINED, ids=lambda t: t.name)
def test_a_log_that_was_cut_in_the_middle_blames_nothing(trained: Trained) -> None:
    """A healthy run that is still going looks like this."""
    lines = trained.log.splitlines(keepends=True)
    report = analyse(**{trained.file: "".join(lines[: max(1, len(lines) // 2)])})
    assert [found for found in blamed(report) if "error" in found] == []
    assert report.verdict == "unknown"


@pytest.mark.parametrize("said", HARMLESS, ids=lambda s: s.name)
def test_what_healthy_runs_print_is_no_failure(said: Harmless) -> None:
    """Banners, reminders and warnings are there whether a run fails or not."""
    report = analyse(
        **{"train.log": said.head + steps(1, 30) + said.amid + steps(31) + "Training complete\n" + said.tail}
    )
    assert blamed(report) == []
    assert (report.verdict, report.run.last_step) == ("healthy", 60)


@pytest.mark.parametrize("said", [s for s in HARMLESS if "segfault" not in s.name], ids=lambda s: s.name)
def test_what_healthy_runs_print_is_no_failure_of_a_run_that_says_no_end(said: Harmless) -> None:
    """The last of the planned steps is all there is to go by."""
    report = analyse(**{"train.log": said.head + steps(1, 30) + said.amid + steps(31) + said.tail})
    assert blamed(report) == []
    assert report.verdict == "healthy"


def test_all_that_healthy_runs_print_together_is_no_failure() -> None:
    """One long log may hold every one of them."""
    head, amid = "".join(s.head for s in HARMLESS), "".join(s.amid for s in HARMLESS)
    tail = "".join(s.tail for s in HARMLESS)
    report = analyse(**{"train.log": head + steps(1, 30) + amid + steps(31) + "Training complete\n" + tail})
    assert blamed(report) == []
    assert report.verdict == "healthy"


@pytest.mark.parametrize("name", FOLDERS)
def test_files_beside_a_healthy_log_do_not_change_it(name: str) -> None:
    """Earlier tries, other streams, notes and the machine's log tell nothing against the run."""
    report = analyse(**FOLDERS[name])
    assert blamed(report) == []
    assert (report.verdict, report.run.last_step) == ("healthy", 60)


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_full_bar_and_an_early_word_are_no_end_of_the_run(name: str) -> None:
    """Healthy needs evidence: the counter of the training itself, or the last word."""
    report = analyse(**UNFINISHED[name])
    assert blamed(report) == []
    assert report.verdict == "unknown"


@pytest.mark.parametrize(
    "raised",
    [
        '    trainer.push_to_hub()\n  File "/v/site-packages/huggingface_hub/utils/_http.py", line 409, in hf_raise\n'
        "    raise\nhuggingface_hub.errors.HfHubHTTPError: 403 Forbidden: you must use a write token to upload.\n",
        "    wandb.finish()\nwandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec. \n",
    ],
    ids=["hub", "tracker"],
)
@pytest.mark.parametrize("status", [None, "1\n"])
def test_an_upload_that_raises_after_the_end_leaves_a_finished_run(raised: str, status: str | None) -> None:
    """The weights are there: the run is degraded, and what is left to do again is the root."""
    log = (
        steps() + "Training complete\n" + 'Traceback (most recent call last):\n  File "/w/t.py", line 9, in <module>\n'
    )
    files = {"train.log": log + raised} | ({"exit_code": status} if status else {})
    report = analyse(**files)
    assert report.verdict == "degraded"
    assert [f.role for f in report.findings if f.severity == "error"] == ["root"]


def test_an_upload_that_raises_while_training_runs_is_no_late_one() -> None:
    """Here it ended the run."""
    log = (
        steps(1, 30)
        + 'Traceback (most recent call last):\n  File "/w/t.py", line 9, in <module>\n    api.upload_file(x)\n'
    )
    assert analyse(**{"train.log": log + "ValueError: no such repository\n"}).verdict == "failed"


def test_a_fold_that_raises_after_another_one_ended_is_a_failure() -> None:
    """The word of the first fold does not cover the second."""
    log = steps(1, 30) + "Training finished\n" + steps(1, 20)
    log += (
        'Traceback (most recent call last):\n  File "/w/t.py", line 9, in <module>\n    main()\nValueError: bad fold\n'
    )
    assert analyse(**{"train.log": log}).verdict == "failed"


def test_a_failed_run_is_not_excused_by_a_folder_that_is_merely_named_like_one() -> None:
    """`old_model` holds a run of a model, a dated folder is where hydra writes."""
    for folder in ("old_model", "outputs/2026-03-01/10-00-00", "logs"):
        report = analyse(
            **{f"{folder}/train.log": FOLDERS["old-try-of-the-same-name"]["old/train.log"], "launch.log": "starting\n"}
        )
        assert report.verdict == "failed", folder


def test_a_folder_of_old_logs_alone_is_read_as_the_run_in_question() -> None:
    """Whoever gives nothing else wants to know about it."""
    raised = FOLDERS["old-try-of-the-same-name"]["old/train.log"]
    assert analyse(**{"old/train.log": raised, "notes.txt": "see old\n"}).verdict == "failed"


@pytest.mark.parametrize("name", ["transformers-4", "keras-2", "vllm-server", "megatron"])
def test_the_program_itself_says_so(name: str, tmp_path: Path) -> None:
    """From files on a disk to the printed verdict."""
    trained = next(t for t in TRAINED if t.name == name)
    (tmp_path / trained.file).write_text(trained.log)
    done = run("analyze", str(tmp_path), "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"]) == (0, "healthy")
    assert report["run"]["last_step"] == trained.last_step
