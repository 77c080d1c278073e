"""`history`: the attempts of a folder, told in their order."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.cli.evidence import explained
from forensics.cli.output import write
from forensics.cli.patience import patience


@click.command("history")
@click.argument("path", type=click.Path(exists=True, file_okay=False))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="json for a program.")  # fmt: skip
def command(path: str, form: str) -> None:
    """Tell what was tried in a folder, how each attempt ended, and why.

    PATH is what `run --run-dir` was given.

    \b
    Example: dflash-forensics history dflash-run
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    from forensics.supervise.history import as_data, story, tell
    from forensics.text.ansi import visible

    with explained(), patience(f"reading {path}"):
        chapters = story(Path(path))
    if not chapters:
        raise click.ClickException(f"there is no attempt in {path}; `run` makes them, `analyze` reads other folders")
    if form == "json":
        write(json.dumps(as_data(chapters), indent=2) + "\n")
    else:
        write("".join(f"{visible(line)}\n" for line in tell(chapters)))
