"""Whatever path is given: a clear word, the promised status, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.program import OOM, run


def report(path: Path) -> dict[str, object]:
    done = run("analyze", str(path), "--format", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    made: dict[str, object] = json.loads(done.stdout)
    return made


def test_an_empty_folder_is_unknown(tmp_path: Path) -> None:
    """There is nothing to judge, and the report says so."""
    made = report(tmp_path)
    assert made["verdict"] == "unknown"
    assert "no file to read" in str(made["notes"])


def test_a_log_of_no_bytes_is_unknown_and_says_what_that_means(tmp_path: Path) -> None:
    """An empty log proves nothing about the program."""
    (tmp_path / "train.log").touch()
    made = report(tmp_path)
    assert made["verdict"] == "unknown"
    assert "capture.log-empty" in str(made["findings"])


def test_a_binary_is_named_and_left_alone(tmp_path: Path) -> None:
    """It is listed as not read, with the reason."""
    (tmp_path / "core").write_bytes(bytes(range(256)) * 20)
    sources = report(tmp_path)["sources"]
    assert isinstance(sources, list)
    assert (sources[0]["read"], bool(sources[0]["why"])) == ("skipped", True)


def test_a_link_in_a_circle_or_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A run folder cannot make its reader walk the machine."""
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    (tmp_path / "secret.log").write_text(OOM)
    (run_folder / "again").symlink_to(run_folder)
    (run_folder / "out.log").symlink_to(tmp_path / "secret.log")
    made = report(run_folder)
    assert made["findings"] == []
    assert "out.log" in str(made["notes"])


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "train.log").write_text(OOM)
    made = report(tmp_path)
    assert made["verdict"] == "failed"
    assert "pipe.log" in str(made["notes"])


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/nowhere/at/all"])
def test_a_path_that_cannot_be_a_run_is_a_mistake_of_use(path: str) -> None:
    """One line that names it, one that says what to give instead, status 2."""
    done = run("analyze", path)
    assert done.returncode == 2
    assert path in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_file_that_may_not_be_read_is_in_the_report(tmp_path: Path) -> None:
    """It is not skipped in silence."""
    (tmp_path / "train.log").write_text(OOM)
    (tmp_path / "secret.log").write_text("x")
    (tmp_path / "secret.log").chmod(0)
    if os.access(tmp_path / "secret.log", os.R_OK):
        pytest.skip("root may read everything")
    assert "permission denied" in str(report(tmp_path)["sources"])
