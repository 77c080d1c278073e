"""Checkpoints: the newest whole one, whatever a kill left of the newer ones, and nothing in them is run."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from forensics.supervise.checkpoints import choose, places, problem_of, step_of


def torch_like(path: Path, step: int, when: float | None = None) -> Path:
    """Write what torch.save writes: a zip with a pickle and raw storages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"step": step, "weights": list(range(50))}))
        archive.writestr("archive/data/0", os.urandom(4096))
        archive.writestr("archive/version", "3\n")
    if when is not None:
        os.utime(path, (when, when))
    return path


def safetensors(path: Path) -> Path:
    """Write a safetensors file of one tensor."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(256))
    return path


def cut(path: Path, size: int) -> None:
    """Keep only the begin of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:size])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_one_is_passed_over_wherever_it_was_cut(tmp_path: Path, share: float) -> None:
    """The one before it is taken, and what is wrong with the newer one is said."""
    old = torch_like(tmp_path / "step-000100.pt", 100, 1000.0)
    new = torch_like(tmp_path / "step-000200.pt", 200)
    cut(new, int(new.stat().st_size * share))
    choice = choose([tmp_path])
    assert choice.chosen is not None
    assert (choice.chosen.path, choice.chosen.step) == (old, 100)
    assert [c.path for c in choice.passed_over] == [new]
    assert choice.passed_over[0].problem


def test_whole_ones_have_no_problem(tmp_path: Path) -> None:
    """Of every form."""
    (tmp_path / "legacy.pth").write_bytes(pickle.dumps({"a": 1}))
    for path in (torch_like(tmp_path / "a.pt", 1), safetensors(tmp_path / "m.safetensors"), tmp_path / "legacy.pth"):
        assert problem_of(path) == ""


def test_other_damage_is_seen(tmp_path: Path) -> None:
    """Cut safetensors, a pickle without an end, zeros, an empty file, one being written."""
    weights = safetensors(tmp_path / "m.safetensors")
    cut(weights, weights.stat().st_size - 1)
    (tmp_path / "p.pth").write_bytes(pickle.dumps(list(range(1000)))[:-1])
    (tmp_path / "z.pt").write_bytes(bytes(100_000))
    (tmp_path / "e.bin").write_bytes(b"")
    torch_like(tmp_path / "model.tmp.pt", 1)
    for path in tmp_path.iterdir():
        assert problem_of(path), path


def test_a_folder_is_as_whole_as_its_files(tmp_path: Path) -> None:
    """A shard that an index names and that is not there makes the checkpoint a torn one."""
    whole, torn = tmp_path / "checkpoint-500", tmp_path / "checkpoint-1000"
    for folder in (whole, torn):
        folder.mkdir()
        safetensors(folder / "model-00001-of-00002.safetensors")
        shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    safetensors(whole / "model-00002-of-00002.safetensors")
    for file in whole.iterdir():
        os.utime(file, (1000.0, 1000.0))
    choice = choose([tmp_path])
    assert choice.chosen is not None
    assert (choice.chosen.path, choice.chosen.step) == (whole, 500)
    assert "model-00002-of-00002.safetensors is missing" in choice.passed_over[0].problem


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    """Not even in one made to do harm."""
    mark = tmp_path / "ran"

    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {mark}",)

    (tmp_path / "bad.pth").write_bytes(pickle.dumps(Harm()))
    with zipfile.ZipFile(tmp_path / "bad.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Harm()))
    choose([tmp_path])
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-000010.pt", 10),
        ("checkpoint-500", 500),
        ("epoch=3-step=1200.ckpt", 1200),
        ("global_step77/model.pt", 77),
        ("last.pt", None),
    ],
)
def test_the_step_is_read_from_the_name(name: str, step: int | None) -> None:
    """Of the file, or of its folder."""
    assert step_of(Path("x") / name) == step


def test_the_places_are_what_the_command_names_and_the_log_told(tmp_path: Path) -> None:
    """Only folders that are there."""
    for name in ("out", "elsewhere", "checkpoints"):
        (tmp_path / name).mkdir()
    words = ["python", "t.py", "--output_dir", "out", "--save-dir=missing", "--lr", "1"]
    told = [str(tmp_path / "elsewhere" / "step-5.pt")]
    assert places(words, tmp_path, told) == [tmp_path / "out", tmp_path / "elsewhere", tmp_path / "checkpoints"]
