"""Finding a run's files: everything there is told, nothing outside is touched."""

from __future__ import annotations

import gzip
import io
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.sources import Found, Input, SourceError, Watch, find, find_in_memory
from forensics.sources import gather as gather_module

LOG = b"".join(b"step %d | loss 2.5\n" % i for i in range(100))


def paths(found: Found) -> list[str]:
    return [made.source.path for made in found.inputs]


def test_a_folder_gives_its_files_by_relative_path(tmp_path: Path) -> None:
    """Nested files are found, hidden ones, caches and program code are passed over without a word."""
    for name in (
        "train.log",
        "logs/rank_10.log",
        "logs/rank_2.log",
        ".git/config",
        "a/__pycache__/x.log",
        "train.py",
        ".env",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(LOG)
    found = find([str(tmp_path)])
    assert paths(found) == ["logs/rank_2.log", "logs/rank_10.log", "train.log"]
    assert found.notes == []
    assert found.root == str(tmp_path)


def test_single_files_and_several_paths(tmp_path: Path) -> None:
    """A file goes by its name, a folder among several paths leads its files' names, and code is read if asked for."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_bytes(LOG)
    (tmp_path / "dmesg.txt").write_bytes(b"[12345.678901] NVRM: Xid\n")
    (tmp_path / "x.py").write_bytes(b"print(1)\n")
    assert paths(find([str(tmp_path / "dmesg.txt")])) == ["dmesg.txt"]
    assert paths(find([str(tmp_path / "run"), str(tmp_path / "dmesg.txt")])) == ["dmesg.txt", "run/train.log"]
    assert paths(find([str(tmp_path / "x.py")])) == ["x.py"]


def test_paths_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    """Two files called train.log are shown as they were given; one given twice is read once."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.log").write_bytes(LOG)
    given_paths = [str(tmp_path / "a/train.log"), str(tmp_path / "b/train.log")]
    assert paths(find([*given_paths, given_paths[0]])) == given_paths


def test_an_empty_folder_is_no_error(tmp_path: Path) -> None:
    """Nothing found is a fact about the run."""
    found = find([str(tmp_path)])
    assert (found.inputs, len(found.notes)) == ([], 1)
    assert "no evidence" in found.notes[0]


@pytest.mark.parametrize("path", ["/does/not/exist", "/dev/zero", "", "a\0b"])
def test_a_path_that_cannot_be_analysed_is_the_users_mistake(path: str) -> None:
    """The error names the path and what is wrong with it."""
    with pytest.raises(SourceError) as caught:
        find([path])
    assert caught.value.path == path
    assert caught.value.message


def test_no_path_at_all_is_a_mistake() -> None:
    """There is nothing to look at."""
    with pytest.raises(SourceError):
        find([])


def test_standard_input_is_read_once_and_sniffed(tmp_path: Path) -> None:
    """`-` takes a log, packed or not; without an input it is the user's mistake."""
    (made,) = find(["-"], io.BytesIO(gzip.compress(LOG))).inputs
    assert (made.source.path, made.source.kind, made.read(1 << 20), made.read(4)) == ("-", "training-log", LOG, LOG[:4])
    (tmp_path / "a.log").write_bytes(LOG)
    assert paths(find([str(tmp_path / "a.log"), "-"], io.BytesIO(LOG))) == ["-", "a.log"]
    with pytest.raises(SourceError):
        find(["-"])


def test_a_pipe_given_by_name_is_read(tmp_path: Path) -> None:
    """Process substitution hands over a pipe; its content is kept, because it cannot be read twice."""
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def write() -> None:
        os.write(keeper, LOG)
        os.close(keeper)

    writer = threading.Thread(target=write)
    writer.start()
    found = find([str(pipe)])
    writer.join()
    os.close(reader)
    assert found.inputs[0].read(1 << 20) == found.inputs[0].read(1 << 20) == LOG


@pytest.mark.parametrize("by_name", [False, True])
def test_a_wait_for_a_pipe_ends_when_reading_is_stopped(by_name: bool) -> None:  # noqa: FBT001 - a parameter
    """Whenever that is said, also in the moment between a look at it and the wait: what came so far is kept."""
    theirs, ours = os.pipe()
    os.write(ours, LOG)
    watch = Watch()
    threading.Timer(0.1, setattr, (watch, "stopped", True)).start()
    with os.fdopen(theirs, "rb") as pipe:
        found = find([f"/dev/fd/{theirs}"], watch=watch) if by_name else find(["-"], stdin=pipe, watch=watch)
    os.close(ours)
    assert found.inputs[0].read(1 << 20) == LOG


def test_links_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    """Outside targets and dead links are told; inside ones are read once, under their own name; loops end."""
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret.log").write_bytes(LOG)
    (run / "train.log").write_bytes(LOG)
    (run / "latest.log").symlink_to("train.log")
    (run / "out.log").symlink_to("../secret.log")
    (run / "dead.log").symlink_to("nowhere.log")
    (run / "loop").symlink_to(".")
    (run / "up").symlink_to("..")
    found = find([str(run)])
    assert paths(found) == ["train.log"]
    assert sorted(found.notes) == [
        "dead.log: a link to nothing",
        "out.log: a link out of the folder, not followed",
        "up: a link out of the folder, not followed",
    ]


def test_a_link_given_by_name_is_followed(tmp_path: Path) -> None:
    """What the user names is what the user wants."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "train.log").write_bytes(LOG)
    (tmp_path / "current").symlink_to("real")
    assert paths(find([str(tmp_path / "current")])) == ["train.log"]


def test_pipes_and_sockets_in_a_folder_are_told_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe nobody writes to would block for ever."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = find([str(tmp_path)])
    assert [note for note in found.notes if "not read" in note] == [
        "pipe: a pipe, socket or device, not read",
        "socket: a pipe, socket or device, not read",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_listed_and_noted(tmp_path: Path) -> None:
    """The file is there and cannot be read: both are told."""
    (tmp_path / "train.log").write_bytes(LOG)
    (tmp_path / "train.log").chmod(0)
    found = find([str(tmp_path)])
    assert (found.inputs[0].source.read, found.inputs[0].source.why) == ("skipped", "permission denied")
    assert "permission denied" in found.notes[0]
    with pytest.raises(SourceError):
        find([str(tmp_path / "train.log")])


def test_a_file_that_vanishes_before_it_is_looked_at_is_listed_and_noted(tmp_path: Path) -> None:
    """Of thousands of files, the first one may be gone when the last one has been found."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(LOG)

    def late(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        (tmp_path / "a.log").unlink()
        return map(function, tasks)

    found = find([str(tmp_path)], spread=late)
    gone, there = (made.source for made in found.inputs)
    assert (gone.path, gone.read, gone.why) == ("a.log", "skipped", "no such file or directory")
    assert (there.path, there.read, there.kind) == ("b.log", "all", "training-log")
    assert found.notes == ["a.log: not read (no such file or directory)"]


def test_a_file_that_vanishes_ends_in_a_reason_not_an_exception(tmp_path: Path) -> None:
    """The content is read later than it is found."""
    (tmp_path / "train.log").write_bytes(LOG)
    (made,) = find([str(tmp_path)]).inputs
    (tmp_path / "train.log").unlink()
    assert b"".join(made.chunks()) == b""
    assert (made.source.read, "reading stopped" in made.source.why) == ("partial", True)


def test_a_name_that_is_no_text_is_shown_as_text(tmp_path: Path) -> None:
    """File names are bytes on Linux; what is shown can always be printed."""
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.log"))).write_bytes(LOG)
    assert paths(find([str(tmp_path)])) == ["bad\ufffd.log"]


def test_too_many_files_are_cut_off_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without end is not walked to its end, and the report says so."""
    monkeypatch.setattr(gather_module, "MOST_FILES", 3)
    for i in range(5):
        (tmp_path / f"{i}.txt").write_bytes(b"words\n")
    found = find([str(tmp_path)])
    assert len(found.inputs) == 3
    assert "the rest was not read" in found.notes[0]


@pytest.mark.parametrize(
    ("data", "state", "nuls"),
    [
        (LOG, "whole", 0),
        (b"", "empty", 0),
        (LOG[:-3], "torn", 0),
        (LOG + bytes(3576), "nul-tail", 3576),
        (bytes(5000), "nul-tail", 5000),
        (LOG + bytes(200_000), "nul-tail", 200_000),
        ((LOG * 3)[:4096], "cut", 0),
        (gzip.compress(LOG), "whole", 0),
        (gzip.compress(LOG[:-3]), "torn", 0),
        (gzip.compress(LOG)[:-9], "cut", 0),
        (LOG.decode().encode("utf-16"), "whole", 0),
    ],
)
def test_the_state_of_a_log_is_told_by_its_end(data: bytes, state: str, nuls: int, tmp_path: Path) -> None:
    """Whole, empty, torn, NUL-tailed and cut files are told apart, on disk and in memory alike."""
    (tmp_path / "train.log").write_bytes(data)
    (on_disk,) = find([str(tmp_path)]).inputs
    (in_memory,) = find_in_memory({"train.log": data}).inputs
    assert (on_disk.source.state, on_disk.source.nul_bytes) == (state, nuls)
    assert in_memory.source == replace(on_disk.source, mtime=None)
    assert on_disk.source.kind == "training-log"
    assert b"".join(on_disk.chunks(7)) == b"".join(in_memory.chunks())


def test_scripts_and_codes_need_no_last_newline() -> None:
    """Only what grows line by line can be torn."""
    found = find_in_memory({"exit_code": b"1", "launch.sh": b"python x.py", "c.json": b"{}"})
    assert {made.source.state for made in found.inputs} == {"whole"}


def test_a_plain_file_may_be_read_in_place(tmp_path: Path) -> None:
    """A reader may split a large plain file itself; packed and wide ones it may not."""
    (tmp_path / "a.log").write_bytes(LOG)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(LOG))
    (tmp_path / "c.log").write_bytes(LOG.decode().encode("utf-16"))
    plain = {made.source.path: made.plain_path for made in find([str(tmp_path)]).inputs}
    assert plain == {"a.log": tmp_path / "a.log", "b.log.gz": None, "c.log": None}


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_an_input_whose_pieces_fit(data: bytes, size: int) -> None:
    """Whatever the content, pieces are bounded and not empty, and add up to the same content however cut."""
    made = Input.from_bytes("train.log", data)
    pieces = list(made.chunks(size))
    assert all(0 < len(piece) <= size for piece in pieces)
    assert b"".join(pieces) == b"".join(made.chunks())
    assert made.read(size) == b"".join(pieces)[:size]
