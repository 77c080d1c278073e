"""`run`: a program under a supervisor that loses neither its output nor its status."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from forensics.cli.output import say

DEFAULT = "dflash-run"
_SIZE = re.compile(r"(?P<number>\d{1,15})\s*(?P<unit>[KMGT]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size(_context: click.Context, _option: click.Parameter, text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"not a size: {text!r}; one is 512M")
    return int(found["number"]) * _FACTORS[found["unit"].upper()]


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--run-dir", metavar="DIR", default=DEFAULT, type=click.Path(file_okay=False), show_default=True,
              help="Where the attempts are kept.")  # fmt: skip
@click.option("--detach", is_flag=True, help="Leave it running, whatever becomes of this terminal.")
@click.option("--pty/--pipe", "pty", default=None, help="Give it a terminal, or pipes. Default: as here.")
@click.option("--grace", metavar="S", default=30.0, type=click.FloatRange(0, 86400), show_default=True,
              help="Seconds between a signal to stop and the kill.")  # fmt: skip
@click.option("--rotate", metavar="SIZE", default="1G", callback=_size, show_default=True,
              help="Begin a new log part at SIZE; 0: never.")  # fmt: skip
@click.argument("words", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(words: Sequence[str], run_dir: str, grace: float, rotate: int, *, detach: bool, pty: bool | None) -> None:
    """Run a program and keep everything that tells how it went.

    Each start is an attempt of its own in DIR. The exit status is the program's
    (128 + signal); 2 if the folder is in use.

    \b
    Examples:
      dflash-forensics run -- python train.py --lr 6e-4
      dflash-forensics run --run-dir exp7 --detach -- torchrun train.py
      tail -f exp7/attempt-001/train.log
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    from forensics.supervise.process import Asked

    terminal = pty if pty is not None else (not detach and sys.stdout is not None and sys.stdout.isatty())
    asked = Asked(tuple(words), Path(run_dir), terminal, detach, grace, rotate)
    raise SystemExit(start(asked))


def start(asked: object) -> int:
    """Start what was asked for, and tell where its evidence is; return the status to leave with."""
    from forensics.supervise import journal
    from forensics.supervise.process import Asked, prepare, supervise

    assert isinstance(asked, Asked)  # noqa: S101 - the type is loaded with the command
    try:
        started = prepare(asked)
    except (journal.TakenError, journal.JournalError) as wrong:
        raise click.ClickException(str(wrong)) from wrong
    say(f"{started.folder}: started")
    code = supervise(asked, started, say)
    log = started.folder / "train.log"
    if asked.detach and code is None:
        record = journal.read_record(started.folder)
        if record.get("status") == "unknown":
            say(f"{started.folder}: it ended, and its status is not known")
            return 1
        say(f"it runs on as pid {record.get('pid')}; look at it: tail -f {log}")
        return 0
    if code is None:
        say(f"{started.folder}: it ended, and its status is not known")
        return 1
    if code:
        how = f"was killed by {_signal(code)}" if code > 128 and _signal(code) else f"ended with status {code}"
        say(f"it {how}; to learn why: dflash-forensics analyze {asked.folder}")
    return code


def _signal(code: int) -> str:
    try:
        return signal.Signals(code - 128).name
    except ValueError:
        return ""
