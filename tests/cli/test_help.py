"""Help, versions, and what they cost."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from forensics import __version__
from forensics.cli.group import program
from tests.cli.program import ROOT, environment, run

HEAVY = ("polars", "textual", "torch", "rich", "msgspec", "hyperscan", "tree_sitter")
PROBE = """
import sys
from forensics.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print("LOADED", *sorted(set(sys.modules) & HEAVY_ONES))
"""


def commands(group: click.Group, *before: str) -> list[tuple[str, ...]]:
    """Return the words that reach each command of a group, the group's own included."""
    context = click.Context(group)
    found: list[tuple[str, ...]] = [before]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found += commands(command, *before, name) if isinstance(command, click.Group) else [(*before, name)]
    return found


EVERY = commands(program)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_fits_a_screen_and_shows_an_example(words: tuple[str, ...]) -> None:
    """The help of every command fits 80 columns and a screen, and shows an example of that command."""
    done = run(*words, "--help")
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(text.splitlines()) <= 30
    assert max(map(len, text.splitlines())) <= 80
    assert "Example" in text
    assert " ".join(["dflash-forensics", *words]) in text.partition("Example")[2]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    """Help loads none of the libraries that do the work."""
    probe = PROBE.replace("HEAVY_ONES", repr(set(HEAVY)))
    done = subprocess.run(
        [sys.executable, "-c", probe, *words, "--help"], capture_output=True, env=environment(), check=True
    )
    assert done.stdout.decode().splitlines()[-1] == "LOADED"


def test_version() -> None:
    """`--version` names the program and its version."""
    assert run("--version").stdout.decode() == f"dflash-forensics, version {__version__}\n"


@pytest.mark.parametrize("words", [(), ("rules",)], ids=["program", "rules"])
def test_a_group_alone_shows_its_help(words: tuple[str, ...]) -> None:
    """Without a command the help is shown, without the marks of an error."""
    done = run(*words)
    assert b"Commands:" in done.stdout + done.stderr
    assert b"dflash-forensics: " not in done.stderr


def test_readme_shows_the_real_help() -> None:
    """The help in README is the help of the program."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("$ dflash-forensics analyze --help\n")[2].partition("```")[0]
    assert block == run("analyze", "--help").stdout.decode()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    """The completion script of each shell is to be had under the name of the program."""
    done = run(_DFLASH_FORENSICS_COMPLETE=f"{shell}_source")
    assert b"dflash-forensics" in done.stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("analyze ru", "file,ru"),
        ("timeline ru", "file,ru"),
        ("analyze run -o out", "file,out"),
        ("timeline run -o out", "file,out"),
        ("analyze run --rules my", "dir,my"),
        ("rules new a.b --dir my", "dir,my"),
        ("explain memory.gpu-oom-fo", "plain,memory.gpu-oom-foreign"),
        ("rules test memory.gpu-oom-fo", "plain,memory.gpu-oom-foreign"),
        ("timeline run --kind nc", "plain,nccl"),
        ("timeline run --kind ste", "plain,step"),
        ("analyze run --format ma", "plain,markdown"),
        ("exp", "plain,explain"),
    ],
)
def test_completion(line: str, offered: str) -> None:
    """Shells are told to complete files where files belong, and get ids, kinds and choices."""
    words = ["dflash-forensics", *line.split()]
    done = run(_DFLASH_FORENSICS_COMPLETE="bash_complete", COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1))
    assert offered in done.stdout.decode().splitlines()
