"""What the program looks for, in a form that ripgrep can take.

    python -m tests.benchmarks.patterns > patterns.txt
    rg -a -n -b -f patterns.txt train.log

These are the literals that make the scan hand over a line: triggers of the parsers, anchors of
the rules. The patterns of the rules themselves are left out, in favour of ripgrep: they are
matched against what a speaker said, not against bytes, and their bounded repeats make a set of
them so large that ripgrep takes minutes where the literals take a second.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from forensics.engine.read import literals
from forensics.rulebook.load import load

_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$#&~-])")


def ripgrep() -> str | None:
    """Return the path of ripgrep: beside this Python, as the package `ripgrep` puts it, or on the search path."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.exists() else shutil.which("rg")


def exported() -> str:
    """Return the patterns, one a line."""
    return "".join(_SPECIAL.sub(r"\\\1", literal.decode()) + "\n" for literal in literals(load()))


if __name__ == "__main__":
    sys.stdout.write(exported())
