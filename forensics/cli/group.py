"""The group of commands. A command's module is imported when the command is asked for."""

from __future__ import annotations

import importlib

import click

from forensics import __version__

PROGRAM = "dflash-forensics"

EPILOG = f"""\b
Exit status: 0 done, 1 a rule does not hold, 2 wrong usage or a bug.
Completion: eval "$(_DFLASH_FORENSICS_COMPLETE=bash_source {PROGRAM})"
(zsh_source and fish_source for the other shells)
"""


class LazyGroup(click.Group):
    """A group whose commands are named here and live in one module each."""

    modules = ("analyze", "timeline", "explain", "rules")

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
