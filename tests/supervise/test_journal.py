"""The journal: whole records, one attempt after another, honest about what is not known."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from forensics.supervise import journal
from forensics.supervise.journal import Attempt, TakenError


def test_a_record_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A writer that dies leaves the old record and a hidden file, which is swept away."""
    journal.write_record(tmp_path, {"schema": journal.SCHEMA, "status": "running"})
    (tmp_path / ".run.json.99.tmp").write_bytes(b'{"schema": "dflash-fo')
    assert journal.read_record(tmp_path)["status"] == "running"
    list(journal.sweep(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "other/1"}', '{"status": "exited"}', "\0" * 50])
def test_a_record_that_is_none_is_empty(tmp_path: Path, content: str) -> None:
    """Never an error, never somebody else's file."""
    (tmp_path / "run.json").write_text(content)
    assert journal.read_record(tmp_path) == {}


def test_attempts_are_numbered_on_and_in_their_order(tmp_path: Path) -> None:
    """Beyond 9, beyond gaps, and beside other folders."""
    for number in (2, 10, 1):
        (tmp_path / f"attempt-{number:03d}").mkdir()
    (tmp_path / "attempt-old").mkdir()
    assert [a.number for a in journal.attempts(tmp_path)] == [1, 2, 10]
    assert journal.new_attempt(tmp_path) == (11, tmp_path / "attempt-011")


def test_the_lock_is_held_once_and_says_by_whom(tmp_path: Path) -> None:
    """Until it is let go."""
    held = journal.take(tmp_path)
    journal.sign(held, "attempt-001, pid 7")
    with pytest.raises(TakenError, match="attempt-001, pid 7"):
        journal.take(tmp_path)
    os.close(held)
    os.close(journal.take(tmp_path))


def test_an_attempt_without_an_end_is_settled_by_what_is_there(tmp_path: Path) -> None:
    """A status that was written is the status; without one it stays unknown."""
    for code in (None, 137):
        folder = tmp_path / str(code)
        folder.mkdir()
        record = {"schema": journal.SCHEMA, "status": "running", "pid": 2**22 + 1}
        journal.write_record(folder, record)
        if code is not None:
            journal.write_status(folder, code)
        journal.settle(Attempt(1, folder, record))
        settled = json.loads((folder / "run.json").read_text())
        assert (settled["status"], settled["exit_code"]) == (("exited", 137) if code else ("unknown", None))
        assert settled["notes"]


def test_a_pid_that_another_process_has_is_not_the_run() -> None:
    """The time of its begin tells them apart, and another machine's pid says nothing here."""
    here = {"name": socket.gethostname()}
    mine = {"status": "running", "pid": os.getpid(), "pid_started": journal.identity(os.getpid()), "host": here}
    assert journal.still_runs(mine)
    assert not journal.still_runs({**mine, "pid_started": 1.0})
    assert not journal.still_runs({**mine, "host": {"name": "elsewhere"}})
    assert not journal.still_runs({**mine, "status": "exited"})
