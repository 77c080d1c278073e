"""`tui`: a run on the screen."""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

from forensics.cli.evidence import STDIN, explained, paths_argument, rules_option, tz_option

NO_TERMINAL = "tui needs a terminal for its screen and its keys; analyze prints a report without one"
DRIVEN = "TEXTUAL_DRIVER"
"""Set where a web server shows the screen instead of a terminal."""


@click.command("tui")
@paths_argument
@click.option("--follow", is_flag=True, help="Show what a run that goes on writes, and analyse it anew.")
@click.option("--serve", is_flag=True, help="In a web browser on this machine instead.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=0, help="Port of --serve. Default: a free one."
)
@rules_option
@tz_option
def command(
    paths: Sequence[str], rules: Sequence[str], tz: str | None, port: int, *, follow: bool, serve: bool
) -> None:
    """Look at a run: its findings, its evidence, its timeline.

    PATH is the folder that a run left behind, or files of it. ? shows the keys.

    \b
    Examples:
      dflash-forensics tui run_dir/
      dflash-forensics tui run_dir/ --follow
      ssh -t node dflash-forensics tui /scratch/run
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    if STDIN & set(paths):
        raise click.UsageError("tui reads keys from standard input, so it cannot read a log there; name a file")
    with explained():
        _check(paths)
    if serve:
        _serve(paths, rules, tz, port, follow=follow)
        return
    if not os.environ.get(DRIVEN) and not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        raise click.ClickException(NO_TERMINAL)
    from forensics.tui.app import Asked, browse

    status = browse(Asked(tuple(paths), tuple(rules), tz, follow))
    if status:
        raise click.exceptions.Exit(status)


def _check(paths: Sequence[str]) -> None:
    """Refuse what cannot be read, before the screen changes."""
    from forensics.sources import SourceError, is_remote
    from forensics.text.urls import redacted

    for path in paths:
        if is_remote(path):
            raise SourceError(redacted(path), "a browser reads files of this machine; analyze reads those elsewhere")
        try:
            mode = Path(path).stat().st_mode
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise SourceError(path, reason.lower()) from error
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise SourceError(path, "not a file or a folder, and a browser reads more than once")


def _serve(paths: Sequence[str], rules: Sequence[str], tz: str | None, port: int, *, follow: bool) -> None:
    if importlib.util.find_spec("textual_serve") is None:
        raise click.ClickException("--serve needs the extra serve: pip install 'dflash-forensics[serve]'")
    from forensics.tui.serve import serve

    options = [*(f"--rules={folder}" for folder in rules), *([f"--tz={tz}"] if tz else []), *["--follow"] * follow]
    try:
        serve([*options, "--", *paths], port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on port {port}: {error.strerror or error}") from error


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
