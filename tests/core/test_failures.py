"""Each failure that a CPU can show, provoked for real and named by `analyze`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.conftest import Train

FAILURES = [
    (("--fail", "nan"), {}, 0, "train.nan-loss"),
    (("--fail", "bad-token"), {}, 1, "train.shape-mismatch"),
    (("--fail", "kill"), {}, 137, "host.killed-signal"),
    (("--attention", "dense"), {}, 1, "compile.dense-fallback"),
    (("--attention", "compiled"), {"TORCHDYNAMO_DISABLE": "1"}, 1, "compile.dense-fallback"),
    (("--steps", "0"), {}, 2, "setup.cli-args"),
]


@pytest.mark.parametrize(("arguments", "environment", "status", "root"), FAILURES, ids=lambda v: str(v)[:40])
def test_a_failure_is_what_it_says(
    arguments: tuple[str, ...], environment: dict[str, str], status: int, root: str, train: Train, tmp_path: Path
) -> None:
    """The program dies as asked, and its log alone tells of what."""
    ran = train(tmp_path / "run", *arguments, **environment)
    assert ran.status == status, ran.log
    assert ran.roots() == [root]


@pytest.mark.slow
def test_a_hang_is_a_hang(train: Train, tmp_path: Path) -> None:
    """A deadlock on a target stops the drafters that need it; the time limit ends the run."""
    checkpoints = ("--checkpoints", str(tmp_path / "checkpoints"))
    ran = train(tmp_path / "run", "--fail", "hang", *checkpoints, limit_s=15)
    assert ran.status == 124
    assert ran.roots() == ["train.hang"]
    assert ran.report()["run"]["last_checkpoint_step"] == 5


def test_a_bad_sample_can_be_passed_over(train: Train, tmp_path: Path) -> None:
    """With the fix the run names the sample and finishes; all steps but that one see the same data."""
    ran = train(tmp_path / "run", "--fail", "bad-token", "--bad-tokens", "skip")
    assert ran.status == 0
    assert "it holds token id 71" in ran.log
    assert ran.report()["verdict"] == "healthy"


def test_no_checkpoint_holds_a_nan(train: Train, tmp_path: Path) -> None:
    """Once a loss is not finite, the checkpoint before it stays the newest."""
    ran = train(tmp_path / "run", "--fail", "nan", "--checkpoints", str(tmp_path / "checkpoints"))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000005.pt"]
    assert "no checkpoint of step 10" in ran.log


def test_attention_that_is_compiled_learns_the_same(train: Train, tmp_path: Path) -> None:
    """Through the compiler, at two lengths and on three threads, the losses are those of eager attention."""
    shape = ("--threads", "3", "--ctx", "128,256", "--steps", "4")
    eager = train(tmp_path / "eager", *shape).steps()
    compiled = train(tmp_path / "compiled", *shape, "--attention", "compiled")
    assert compiled.log.count("| compiling attention") == 2
    assert {key: step["loss"] for key, step in compiled.steps().items()} == pytest.approx(
        {key: step["loss"] for key, step in eager.items()}, rel=1e-4
    )
