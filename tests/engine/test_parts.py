"""A file that was read in parts says what it says when it is read at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analyze import examine
from forensics.engine import executor, read
from forensics.engine.marks import Joined, Mark, read_part
from forensics.engine.marks import marked as mark_of
from forensics.model import Context, Source
from forensics.render.json_v1 import to_json
from forensics.scan import Part, PartReader, Plan, Scan, split
from forensics.scan import lines as scan_lines
from forensics.scan import parts as scan_parts
from tests.cli.program import ROOT

PLAN = Plan({b"error": 2, b"Traceback": 3}, re.compile(rb"loss[^\r\n]*"), engine="python")
HERE = Context(Source("train.log", "training-log", 0))
BYTES = st.lists(
    st.sampled_from(
        [b"error", b"Traceback", b"\xc3\xa9", b"step 7 loss: 2.5", b"x", b"\xff", b"\n", b"\n", b"\r", b"\r\n", b" "]
    ),
    max_size=80,
).map(b"".join)


def told(mark: Mark) -> tuple[object, ...]:
    line = mark.record.line
    step = mark.step and (mark.step.line, mark.step.column, mark.step.step, mark.step.loss)
    return line.number, line.column, line.offset, line.text, line.end, line.gap, line.complete, mark.literal, step


@given(BYTES, st.integers(1, 6))
def test_parts_give_the_marks_of_the_whole(data: bytes, count: int) -> None:
    """Line ends, numbers, gaps, and the lines that follow a literal do not know where a part ends."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(scan_lines, "HEAD_LINES", 2)
        path = Path(folder, "train.log")
        path.write_bytes(data)
        scan = Scan(PLAN, PLAN.matcher())
        whole = [told(mark_of(hit, HERE)) for hit in scan.over([data] if data else [])]
        cut = [Part(i, count, i * len(data) // count, (i + 1) * len(data) // count) for i in range(count)]
        found = Joined(read_part(PartReader(path, part), part, PLAN, PLAN.matcher(), HERE, 0) for part in cut)
        assert [told(mark) for mark in found.marks()] == whole
        counts = found.counts()
        assert (counts.lines, counts.complete) == (scan.lines, scan.complete)
        assert set(counts.tail) <= set(scan.tail)
        assert bool(counts.tail) == bool(scan.tail)


@given(st.integers(0, 10_000_000_000))
def test_parts_cover_a_file_once(size: int) -> None:
    """Whatever the size, parts follow one another from its beginning to its end, and are not many."""
    found = split(size)
    assert len(found) <= scan_parts.MOST_PARTS
    assert (found[0].start, found[-1].stop, found[-1].last) == (0, size, True)
    assert all(a.stop == b.start for a, b in pairwise(found))


def log(lines: int) -> bytes:
    rows = []
    for step in range(lines):
        for rank in range(3):
            rows.append(f"[rank{rank}]: step {step} loss: {3 + step % 97 / 50:.4f} grad_norm: 1.5\n")
        if step % 211 == 0:
            rows.append(f"node0:1:1 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed, try {step}\n")
    rows.append("[rank1]: Traceback (most recent call last):\n")
    rows.append('[rank1]:   File "train.py", line 3, in <module>\n')
    rows.append("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB.\n")
    return "".join(rows).encode()


def test_the_report_does_not_hang_on_who_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process or several: the same report, of a large file and of several files."""
    (tmp_path / "train.log").write_bytes(log(40_000))
    (tmp_path / "rank1.log").write_bytes(log(2_000))
    monkeypatch.setattr(read, "split", lambda size: split(size, 1 << 20))
    reports = []
    for each in (executor.Serial(), executor.Forked(2), executor.Forked(3)):
        monkeypatch.setattr(read, "local", lambda _total, each=each: each)
        reports.append(to_json(examine([str(tmp_path)]).report))
    assert reports[0] == reports[1] == reports[2]
    assert b"memory.gpu-oom" in reports[0]


def broken(number: int) -> int:
    if number == 3 and os.getpid() != MAIN:
        os._exit(9)
    return number


MAIN = 0


def test_what_a_killed_process_leaves_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that the kernel kills costs time, no result."""
    monkeypatch.setattr(f"{__name__}.MAIN", os.getpid())
    assert list(executor.Forked(2).map(broken, range(6))) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "wrong", [OSError(28, "No space left on device"), ImportError("_multiprocessing"), BlockingIOError(11, "again")]
)
def test_where_no_process_can_be_made_the_work_is_done_here(wrong: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without shared memory, a build without semaphores, a user at the limit of processes."""

    def refused(*_arguments: object) -> None:
        raise wrong

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refused)
    assert list(executor.Forked(2).map(str, [1, 2, 3])) == ["1", "2", "3"]


SPREAD = """
import os, sys
from forensics.engine import executor
from forensics.sources import find

def where(_task):
    return os.getpid()

executor._processors = lambda: 2
for _ in range(3):  # no thread of the last time is in the way
    assert os.getpid() not in set(executor.spread(where, range(executor.MANY)))
assert set(executor.spread(where, range(executor.MANY - 1))) == {os.getpid()}
alone, spread = find(sys.argv[1:]), find(sys.argv[1:], spread=executor.spread)
assert len(alone.inputs) == executor.MANY
assert [made.source for made in alone.inputs] == [made.source for made in spread.inputs]
"""
"""A program of its own: a process with threads, such as those of other tests, is not copied."""


def test_many_files_are_looked_at_by_several_processes_with_the_same_result(tmp_path: Path) -> None:
    """A few are not worth a process."""
    for number in range(executor.MANY):
        (tmp_path / f"rank{number}.log").write_bytes(b"step %d | loss 2.5\n" % number * (number % 7))
    subprocess.run([sys.executable, "-c", SPREAD, str(tmp_path)], cwd=ROOT, check=True, timeout=60)
