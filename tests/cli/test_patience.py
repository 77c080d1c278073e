"""What a person at a terminal sees while a run is read, and nobody else."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess

import pytest

from forensics.cli.bar import Bar
from forensics.sources import Watch
from tests.cli.program import COMMAND, environment, interrupted, run


class Terminal(io.StringIO):
    """A terminal that remembers what was written to it."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_the_bar_tells_bytes_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the name of the file, with what it might do to a terminal shown instead of done."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    watch = Watch(files=2, expected=4_000_000, name="evil\x1b[2Jname[red].log")
    watch.saw(1_000_000)
    with Bar("reading", watch) as bar:
        bar.draw()
        watch.saw(3_000_000)
        bar.draw()
        watch.stopped = True
        bar.draw()
    shown = terminal.getvalue()
    for part in ("1.0/4.0 MB", "name[red].log", "concluding", "Ctrl-C again", "/s", "--:--"):
        assert part in shown, part
    assert "\x1b[2J" not in shown
    assert "\x1b[?25l" not in shown, "a killed program would leave the terminal without its cursor"


def test_a_terminal_is_told_and_ctrl_c_ends_the_reading() -> None:
    """After a second stderr says what is going on; Ctrl-C wipes it away, and the report comes."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "analyze", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, env=environment()
    ) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(b"step 1/9 loss 2.5\n")
        process.stdin.flush()
        shown = b""
        while b"finding files" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while b"interrupted" not in shown:
            shown += os.read(ours, 4096)
        out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 130
    assert b"partial: reading was stopped" in out
    assert shown.rstrip().endswith(b"this is on what was read so far")


def test_a_gate_that_is_interrupted_decides_nothing() -> None:
    """Half a run neither passes nor fails."""
    assert interrupted("gate") == (130, b"", b"dflash-forensics: interrupted\n")


def test_pipes_see_nothing_of_it() -> None:
    """Stderr that is no terminal stays empty."""
    done = run("analyze", "-", given=b"step 1\n")
    assert (done.returncode, done.stderr) == (0, b"")
