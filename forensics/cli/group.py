"""The group of commands. A command's module is imported when the command is asked for."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import click

from forensics import __version__

PROGRAM = "dflash-forensics"

EPILOG = f"""\b
Exit status: 0 done, 1 unsound (run, rule, launch), 2 wrong usage or a bug.
Completion: eval "$(_DFLASH_FORENSICS_COMPLETE=bash_source {PROGRAM})"
(zsh_source and fish_source for the other shells)
"""


class Group(click.Group):
    """A group that says what may be meant by a command there is none of."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names.

        Raises:
            click.UsageError: there is none; the message has the nearest, or the right place of a path.
        """
        word = args[0]
        if ctx.resilient_parsing or word.startswith("-") or self.get_command(ctx, word) is not None:
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"No such command {word!r}{self.meant(ctx, word)}", ctx)

    def meant(self, ctx: click.Context, word: str) -> str:
        """Return the end of the sentence: the nearest command, or none."""
        from difflib import get_close_matches  # for who mistypes only

        near = get_close_matches(word, self.list_commands(ctx), n=1, cutoff=0.6)
        return f"; did you mean {near[0]!r}?" if near else "."


class LazyGroup(Group):
    """A group whose commands are named here and live in one module each."""

    modules = ("analyze", "tui", "timeline", "gate", "run", "relaunch", "history", "preflight", "memory", "explain",
               "rules")  # fmt: skip

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of their use."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command, or return None for a name there is none of."""
        if cmd_name not in self.modules:
            return None
        command = importlib.import_module(f"forensics.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong module is a bug
        return command

    def meant(self, ctx: click.Context, word: str) -> str:
        """Return the nearest command, or for a path the command that reads it."""
        if Path(word).exists():
            return f"; to read that path: {PROGRAM} analyze {shlex.quote(word)}"
        return super().meant(ctx, word)


@click.group(
    PROGRAM,
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, "-V", "--version", prog_name=PROGRAM)
def program() -> None:
    """Name the root cause of a dead training run, with the evidence.

    \b
    Example: dflash-forensics analyze run_dir/
    """  # noqa: D301 - the \b is click's mark for "keep these lines"
