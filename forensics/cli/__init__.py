"""The commands: a group, and one file for each. What they need is loaded when they run."""

from forensics.cli.entry import main

__all__ = ["main"]
