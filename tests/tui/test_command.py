"""The command `tui` where it cannot show a screen, and what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import ROOT, environment, run

SAMPLE = str(ROOT / "samples" / "001-story" / "run")


def test_without_a_terminal() -> None:
    """At a pipe the message says what to use instead, and the status is 2."""
    done = run("tui", SAMPLE)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"tui needs a terminal for its screen and its keys; analyze prints a report without one" in done.stderr


def test_standard_input_has_the_keys() -> None:
    """A log on standard input cannot be read there."""
    done = run("tui", "-")
    assert done.returncode == 2
    assert b"name a file" in done.stderr


def test_a_path_that_is_not_there() -> None:
    """A wrong path is told before the screen changes, with the right one."""
    done = run("tui", str(ROOT / "samples" / "001-stori"))
    assert done.returncode == 2
    assert b"did you mean" in done.stderr
    assert b"001-story" in done.stderr


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """What can be read only once is refused."""
    os.mkfifo(tmp_path / "pipe")
    done = run("tui", str(tmp_path / "pipe"))
    assert done.returncode == 2
    assert b"a browser reads more than once" in done.stderr


PROBE = """
import sys
import forensics.tui.app
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize(
    "module", ["forensics.analyze", "forensics.parsers", "polars", "hyperscan", "aiohttp", "torch"]
)
def test_the_screen_does_not_wait_for_what_it_does_not_need(module: str) -> None:
    """The engine belongs to the other process, and the web server to `--serve`."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, env=environment(), text=True, check=True)
    assert module not in done.stdout.split()


def test_the_report_loads_no_screen() -> None:
    """`analyze` imports nothing of textual."""
    code = f"import sys\nfrom forensics.cli.entry import run\nrun(['analyze', {SAMPLE!r}])\nprint('LOADED', 'textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), text=True, check=True)
    assert done.stdout.endswith("LOADED False\n")
