"""Reading can be followed and stopped, and what a stop left out is told."""

from __future__ import annotations

import io
from pathlib import Path
from typing import cast

import pytest

from forensics.analyze import analyze
from forensics.sources import Watch, find
from forensics.sources.watch import STOPPED

LINE = b"step 7/900 loss 2.5\n"
ERROR = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 139.80 GiB\n"


class Stops(Watch):
    """Stops when so many bytes have been read, as a person does who has seen enough."""

    after = 1

    def saw(self, count: int) -> None:
        """Count, and stop."""
        super().saw(count)
        if self.seen >= self.after:
            self.stop()


def run_of(folder: Path) -> Path:
    (folder / "a.log").write_bytes(LINE * 200_000)
    (folder / "b.log").write_bytes(LINE * 10 + ERROR)
    return folder


def test_all_bytes_of_a_run_are_counted(tmp_path: Path) -> None:
    """What is expected is what is seen in the end, packed files and artefacts included."""
    import gzip

    (tmp_path / "exit_code").write_text("1\n")
    (tmp_path / "c.log.gz").write_bytes(gzip.compress(LINE * 1000))
    watch = Watch()
    analyze([str(run_of(tmp_path))], watch=watch)
    assert watch.seen == watch.expected > 200_000 * len(LINE)
    assert watch.files == 4
    assert not watch.partial


def test_a_stop_leaves_a_report_that_judges_nothing(tmp_path: Path) -> None:
    """The file that was being read is partial, the next is not read, the verdict is unknown, and all of it is told."""
    report = analyze([str(run_of(tmp_path))], watch=Stops())
    first, second = report.sources
    assert (first.read, second.read, second.why) == ("partial", "skipped", STOPPED)
    assert 0 < first.lines < 200_000
    assert (report.verdict, report.restart_helps) == ("unknown", "maybe")
    assert report.reason.startswith("partial: ")
    assert "of the files found (2) 1 were not read and 1 only in part" in report.reason


def test_a_fault_that_was_read_is_still_shown(tmp_path: Path) -> None:
    """It may have been survived later, so it is a finding and no verdict."""
    (tmp_path / "a.log").write_bytes(LINE * 10 + ERROR + LINE * 200_000)
    report = analyze([str(tmp_path)], watch=Stops())
    assert "memory.gpu-oom" in {finding.id for finding in report.findings}
    assert report.verdict == "unknown"


def test_where_reading_was_stopped_is_no_end_of_the_file(tmp_path: Path) -> None:
    """A log that ends well is not called cut because its reader lost patience."""
    (tmp_path / "a.log").write_bytes(LINE * 200_000)
    report = analyze([str(tmp_path)], watch=Stops())
    assert report.sources[0].state == "whole"
    assert not [finding for finding in report.findings if finding.id.startswith("capture.")]


class Endless(io.RawIOBase):
    """A pipe whose reader is interrupted while it waits."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch, self._sent = watch, False

    def readable(self) -> bool:
        """Be a pipe."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Give a line and half of the next one, and once more when the key comes."""
        if self._sent:
            self._watch.stop()
        self._sent = True
        buffer[: len(LINE) + 3] = LINE + b"ste"
        return len(LINE) + 3


def test_a_pipe_that_nobody_closes_can_be_stopped() -> None:
    """What came through it is looked at, up to its last whole line."""
    watch = Watch()
    report = analyze(["-"], stdin=io.BufferedReader(cast("io.RawIOBase", Endless(watch))), watch=watch)
    (source,) = report.sources
    assert (source.read, source.state, source.bytes) == ("partial", "whole", len(LINE))
    assert report.run.last_step == 7
    assert watch.partial


def test_a_stop_while_files_are_found_ends_the_search(tmp_path: Path) -> None:
    """The report then says that there may be more."""
    watch = Watch()
    watch.stop()
    found = find([str(run_of(tmp_path))], watch=watch)
    assert found.inputs == []
    assert any(STOPPED in note for note in found.notes)


def test_waiting_is_ended_by_an_exception_only_while_it_lasts() -> None:
    """Else a stop is only a wish."""
    watch = Watch()
    with pytest.raises(KeyboardInterrupt), watch.waiting():
        watch.stop()
    watch.stop()
