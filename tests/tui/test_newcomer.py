"""Who has never seen the program: from opening the story to the missing log, its reason and its fix."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from forensics.tui.app import Browser
from tests.cli.program import ROOT
from tests.tui.screen import browse, press, rows


def test_the_missing_log_in_under_five_keys() -> None:
    """On a small screen: the missing log and why are there at once; two keys later all of the fix is."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        first = "\n".join(rows(app))
        assert "A log that the launch promised was never written" in first
        assert "✗ train_stdout_flex3.log" in first
        assert "tmux new-session -d -s dflash" in first
        assert "no progress of the run was recorded" in first
        assert "1 Why" in first
        await press(app, pilot, "1", "z")
        told = "\n".join(rows(app))
        assert "Most likely the session ended before the file was opened" in told
        assert "/workspace/train_stdout_flex3.log  missing; promised by launch.sh:4" in told
        assert "Settle it: run the command once in front, its log opened first" in told
        await press(app, pilot, "space")
        assert "A plain restart may help" in "\n".join(rows(app))

    browse([ROOT / "samples" / "001-story" / "run"], script)


def test_an_empty_folder(tmp_path: Path) -> None:
    """Where there is nothing, that is said, and no key does harm."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        assert any("no evidence was found" in row for row in rows(app))
        for key in (
            "g",
            "G",
            "e",
            "n",
            "m",
            "y",
            "w",
            "r",
            "right_square_bracket",
            "down",
            "enter",
            "2",
            "3",
            "4",
            "5",
        ):
            await press(app, pilot, key)

    browse([tmp_path], script)


def test_a_screen_that_is_very_small() -> None:
    """In 40 columns and 12 rows the verdict, the evidence and the reason still have room."""

    async def script(app: Browser, _: Pilot[None]) -> None:
        shown = "\n".join(rows(app))
        assert "UNKNOWN" in shown
        assert "tmux new-session" in shown
        assert "1 Why" in shown

    browse([ROOT / "samples" / "001-story" / "run"], script, (40, 12))
