"""What a file's content tells of the terminal that showed it."""

from __future__ import annotations

import pytest

from forensics.sources.input import Input

MESSAGE = "ValueError: bad shard /workspace/data/tokenized/shard-00017.bin: the index expects 4096 samples, the file holds 1024"
STEPS = [
    f"step {i:6d} | loss {9 - i / 250:.4f} | lr 3.75e-06 | tok/s {48211 + i} | q_target 12 | mem 71.2/96.0 GiB"
    for i in range(9)
]


def pane(width: int) -> str:
    """Return what `capture-pane -p` shows of a run that raised."""
    lines = [
        *STEPS,
        "Traceback (most recent call last):",
        MESSAGE,
        "",
        "Pane is dead (status 1, Sun Nov 29 13:00:38 2026)",
    ]
    return "\n".join(line[i : i + width].rstrip() for line in lines for i in range(0, max(len(line), 1), width)) + "\n"


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("prompt", ["$ ", "root@gpu8:/workspace# ", "(venv) me@node7 ~ $ "])
def test_a_session_that_shows_a_pane_tells_its_width(width: int, prompt: str) -> None:
    """A pane printed at a prompt is wrapped like one in a file of its own; longer lines around it do not matter."""
    launch = f'{prompt}tmux new-session -d -s dflash "bash /root/start_training.sh 2>&1 | tee /workspace/logs/run7/train.log"\n'
    session = f"{launch}{prompt}tmux capture-pane -p -S - -t dflash\n{pane(width)}{prompt}tmux ls\ndflash: 1 windows\n"
    source = Input.from_bytes("tmux.txt", session.encode()).source
    assert (source.kind, source.pane_width) == ("transcript", width)


@pytest.mark.parametrize("command", ["tmux capture-pane -p -J -t dflash", "tmux capture-pane -pJ", "cat old.txt"])
def test_a_session_that_shows_no_wrapped_pane_has_no_width(command: str) -> None:
    """With -J the terminal has joined its lines, and what other commands print is as wide as it is."""
    shown = "\n".join(STEPS) + f"\n{MESSAGE}\n" if "J" in command else pane(80)
    assert Input.from_bytes("tmux.txt", f"$ {command}\n{shown}$ date\n".encode()).source.pane_width is None


@pytest.mark.parametrize("width", [80, 100])
def test_a_file_that_is_named_after_its_pane_is_wrapped_like_one(width: int) -> None:
    """Somebody saved the whole pane, the prompts of the session in it."""
    shown = pane(width).replace("Pane is dead", "me@gpu8:~$ echo $?\n1\nme@gpu8:~$ Pane is dead")
    source = Input.from_bytes("pane-train.txt", f"me@gpu8:~$ python train.py\n{shown}me@gpu8:~$ date\n".encode()).source
    assert source.pane_width == width
