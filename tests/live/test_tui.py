"""The browser in a real terminal: started in a tmux pane, keys sent, the pane read."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.program import COMMAND, OOM, ROOT, environment
from tests.live.server import Server, poll

STORY = ROOT / "samples" / "001-story" / "run"
RANKS = ROOT / "samples" / "010-collective-mismatch" / "run"


def look(server: Server, *words: object, width: int = 80) -> None:
    """Start the browser in a pane of 24 lines."""
    path = environment()["PYTHONPATH"]
    command = shlex.join([*COMMAND, "tui", *map(str, words)])
    server.start("tui", f"exec env PYTHONPATH={shlex.quote(path)} TERM=tmux-256color {command}", keep=True, width=width)


def screen(server: Server) -> str:
    """Return what the pane shows."""
    return server.tmux("capture-pane", "-p", "-t", "tui")


def keys(server: Server, *sent: str) -> None:
    """Press keys, named as tmux names them."""
    server.tmux("send-keys", "-t", "tui", *sent)


def shows(server: Server, *words: str) -> None:
    """Wait until the pane shows all of these words."""
    poll(lambda: all(word in screen(server) for word in words), f"{words} in the pane:\n{screen(server)}")


def test_from_the_first_screen_to_the_fix(server: Server) -> None:
    """The verdict, the missing log and its reason; then the fix; then the shell again, with status 0."""
    look(server, STORY)
    shows(
        server,
        "UNKNOWN",
        "A log that the launch promised was never written",
        "train_stdout_flex3.log",
        "tmux new-session",
    )
    keys(server, "1", "z")
    shows(server, "promised by launch.sh:4", "Settle it: run the command once in front")
    keys(server, "q")
    server.wait_for_death("tui")
    assert "status 0" in server.capture("tui")


def test_keys_in_a_real_terminal(server: Server) -> None:
    """A search, a line, a filter and the help, typed as one would, or faster."""
    look(server, RANKS, width=120)
    shows(server, "FAILED", "The ranks called different collectives", "train.log  125/246")
    keys(server, ":77", "Enter")
    shows(server, "train.log  77/246")
    keys(server, "/Watchdog caught", "Enter")
    shows(server, "train.log  125/246")
    keys(server, "n")
    shows(server, "train.log  127/246")
    keys(server, "f", "rank:1 level:error", "Enter")
    shows(server, "only rank:1 level:error")
    keys(server, "f")
    shows(server, "show only: rank:1 level:error")
    keys(server, "C-u")
    shows(server, "show only: rank:3 level:error -speaker")  # the example in the empty line
    keys(server, "Enter")
    keys(server, "G")
    shows(server, "train.log  246/246")
    keys(server, "?")
    shows(server, "next, previous finding")
    keys(server, "Escape")
    poll(lambda: "Esc closes" not in screen(server), "the end of the help")
    keys(server, "2")
    shows(server, "rank 0", "12:57:0")
    keys(server, "C-c")
    server.wait_for_death("tui")
    assert "status 0" in server.capture("tui")


def test_copying_reaches_the_terminal(server: Server) -> None:
    """The line under the cursor comes into the clipboard of the terminal, over any number of ssh hops."""
    look(server, STORY)
    shows(server, "UNKNOWN", "launch.sh")
    server.tmux("set-option", "-s", "set-clipboard", "on")
    keys(server, "y")
    poll(lambda: server.tmux("show-buffer").startswith("tmux new-session -d -s dflash"), "the line in the clipboard")


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)], ids=str)
def test_the_window_changes_its_size(server: Server, size: tuple[int, int]) -> None:
    """However large the window becomes, verdict and evidence are on it."""
    look(server, STORY)
    shows(server, "UNKNOWN")
    server.tmux("resize-window", "-t", "tui", "-x", str(size[0]), "-y", str(size[1]))
    poll(lambda: server.ask("#{pane_width}") == str(size[0]), "the new size")
    shows(server, "UNKNOWN", "launch.sh", "tmux new-session" if size[0] > 60 else "#!/bin/bash")


def test_a_hostile_log_does_not_reach_the_terminal(server: Server, left: Path) -> None:
    """Titles, clipboards and screens of the terminal stay as they are."""
    (left / "train.log").write_text("\x1b]0;owned\x07\x1b[2J\x1b[?1049l\x1b]52;c;b3duZWQ=\x07harmless\n" + OOM)
    server.tmux("set-option", "-g", "set-clipboard", "on")
    look(server, left)
    shows(server, "FAILED", "The GPU ran out of memory")
    keys(server, "g", "a", "a")
    shows(server, "␛]0;owned␇")
    assert server.ask("#{alternate_on}") == "1"
    assert "owned" not in server.ask("#{pane_title}")
    assert "owned" not in server.tmux("show-buffer")


def test_following_a_run(server: Server, left: Path) -> None:
    """What a live run writes appears, and what it dies of is announced."""
    log = left / "train.log"
    log.write_text("".join(f"step {n}/100 loss 2.5\n" for n in range(20)))
    look(server, left, "--follow")
    shows(server, "following", "train.log")
    keys(server, "G")
    with log.open("a") as file:
        file.write("step 20/100 loss 2.4\n")
    shows(server, "step 20/100")
    with log.open("a") as file:
        file.write(OOM)
    shows(server, "FAILED", "new finding")


def test_leaving_while_a_large_log_is_read(server: Server, left: Path) -> None:
    """The evidence is there before the analysis is, and leaving ends that."""
    with (left / "train.log").open("w") as file:
        for step in range(400_000):
            file.write(f"iteration {step}/ 900000 | lm loss: 2.5E+00 | {'x' * 60}\n")
    look(server, left)
    shows(server, "iteration 0/ 900000")
    keys(server, ":300000", "Enter")
    shows(server, "iteration 299999/ 900000")
    keys(server, "q")
    server.wait_for_death("tui")
    assert "status 0" in server.capture("tui")
