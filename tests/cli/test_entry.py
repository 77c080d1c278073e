"""How commands end when something is wrong inside."""

from __future__ import annotations

import click
import pytest

from forensics.cli import entry
from forensics.cli.group import LazyGroup


@click.command("broken")
def broken() -> None:
    """Raise what no command should."""
    raise ValueError("\x1b[31mrank")


@pytest.fixture(autouse=True)
def bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name reach a command with a bug."""
    monkeypatch.setattr(LazyGroup, "get_command", lambda *_: broken)
    monkeypatch.delenv("DFLASH_DEBUG", raising=False)


def test_a_bug_is_told_briefly_and_how_to_report_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A bug is status 2, one inert line with its kind and place, and how to report it."""
    assert entry.run(["broken"]) == 2
    first, hint = capsys.readouterr().err.splitlines()
    assert first.startswith("dflash-forensics: internal error: ValueError: ")
    assert "\x1b" not in first
    assert "DFLASH_DEBUG=1" in hint


def test_a_bug_shows_its_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """With DFLASH_DEBUG=1 a bug is raised as it is."""
    monkeypatch.setenv("DFLASH_DEBUG", "1")
    with pytest.raises(ValueError, match="rank"):
        entry.run(["broken"])
