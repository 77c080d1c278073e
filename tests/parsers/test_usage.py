"""What refuses a command line, and what only looks like it."""

from __future__ import annotations

import pytest

from forensics.parsers.usage import PARSER
from tests.voices import CONTEXT, records

USAGE = "usage: train.py [-h] --data DATA\n"


def arguments(text: str) -> list[object]:
    return [event.fields["argument"] for event in PARSER.parse(records(text.rstrip("\n").split("\n")), CONTEXT)]


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        (USAGE + "train.py: error: unrecognized arguments: --flash 3", "--flash"),
        (USAGE + "train.py: error: argument -n/--nodes: expected at least one argument", "-n"),
        (USAGE + "train.py: error: --model is required with --resume", "--model"),
        ("usage: vllm serve [options]\nvllm serve: error: unrecognized arguments: --x", "--x"),
        ("usage: python -m a.b [-h]\npython -m a.b: error: the following arguments are required: --data", "--data"),
        ("Error: No such option: --lrr Did you mean --lr?", "--lrr"),
        ("Error: Missing option '--data'.", "--data"),
        ("╭─ Error ─────╮\n│ Invalid value for '--lr': 'x' is not a valid float.   │", "--lr"),
        ("╭─ Parsing error ─────╮\n│ Unrecognized options: --foo     │", "--foo"),
        ("ERROR: Could not consume arg: --foo", "--foo"),
    ],
)
def test_a_refusal_names_its_argument(text: str, argument: str) -> None:
    """argparse, click, typer, tyro and fire each say it in their way."""
    assert arguments(text) == [argument]


@pytest.mark.parametrize(
    "text",
    [
        "train.py: error: the disk is slow",
        USAGE + "node1: error: 0.31",
        "usage: 3.2 GiB\nnode1: error: 0.31",
        "clang: error: argument unused during compilation: '-pie'",
        "╭─ Options ─────╮\n│ --data  Missing option values are read from it. [required] │",
        "│ No such option: --lrr │",
        "",
    ],
)
def test_look_alikes_refuse_nothing(text: str) -> None:
    """A message with `error:` in it is a refusal only below the usage of that very program."""
    assert arguments(text) == []
