"""A run that died goes on where it stopped, to the last bit."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.core.conftest import Ran, Train

EXACT = ("loss", "lr", "grad_norm", "ctx")


@pytest.fixture(scope="module")
def whole(train: Train, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """Return a run that never stopped, and the folder of its checkpoints."""
    folder = tmp_path_factory.mktemp("whole")
    return train(folder / "run", "--checkpoints", str(folder / "kept")), folder / "kept"


def contents(path: Path) -> dict[str, bytes]:
    """Return the bytes of the tensors of a checkpoint, by their numbers."""
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist() if "/data/" in name}


def test_a_killed_run_goes_on_to_the_same_bits(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """Killed at step 7 and started again with the same command, it ends in the checkpoint of a run never killed."""
    never, kept = whole
    again = ("--checkpoints", str(tmp_path / "kept"), "--resume", "auto")
    fault = ("--fail", "kill", "--fail-once", str(tmp_path / "killed"))
    first = train(tmp_path / "first", *again, *fault)
    assert first.status == 137
    second = train(tmp_path / "second", *again, *fault)
    assert second.status == 0, second.log
    assert "resumed from" in second.log
    assert second.report()["verdict"] == "healthy"
    taken = first.steps() | second.steps()
    assert min(step for _, step in second.steps()) == 5
    assert {k: [s[n] for n in EXACT] for k, s in taken.items()} == {
        k: [s[n] for n in EXACT] for k, s in never.steps().items()
    }
    ours, theirs = contents(tmp_path / "kept" / "step-000010.pt"), contents(kept / "step-000010.pt")
    assert len(ours) > 100
    assert ours == theirs


def test_a_cut_checkpoint_is_passed_over(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """The newest file is cut and a save was under way: the run goes on from the newest that is whole."""
    _, kept = whole
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "step-000005.pt").write_bytes((kept / "step-000005.pt").read_bytes())
    (folder / "step-000008.pt").write_bytes((kept / "step-000010.pt").read_bytes()[:-4000])
    (folder / "step-000009.pt.tmp").write_bytes(b"PK")
    ran = train(tmp_path / "run", "--checkpoints", str(folder), "--resume", "auto")
    assert ran.status == 0, ran.log
    assert "passed over" in ran.log
    assert min(step for _, step in ran.steps()) == 5
    assert ran.report()["verdict"] == "healthy"


def test_a_cut_checkpoint_that_was_asked_for_is_the_root(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """Nothing else is taken instead of the file that was named."""
    cut = tmp_path / "step-000010.pt"
    cut.write_bytes((whole[1] / "step-000010.pt").read_bytes()[:20000])
    ran = train(tmp_path / "run", "--resume", str(cut))
    assert ran.status == 1
    assert ran.roots() == ["train.checkpoint-corrupt"]


def test_a_flipped_bit_is_found(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """A checksum that does not fit is a fault, though the archive ends as it should."""
    data = bytearray((whole[1] / "step-000010.pt").read_bytes())
    data[len(data) // 2] ^= 1
    bad = tmp_path / "step-000010.pt"
    bad.write_bytes(data)
    assert train(tmp_path / "run", "--resume", str(bad)).roots() == ["train.checkpoint-corrupt"]


def test_a_run_of_another_shape_is_refused(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """What does not fit is named before any tensor is touched."""
    ran = train(tmp_path / "run", "--resume", str(whole[1] / "step-000010.pt"), "--heads", "2")
    assert ran.status == 1
    assert "the checkpoint is of a run with heads 4, not 2" in ran.log


def test_a_finished_run_has_nothing_left_to_do(whole: tuple[Ran, Path], train: Train, tmp_path: Path) -> None:
    """Resumed after its last step, it takes none and says that it is complete."""
    ran = train(tmp_path / "run", "--resume", str(whole[1] / "step-000010.pt"))
    assert ran.status == 0
    assert ran.steps() == {}
    assert "Training complete" in ran.log
