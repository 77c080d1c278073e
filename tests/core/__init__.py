"""The training core, run as a program."""
