"""What the commands that read a run share: their paths, their options, and what can go wrong."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

STDIN = frozenset({"-", "/dev/stdin"})
HINT = "Name the folder a run left behind, one of its files, or - for standard input."


class NoEvidenceError(click.ClickException):
    """What was named cannot be read; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn what the core refuses (a path, a rule file) into a message and a hint."""
    from forensics.rulebook.load import RulebookError
    from forensics.sources import SourceError, is_remote

    try:
        yield
    except SourceError as wrong:
        missing = isinstance(wrong.__cause__, FileNotFoundError)
        message = f"no such file or folder: {wrong.path}{_near(wrong.path)}" if missing else str(wrong)
        raise NoEvidenceError(message, "" if is_remote(wrong.path) else HINT) from wrong
    except RulebookError as wrong:
        raise NoEvidenceError(
            f"these rules do not load:\n{wrong}", "The format of rules is described in docs/rules.md."
        ) from wrong


def _near(path: str) -> str:
    """Return the names beside a wrong path that may be meant."""
    from difflib import get_close_matches

    wrong = Path(path)
    missing = next((part for part in (*reversed(wrong.parents), wrong) if not part.exists()), wrong)
    try:
        names = sorted(entry.name for entry in missing.parent.iterdir())
    except OSError:
        return ""
    rest = wrong.relative_to(missing)
    near = [missing.parent / name for name in get_close_matches(missing.name, names, n=3, cutoff=0.6)]
    meant = [str(name / rest if (name / rest).exists() else name) for name in near]
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def standard_input(paths: Sequence[str]) -> BinaryIO | None:
    """Return standard input where `-` asks for it, telling a person at a keyboard how to end it.

    Raises:
        click.UsageError: standard input is asked for and closed.
    """
    if not STDIN & set(paths):
        return None
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, so - has nothing to read")
    if sys.stdin.isatty():
        click.echo("Reading standard input; end it with Ctrl-D.", err=True)
    return sys.stdin.buffer


def paths_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `PATH...`, which shells complete; what is not there is told by `explained`."""
    return click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(allow_dash=True))(
        command
    )


def rules_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--rules DIR`, which may be given more than once."""
    return click.option(
        "--rules",
        "rules",
        metavar="DIR",
        multiple=True,
        type=click.Path(exists=True, file_okay=False),
        callback=_with_rules,
        help="Use the rules in DIR as well. Repeatable.",
    )(command)


def _with_rules(_context: click.Context, _option: click.Parameter, folders: tuple[str, ...]) -> tuple[str, ...]:
    for folder in folders:
        if not any(Path(folder).rglob("*.toml")):
            raise click.BadParameter(f"there is no rule in {folder}; a rule is DIR/family/cause.toml")
    return folders


def tz_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--tz ZONE`."""
    return click.option(
        "--tz",
        metavar="ZONE",
        callback=_zone,
        help="Zone of times that name none, such as Europe/Berlin. Default: UTC.",
    )(command)


def _zone(_context: click.Context, _option: click.Parameter, zone: str | None) -> str | None:
    if zone is None:
        return None
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(zone)
    except (OSError, ValueError) as wrong:  # ZoneInfoNotFoundError is a KeyError
        raise click.BadParameter(f"there is no zone {zone!r}") from wrong
    except KeyError as wrong:
        raise click.BadParameter(f"there is no zone {zone!r}; one is Europe/Berlin") from wrong
    return zone
