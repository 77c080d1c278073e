"""What `run` wrote down of a start tells the training's arguments, and nothing else does."""

from __future__ import annotations

import json

import pytest

from forensics.model import Context, Event, Source
from forensics.parsers.launch_script import RECORD


def parse(data: bytes) -> list[Event]:
    return list(RECORD.parse(data, Context(Source("run.json", "config", len(data)))))


def written(command: object) -> bytes:
    return json.dumps({"schema": "dflash-forensics/run/1", "attempt": 1, "command": command}, indent=1).encode()


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-u", "train.py", "--batch-size=8", "--lr", "3e-4"],
        ["timeout", "60", "python", "train.py", "--batch-size", "8", "--lr", "3e-4"],
        ["bash", "-c", "cd /w && python train.py --batch-size 8 --lr 3e-4 2>&1"],
    ],
    ids=["plain", "behind a launcher", "inside a shell"],
)
def test_the_arguments_are_told_under_their_names(command: list[str]) -> None:
    """At the line of the file that holds the command."""
    (event,) = parse(written(command))
    assert (event.speaker, event.kind, event.line) == ("launch", "command", 4)
    assert (event.fields["program"], event.fields["batch_size"]) == ("train.py", 8)


@pytest.mark.parametrize(
    "data",
    [
        written([]), written("python train.py"), written([1, 2]), written(["python train.py"])[:-9],
        json.dumps({"command": ["python", "train.py"]}).encode(), b"", b"[]", b'"dflash-forensics/run/"',
    ],
)  # fmt: skip
def test_anything_else_tells_nothing(data: bytes) -> None:
    """Cut, odd or somebody else's: no event, and no exception."""
    assert parse(data) == []
