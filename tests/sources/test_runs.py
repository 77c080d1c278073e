"""Several runs in one folder are not told as one story."""

from __future__ import annotations

from forensics.sources import find_in_memory

LOG = b"2026-11-%02d 12:50:41 | INFO | step 1/9 | loss 2.0\n2026-11-%02d 12:51:41 | INFO | step 2/9 | loss 1.9\n"


def log(day: int) -> bytes:
    return LOG % (day, day)


def read(files: dict[str, bytes]) -> tuple[list[str], str]:
    found = find_in_memory(files)
    return [i.source.path for i in found.inputs if i.source.read != "skipped"], " ".join(found.notes)


def test_only_the_newest_of_several_runs_is_read_and_the_others_are_named() -> None:
    """The order is that of the times inside, not of the names."""
    files = {
        "monday/train.log": log(9), "monday/exit_code": b"0\n",
        "friday/train.log": log(6), "friday/exit_code": b"1\n",
        "dmesg.txt": b"[    0.000000] Linux version 6.1\n",
    }  # fmt: skip
    paths, notes = read(files)
    assert paths == ["dmesg.txt", "monday/exit_code", "monday/train.log"]
    assert "2 runs" in notes
    assert "friday" in notes


def test_a_skipped_source_says_whose_it_is() -> None:
    """Nothing is left out in silence."""
    files = {"a/train.log": log(9), "a/exit_code": b"0\n", "b/train.log": log(6), "b/launch.sh": b"python3 t.py\n"}
    skipped = {i.source.path: i.source.why for i in find_in_memory(files).inputs if i.source.read == "skipped"}
    assert set(skipped) == {"b/launch.sh", "b/train.log"}
    assert all("another run in this folder: b" in why for why in skipped.values())


def test_ranks_nodes_and_attempts_are_one_run() -> None:
    """Their folders have files of their own, yet they are parts."""
    for names in (("rank0", "rank1"), ("node-1", "node-2"), ("attempt_0/0", "attempt_1/0"), ("0", "1")):
        files = {
            f"{n}/{f}": d
            for n, day in zip(names, (6, 9), strict=True)
            for f, d in (("stdout.log", log(day)), ("exit_code", b"1\n"))
        }
        assert len(read(files)[0]) == 4, names


def test_runs_that_overlap_in_time_may_have_worked_together() -> None:
    """A trainer and a server, each with its own script."""
    files = {
        "trainer/t.log": log(9),
        "trainer/launch.sh": b"python3 t.py\n",
        "server/s.log": log(9),
        "server/launch.sh": b"python3 s.py\n",
    }
    assert len(read(files)[0]) == 4


def test_a_run_with_scripts_in_a_folder_of_their_own_is_one_run() -> None:
    """`scripts/launch.sh` and `logs/train.log` belong together."""
    files = {"scripts/launch.sh": b"python3 t.py\n", "logs/train.log": log(9), "exit_code": b"0\n"}
    assert len(read(files)[0]) == 3


def test_a_run_of_which_only_logs_were_kept_is_set_aside_too() -> None:
    """Beside two runs, a third folder with a log is a run as well; one without logs is not."""
    files = {
        "a/train.log": log(9), "a/exit_code": b"0\n", "b/train.log": log(6), "b/exit_code": b"1\n",
        "c/train.log": log(3), "system/free.txt": b"              total        used        free\nMem:     1  1  0\n",
    }  # fmt: skip
    assert read(files)[0] == ["a/exit_code", "a/train.log", "system/free.txt"]
