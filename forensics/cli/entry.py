"""From the command line to an exit status: every way a command can end, in one place.

0: the command did its work. 1: `rules check` or `rules test` found a problem, `gate` failed a run.
2: wrong usage, a path that is not there, a place that cannot be written, or a bug. 3: `gate` cannot
tell. 130: Ctrl-C; `analyze` and `timeline` have then written what they had read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from forensics.cli.group import PROGRAM, program
from forensics.cli.output import OutputError, PipeClosedError, say, silence
from forensics.cli.patience import INTERRUPTED

USAGE = 2
NO_COMMAND: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)
"""What a group without a command raises from click 8.2 on; before, it leaves by itself."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the program and leave with its exit status."""
    if f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE" in os.environ:
        program.main(prog_name=PROGRAM)
    try:
        status = run(list(sys.argv[1:] if args is None else args))
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


def run(args: list[str]) -> int:
    """Run one command line; return its exit status, having said on stderr what went wrong."""
    try:
        with program.make_context(PROGRAM, args) as context:
            program.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (PipeClosedError, BrokenPipeError):
        silence()
        return 0
    except (KeyboardInterrupt, click.Abort):
        say("interrupted")
        return INTERRUPTED
    except NO_COMMAND as bare:
        click.echo(bare.format_message(), err=True)
    except click.ClickException as wrong:
        say(wrong.format_message(), hint=_hint(wrong))
    except OutputError as wrong:
        say(str(wrong))
    except Exception as bug:
        if os.environ.get("DFLASH_DEBUG") == "1":
            raise
        say(f"internal error: {_describe(bug)}", hint=REPORT_IT)
    else:
        return 0
    return USAGE


REPORT_IT = (
    "This is a bug in dflash-forensics, not in your run. Please report it with the traceback "
    "that the same command prints under DFLASH_DEBUG=1."
)


def _hint(wrong: click.ClickException) -> str:
    """Return the next thing to try after a usage error."""
    if isinstance(wrong, click.UsageError) and wrong.ctx is not None:
        return f"Try '{wrong.ctx.command_path} --help'."
    return str(getattr(wrong, "hint", ""))


def _describe(bug: BaseException) -> str:
    """Return the kind and words of an exception, and the line of this program it came from."""
    where = ""
    trace = bug.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"{os.sep}forensics{os.sep}" in code.co_filename:
            name = code.co_filename.rpartition(f"{os.sep}forensics{os.sep}")[2]
            where = f" (forensics/{name}:{trace.tb_lineno})"
        trace = trace.tb_next
    first = (str(bug).splitlines() or [""])[0][:200]
    return f"{type(bug).__name__}: {first}{where}" if first else f"{type(bug).__name__}{where}"
