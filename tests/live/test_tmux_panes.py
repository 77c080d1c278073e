"""What is left in the panes of a real tmux: how a command ended, and lines as wide as the pane."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.live.server import PANES, Server, analyze, held, root
from tests.live.trainers import trainer

MESSAGE = "ValueError: bad shard /workspace/data/tokenized/shard-00017.bin: the index expects 4096 samples, the file holds 1024"


def finding(report: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the finding of that id."""
    (found,) = [f for f in report["findings"] if f["id"] == name]
    return dict(found)


def end_in_pane(server: Server, end: str, last_words: str, *more: str, width: int = 80) -> None:
    """Run the program in a kept pane until the pane says that it is dead."""
    seen = server.folder / "seen"
    server.start("dflash", held(trainer(server.folder, end, *more), seen), keep=True, width=width)
    server.wait_for(last_words, "dflash")
    seen.touch()
    server.wait_for_death("dflash")


def test_a_status_without_a_word(server: Server, left: Path) -> None:
    """The pane knows the status, and that is all there is to know."""
    end_in_pane(server, "exit", "step   21/30")
    (left / "pane.txt").write_text(server.capture("dflash"))
    (left / "panes.txt").write_text(server.tmux("list-panes", "-a", "-F", PANES))

    report = analyze(left)
    assert report["verdict"] != "healthy"
    assert root(report)["id"] == "capture.tmux-session-died"
    assert root(report)["facts"]["exit_code"] == 3
    assert root(report)["facts"]["last_step"] == 21
    assert "Pane is dead (status 3" in root(report)["evidence"][0]["text"]


@pytest.mark.parametrize(
    ("how", "name", "kept"),
    [(signal.SIGKILL, "host.killed-signal", "pane.txt"), (signal.SIGSEGV, "host.segfault", "tmux.txt")],
    ids=["KILL", "SEGV"],
)
def test_a_signal(server: Server, left: Path, how: signal.Signals, name: str, kept: str) -> None:
    """The pane names the signal that ended its command, in a capture and in a session that shows one."""
    server.start("dflash", f"exec {trainer(server.folder, 'stay')}", keep=True)
    server.wait_for("step   21/30", "dflash")
    server.kill_pane("dflash", how)
    looked = server.typed("capture-pane", "-p", "-t", "dflash") + server.typed("list-panes", "-a", "-F", PANES)
    (left / kept).write_text(server.capture("dflash") if kept == "pane.txt" else looked)

    report = analyze(left)
    assert report["verdict"] == "failed"
    assert root(report)["id"] == name
    assert root(report)["facts"]["signal"] == how
    assert root(report)["facts"]["last_step"] == 21


def test_a_traceback_above_a_status_is_the_cause(server: Server, left: Path) -> None:
    """The status of the pane follows from the exception."""
    end_in_pane(server, "raise", MESSAGE)
    (left / "pane.txt").write_text(server.capture("dflash"))

    report = analyze(left)
    assert report["verdict"] == "failed"
    assert root(report)["facts"]["exception"] == "ValueError"
    assert root(report)["facts"]["function"] == "load_shard"
    died = finding(report, "capture.tmux-session-died")
    assert died["role"] == "consequence"
    assert died["facts"]["exit_code"] == 1


def test_a_traceback_above_a_signal_is_the_cause(server: Server, left: Path) -> None:
    """Who kills a run that hangs after an exception did not end it."""
    server.start("dflash", f"exec {trainer(server.folder, 'hang')}", keep=True)
    server.wait_for(MESSAGE, "dflash")
    server.kill_pane("dflash", signal.SIGKILL)
    (left / "pane.txt").write_text(server.capture("dflash"))

    report = analyze(left)
    assert report["verdict"] == "failed"
    assert root(report)["facts"]["exception"] == "ValueError"
    assert finding(report, "host.killed-signal")["facts"]["signal"] == signal.SIGKILL


@pytest.mark.parametrize("width", [80, 100])
def test_a_pane_says_the_same_however_it_was_captured(server: Server, left: Path, width: int) -> None:
    """Broken at the pane's width, joined by tmux, with colours, or in a session: one cause, one line, one step."""
    end_in_pane(server, "raise", MESSAGE, "colour", width=width)
    forms = {options: server.capture("dflash", *options) for options in [(), ("-J",), ("-e",), ("-J", "-e")]}
    assert "\x1b[" in forms["-e",]
    assert MESSAGE in forms["-J",]
    assert MESSAGE not in forms[()]
    wrapped = {"pane.txt": forms[()], "colours.txt": forms["-e",]}
    session = server.typed("capture-pane", "-p", "-S", "-", "-t", "dflash") + server.typed("ls")
    joined = {"joined.txt": forms["-J",], "joined_colours.txt": forms["-J", "-e"]}

    for name, text in {**wrapped, "tmux.txt": session, **joined}.items():
        folder = left / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)
        report = analyze(folder)
        cause = root(report)
        assert (report["verdict"], cause["id"]) == ("failed", "setup.python-exception"), name
        assert cause["facts"]["last_step"] == 21, name
        assert cause["facts"].get("pane_width") == (None if name in joined else width), name
        assert cause["evidence"][0]["text"].split("\n")[0] == MESSAGE, name


def test_a_run_that_finished_in_its_pane(server: Server, left: Path) -> None:
    """A dead pane with status 0 below the program's own last word is a healthy end."""
    end_in_pane(server, "complete", "Training complete", "colour")
    (left / "pane.txt").write_text(server.capture("dflash", "-e"))
    (left / "panes.txt").write_text(server.tmux("list-panes", "-a", "-F", PANES))

    report = analyze(left)
    assert report["verdict"] == "healthy"
    assert [f["id"] for f in report["findings"] if f["severity"] == "error"] == []


def test_a_run_that_finished_while_somebody_watched(server: Server, left: Path) -> None:
    """The client at the terminal says `[exited]`, which is how every session ends."""
    seen, log = server.folder / "seen", server.folder / "train.log"
    server.start("dflash", held(f"{trainer(server.folder, 'complete')} 2>&1 | tee {log}", seen))
    with server.attached("dflash") as stays:
        server.wait_for("Training complete", "dflash")
        seen.touch()
        server.wait_until_gone()
    assert stays == ["[exited]\n"]
    (left / "train.log").write_bytes(log.read_bytes())
    (left / "tmux.txt").write_text(f"$ tmux attach -t dflash\n{stays[0]}")

    report = analyze(left)
    assert report["verdict"] == "healthy"
    assert [f["id"] for f in report["findings"] if f["severity"] == "error"] == []
