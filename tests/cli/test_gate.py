"""`gate` from end to end: every exit status, every file it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import ROOT, run
from tests.gate.runs import RUNS

SAMPLES = ROOT / "samples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all the runs, and no policy above it."""
    for name, files in RUNS.items():
        (tmp_path / name).mkdir()
        for file, data in files.items():
            (tmp_path / name / file).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "plain", "failing", "passing"),
    [
        ("003-compiled-ok", 0, 0, 0),
        ("014-lightning-ok", 0, 0, 0),
        ("002-dense-276", 1, 1, 1),
        ("007-nan-loss", 1, 1, 1),
        ("009-rank-raises", 1, 1, 1),
        ("012-status-masked", 1, 1, 1),
        ("001-story", 3, 3, 0),
        ("013-nul-tail", 3, 3, 0),
    ],
)
def test_a_recorded_run_passes_fails_or_cannot_be_told(name: str, plain: int, failing: int, passing: int) -> None:
    """0, 1 and 3 on real runs, without --unknown, with fail, and with pass."""
    path = str(SAMPLES / name / "run")
    assert run("gate", path).returncode == plain
    assert run("gate", path, "--unknown", "fail").returncode == failing
    assert run("gate", path, "--unknown", "pass").returncode == passing


def test_a_run_that_exited_0_can_fail(folder: Path) -> None:
    """NaN, a masked status, half of the steps: the status lies, the log does not."""
    for name in ("nan", "masked", "half"):
        done = run("gate", str(folder / name))
        assert done.returncode == 1, name
        assert done.stdout.startswith(b"FAIL  ")
        assert b"train.log:" in done.stdout


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["gate", "no-such-folder"], b"no such file or folder"),
        (["gate", "healthy", "--policy", "missing.toml"], b"missing.toml: cannot be read"),
        (["gate", "healthy", "--policy", "wrong.toml"], b"fail-onn"),
        (["gate", "healthy", "--baseline", "missing.json"], b"--update-baseline"),
        (["gate", "healthy", "--baseline", "healthy/train.log"], b"is no baseline"),
        (["gate", "healthy", "--update-baseline"], b"--baseline FILE"),
        (["gate", "healthy", "-o", "gate.unknown"], b"FORMAT=FILE"),
        (["gate", "healthy", "-o", "missing/gate.sarif"], b"there is no folder missing"),
        (["gate", "healthy", "--against", "missing"], b"no such file or folder"),
        (["gate"], b"Missing argument 'PATH...'"),
    ],
)
def test_wrong_usage_is_2_and_says_what_to_do(
    args: list[str], told: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate that could not judge must not look like a run that failed."""
    monkeypatch.chdir(folder)
    (folder / "wrong.toml").write_text("fail-onn = 'error'\n")
    done = run(*args)
    assert done.returncode == 2
    assert told in done.stderr + done.stdout
    assert b"Traceback" not in done.stderr


def test_several_files_at_once_each_in_the_form_of_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One analysis, all the reports a pipeline wants."""
    monkeypatch.chdir(folder)
    names = ["gate.sarif", "junit.xml", "gl-code-quality-report.json", "summary.md", "report.json", "why.txt"]
    options = [word for name in [*names, "decision=all.json"] for word in ("-o", name)]
    assert run("gate", "raised", *options).returncode == 1
    log = json.loads((folder / "gate.sarif").read_bytes())
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]}
    assert uris == {"raised/train.log"}, "a path that the repository has"
    assert (folder / "junit.xml").read_bytes().startswith(b"<?xml")
    assert json.loads((folder / "gl-code-quality-report.json").read_bytes())[0]["location"]["path"]
    assert json.loads((folder / "report.json").read_bytes())["schema"] == "dflash-forensics/report/1"
    assert json.loads((folder / "all.json").read_bytes())["schema"] == "dflash-forensics/gate/1"
    assert (folder / "why.txt").read_bytes().startswith(b"FAIL")
    assert (folder / "summary.md").read_bytes().startswith(b"## Fail")


def test_github_gets_annotations_and_a_summary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where people already look: at the step, and at its summary."""
    monkeypatch.chdir(folder)
    summary = folder / "summary.md"
    summary.write_text("before\n")
    done = run("gate", "raised", "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 1
    assert b"\n::error title=setup.python-exception,file=raised/train.log,line=" in done.stdout
    assert summary.read_text().startswith("before\n## Fail")


def test_a_baseline_is_made_then_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was accepted passes on the next day; another failure does not."""
    monkeypatch.chdir(folder)
    made = run("gate", "raised", "--baseline", "known.json", "--update-baseline")
    assert made.returncode == 0
    assert run("gate", "raised", "--baseline", "known.json").returncode == 0
    assert run("gate", "nan", "--baseline", "known.json").returncode == 1


def test_the_policy_of_the_project_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`[tool.dflash-forensics]` of the nearest pyproject.toml; options win over it."""
    monkeypatch.chdir(folder)
    (folder / "pyproject.toml").write_text("[tool.dflash-forensics]\nfail-on = 'warning'\n")
    assert run("gate", "degraded").returncode == 1
    assert run("gate", "degraded", "--fail-on", "error").returncode == 0


def test_a_run_is_held_against_a_good_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new warning fails, and the good run passes beside itself."""
    monkeypatch.chdir(folder)
    assert run("gate", "healthy", "--against", "healthy").returncode == 0
    done = run("gate", "degraded", "--against", "healthy")
    assert done.returncode == 1
    assert b"gate.new-warning" in done.stdout


def test_check_fails_a_test_with_the_reason(folder: Path) -> None:
    """For people who test training in pytest: the place and the cause are in the message."""
    from forensics.gate import GateError, Policy, check

    assert check(folder / "healthy", policy=Policy()).status == "pass"
    with pytest.raises(GateError, match=r"setup\.python-exception: .*train\.log:\d+") as failed:
        check(folder / "raised", policy=Policy())
    assert isinstance(failed.value, AssertionError)
    assert failed.value.decision.status == "fail"
    with pytest.raises(GateError, match=r"gate\.new-warning"):
        check(folder / "degraded", policy=Policy(), against=folder / "healthy")
