"""Options of commands, set where they stand."""

from __future__ import annotations

import pytest

from forensics.supervise.arguments import resume_option, value_of, with_option


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["python", "t.py", "--lr", "1"], ["python", "t.py", "--lr", "2"]),
        (["python", "t.py", "--lr=1", "-v"], ["python", "t.py", "--lr=2", "-v"]),
        (["python", "t.py"], ["python", "t.py", "--lr", "2"]),
        (["python", "t.py", "--lr", "--x"], ["python", "t.py", "--lr", "2", "--x"]),
        (["bash", "-c", "cd /x; python t.py --lr 1"], ["bash", "-c", "cd /x; python t.py --lr 2"]),
        (["bash", "-c", "python t.py"], ["bash", "-c", "python t.py --lr 2"]),
    ],
)
def test_an_option_is_set_where_it_stands_or_added(before: list[str], after: list[str]) -> None:
    """In both spellings, in quoted scripts too."""
    assert with_option(before, "--lr", "2") == after


def test_an_option_of_the_launcher_goes_before_its_script() -> None:
    """What stands behind the script is for the script."""
    command = ["torchrun", "--nproc-per-node=8", "t.py", "--lr", "1"]
    assert with_option(command, "--rdzv-conf", "join_timeout=1800")[1] == "--rdzv-conf=join_timeout=1800"


def test_the_option_of_the_checkpoint_is_known_by_its_usual_names() -> None:
    """Also in a quoted script."""
    assert resume_option(["python", "t.py", "--resume_from_checkpoint", "x"]) == "--resume_from_checkpoint"
    assert resume_option(["bash", "-c", "python t.py --resume=auto"]) == "--resume"
    assert resume_option(["python", "t.py"]) is None
    assert value_of(["t", "--a", "1", "--a=2"], "--a") == "2"
