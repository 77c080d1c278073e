"""`memory`: arithmetic for people who have only the number, or who want to know before they start."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.program import run


def said(*words: str) -> str:
    done = run("memory", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_the_number_of_the_story_is_a_matrix_of_scores() -> None:
    """With the sizes of the run it fits; with the length alone the rest is solved for, and called a guess."""
    told = said("--alloc", "276GiB", "--heads", "32", "ctx=37888", "anchors=1024", "block_size=32", "--total", "96GiB")
    assert "32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB = attention scores  (medium)" in told
    assert "larger than the whole card (96.00 GiB)" in told
    guessed = said("--alloc", "276GiB", "--heads", "32", "--seq", "37888")
    assert guessed.startswith("None of the sizes given comes to that; if it was attention")
    assert "32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB = attention scores  (low)" in guessed


def test_a_number_that_is_no_tensor_is_said_to_be_none() -> None:
    """No story is forced on it."""
    assert (
        said("--alloc", "5.37GiB", "--model", "gpt2", "--batch", "8") == "No tensor of these sizes comes to 5.37 GiB.\n"
    )


def test_the_traceback_decides() -> None:
    """The same number is logits where the head was at work, and nothing where an optimizer was."""
    words = ("memory", "--alloc", "7.83GiB", "--batch", "16", "--seq", "2048", "--model", "meta-llama/Llama-3.1-8B")
    head = run(*words, "--frames", "-", given=b"logits = self.lm_head(hidden_states)\n").stdout
    assert b"16 sequences x 2048 tokens x 128256 vocabulary x 2 bytes = 7.83 GiB = logits  (high)" in head
    assert run(*words, "--frames", "-", given=b"state['exp_avg'] = torch.zeros_like(p)\n").stdout.startswith(
        b"No tensor"
    )


def test_a_step_is_worked_out_before_it_is_started() -> None:
    """What it needs, part by part, and what would fit the card."""
    step = ("--model", "llama-3.2-1b", "--batch", "4", "--seq", "2048", "--dtype", "bfloat16")
    told = said(*step)
    assert re.search(r"A step needs about 32\.\d\d GiB at its peak \(loss\)", told)
    assert said(*step, "--total", "80GiB").rstrip().endswith("It fits.")
    small = said(*step, "--total", "24GiB")
    assert "Set batch to 2, with 2 times the gradient accumulation" in small
    data = json.loads(run("memory", *step, "--total", "24GiB", "--format", "json").stdout)
    assert data["options"][0]["batch"] == 2
    assert sum(data["parts"].values()) == data["needed_bytes"]


@pytest.mark.parametrize(
    "words",
    [(), ("--alloc", "much"), ("--alloc", "1GiB", "heads"), ("--model", "no-such-model", "--batch", "1", "--seq", "1")],
    ids=["nothing", "no size", "no pair", "unknown"],
)
def test_wrong_usage_is_said_in_a_line(words: tuple[str, ...]) -> None:
    """Exit status 2, no traceback."""
    done = run("memory", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(b"dflash-forensics: ")
    assert b"Traceback" not in done.stderr
