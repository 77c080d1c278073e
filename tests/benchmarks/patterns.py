"""ripgrep, and what it looks for: the literals that make the scan hand over a line.

The patterns of the rules themselves are left out, in favour of ripgrep: they are matched against
what a speaker said, not against bytes, and their bounded repeats make a set of them so large that
ripgrep takes minutes where the literals take a second.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def ripgrep() -> str | None:
    """Return the path of ripgrep: beside this Python, as the package `ripgrep` puts it, or on the search path."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.exists() else shutil.which("rg")


def exported() -> str:
    """Return the patterns as the program exports them, one a line."""
    command = (sys.executable, "-m", "forensics", "rules", "export")
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()
