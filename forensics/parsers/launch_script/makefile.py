r"""The recipes of a makefile as the shell script that make runs, line by line in its place.

    train:
    \tpython -m recipe.train --epochs 40 2>&1 | tee $(TRAIN_LOG)

Variables of make become those of the shell, `$$` a single dollar; a shell that make is told to run with
pipefail (`.SHELLFLAGS := -o pipefail -c`) has it. Source: GNU make manual, "Recipes in Rules".
"""

from __future__ import annotations

from forensics.text.lazy import lazy

_VARIABLE = lazy(r"\$\((?P<name>\w{1,80})\)")
_SET = lazy(r"(?:export |override )?(?P<name>[A-Za-z_]\w{0,80})\s{0,4}(?::{0,2}|\?)=\s{0,4}(?P<value>\S{0,400})\s*$")


def recipes(text: str) -> str:
    """Return the shell script that a makefile's recipes are; all other lines are empty, but for variables."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if line.startswith("\t"):
        command = line.lstrip("\t @-+")
        return _VARIABLE.sub(r"${\g<name>}", command).replace("$$", "$")
    if "pipefail" in line and line.lstrip().startswith((".SHELLFLAGS", "SHELL")):
        return "set -o pipefail"
    if found := _SET.match(line):
        value = _VARIABLE.sub(r"${\g<name>}", found["value"])
        return f"{found['name']}={value}"
    return ""
