"""Sessions that never started, and servers that went away, as a real tmux tells of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.live.server import Server, analyze, held, root, shown
from tests.live.trainers import trainer


def launch(left: Path, command: str) -> None:
    """Leave the launch line as its author wrote it."""
    (left / "launch.sh").write_text(f'#!/bin/bash\ntmux new-session -d -s dflash "{command}"\n')


@pytest.mark.parametrize(
    "form",
    ["cd {w}/gone && {train} 2>&1 | tee {log}", "{train} > {log} 2>&1"],
    ids=["no folder to enter", "no folder for the log"],
)
def test_a_command_that_ended_before_its_log_was_opened(server: Server, left: Path, form: str) -> None:
    """Nothing is left but a client that finds no server: the log is named as missing, and nothing is blamed."""
    log = server.folder / "logs" / "run7" / "train.log"
    command = form.format(w=server.folder, train=trainer(server.folder, "complete"), log=log)
    assert server.start("dflash", command) == ""
    server.wait_until_gone()
    launch(left, command)
    looked = server.typed("ls") + server.typed("capture-pane", "-p", "-t", "dflash") + shown(f"tail -40 {log}")
    (left / "tmux.txt").write_text(looked)

    report = analyze(left)
    assert report["verdict"] == "unknown"
    assert root(report)["id"] == "capture.log-missing"
    assert root(report)["facts"]["missing_path"] == str(log)
    assert [(e["path"], e["state"]) for e in report["expected"]] == [(str(log), "missing")]
    roles = {f["id"]: f["role"] for f in report["findings"]}
    assert roles["capture.tmux-no-server"] == "consequence"
    assert not any(name.startswith("gpu.") for name in roles)


def test_a_pane_that_was_kept_shows_why_the_log_is_missing(server: Server, left: Path) -> None:
    """The shell could not open the log, so the program never ran: its words are evidence for the missing log."""
    log = server.folder / "logs" / "run7" / "train.log"
    command = f"{trainer(server.folder, 'complete')} > {log} 2>&1"
    seen = server.folder / "seen"
    server.start("dflash", held(command, seen), keep=True)
    server.wait_for(f"{log}: ", "dflash")
    seen.touch()
    server.wait_for_death("dflash")
    launch(left, command)
    (left / "pane.txt").write_text(server.capture("dflash"))

    report = analyze(left)
    assert report["verdict"] == "unknown"
    assert root(report)["id"] == "capture.log-missing"
    assert "pane.txt" in [e["path"] for e in root(report)["evidence"]]
    assert [e["state"] for e in report["expected"]] == ["missing"]


@pytest.mark.parametrize(
    ("form", "script", "roots"),
    [
        ("run_training --steps 30 2>&1 | tee {log}", "run_training", {"capture.never-started"}),
        # Who was told to run the script says that a file is missing: either name for it leads there.
        ("bash {script} 2>&1 | tee {log}", "start.sh", {"capture.never-started", "host.file-missing"}),
        (f"{sys.executable} {{script}} 2>&1 | tee {{log}}", "trian.py", {"capture.never-started", "host.file-missing"}),
    ],
    ids=["a command", "a script", "a program"],
)
def test_what_should_run_is_not_there(server: Server, left: Path, form: str, script: str, roots: set[str]) -> None:
    """Not the missing log is the cause, though `tee` complains first, but that there was nothing to run."""
    command = form.format(script=server.folder / script, log=server.folder / "logs" / "run7" / "train.log")
    seen = server.folder / "seen"
    server.start("dflash", held(command, seen), keep=True, width=120)
    server.wait_for(script, "dflash")
    server.wait_for("tee: ", "dflash")
    seen.touch()
    server.wait_for_death("dflash")
    launch(left, command)
    (left / "pane.txt").write_text(server.capture("dflash"))

    report = analyze(left)
    assert root(report)["id"] in roots
    assert script in root(report)["evidence"][0]["text"]


OLD_ENDS = [
    pytest.param("stay", "pane.txt", id="still running"),
    pytest.param("complete", "pane.txt", id="finished"),
    pytest.param(
        "complete",
        "tmux.txt",
        id="finished, in the same session",
    ),
    pytest.param(
        "raise",
        "pane.txt",
        id="raised",
    ),
]


@pytest.mark.parametrize(("end", "kept"), OLD_ENDS)
def test_a_name_in_use_makes_the_pane_an_older_runs(server: Server, left: Path, end: str, kept: str) -> None:
    """The new run never started: whatever the pane shows of the old one, good or bad, says nothing about it."""
    server.start("dflash", trainer(server.folder, end), keep=True)
    if end == "stay":
        server.wait_for("step   21/30", "dflash")
    else:
        server.wait_for_death("dflash")
    command = f"{trainer(server.folder, 'raise')} 2>&1 | tee {server.folder}/train_2.log"
    launch(left, command)
    refused = server.typed("new-session", "-d", "-s", "dflash", command)
    assert refused.endswith("duplicate session: dflash\n")
    if kept == "pane.txt":
        (left / "launch.txt").write_text(refused)
        (left / kept).write_text(server.capture("dflash"))
    else:
        (left / kept).write_text(refused + server.typed("capture-pane", "-p", "-S", "-", "-t", "dflash"))

    report = analyze(left)
    assert report["verdict"] == "failed"
    assert root(report)["id"] == "capture.tmux-duplicate"
    assert root(report)["facts"]["session"] == "dflash"


def test_a_killed_server(server: Server, left: Path) -> None:
    """Its socket is still there and nobody answers; a client at a terminal loses it. The log ends in mid-run."""
    log = server.folder / "train.log"
    command = f"{trainer(server.folder, 'stay')} 2>&1 | tee {log}"
    server.start("dflash", command)
    server.wait_for("step   21/30", "dflash")
    with server.attached("dflash") as stays:
        server.kill()
    assert server.socket.exists()
    assert "server" in stays[0]
    launch(left, command)
    (left / "train.log").write_bytes(log.read_bytes())
    (left / "tmux.txt").write_text(f"$ tmux attach -t dflash\n{stays[0]}{server.typed('ls')}")

    report = analyze(left)
    assert report["verdict"] == "unknown"
    assert root(report)["id"] == "capture.tmux-no-server"
    assert root(report)["facts"]["socket"] == str(server.socket)
    assert root(report)["facts"]["last_step"] == 21
    assert [e["state"] for e in report["expected"]] == ["present"]


def test_a_socket_that_was_removed_under_a_living_server(server: Server, left: Path) -> None:
    """As a cleaner of /tmp does it: clients cannot connect, the program runs on, and nobody calls it dead."""
    log = server.folder / "train.log"
    command = f"exec {trainer(server.folder, 'stay')} > {log} 2>&1"
    server.start("dflash", command)
    pid = int(server.ask("#{pane_pid}"))
    server.wait_for_text("step   21/30", log)
    server.socket.unlink()
    launch(left, command)
    (left / "train.log").write_bytes(log.read_bytes())
    (left / "tmux.txt").write_text(server.typed("ls") + server.typed("capture-pane", "-p", "-t", "dflash"))
    os.kill(pid, 0)  # it is there

    report = analyze(left)
    assert report["verdict"] == "unknown"
    assert root(report)["id"] == "capture.tmux-no-server"
    assert root(report)["facts"]["socket"] == str(server.socket)
    assert root(report)["evidence"][0]["text"].startswith("error connecting to ")
    assert root(report)["facts"]["last_step"] == 21


def test_a_finished_run_takes_its_server_with_it(server: Server, left: Path) -> None:
    """A server ends with its last session: after a run that says it finished, its absence is no fault."""
    log = server.folder / "train.log"
    command = f"{trainer(server.folder, 'complete')} > {log} 2>&1"
    server.start("dflash", command)
    server.wait_until_gone()
    launch(left, command)
    (left / "train.log").write_bytes(log.read_bytes())
    (left / "tmux.txt").write_text(server.typed("ls"))

    report = analyze(left)
    assert report["verdict"] == "healthy"
    assert [f["id"] for f in report["findings"] if f["role"] == "root"] == []
