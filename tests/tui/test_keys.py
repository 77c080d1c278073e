"""Every key does what the help says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from forensics.tui.app import Browser
from forensics.tui.paint import Escapes
from forensics.tui.widgets.findings import Findings
from forensics.tui.widgets.prompt import Prompt
from tests.cli.program import ROOT
from tests.tui.screen import Script, browse, line, press, rows, settled, until

MISMATCH = ROOT / "samples" / "010-collective-mismatch" / "run"
DENSE = ROOT / "samples" / "002-dense-276" / "run"
STORY = ROOT / "samples" / "001-story" / "run"


def run(script: Script, path: Path = MISMATCH, size: tuple[int, int] = (100, 40)) -> Browser:
    """Run a script on a sample."""
    return browse([path], script, size, made=True)


def highlights(app: Browser) -> bool:
    """Tell whether words are highlighted."""
    return app.desk.reader.view.sought is not None


def test_it_opens_at_the_evidence_of_the_root() -> None:
    """Without a key the screen shows the verdict, and the cursor is on the line that proves it."""

    async def script(app: Browser, _: Pilot[None]) -> None:
        assert line(app) == 125
        shown = rows(app)
        assert shown[0].startswith("  FAILED  The ranks called different collectives")
        assert any("125" in row and "E1129 12:56:00.426210447" in row for row in shown)

    run(script)


def test_first_and_last_line() -> None:
    """`g` and `G`."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g")
        assert line(app) == 1
        await press(app, pilot, "G")
        assert line(app) == 246

    run(script)


def test_moving_by_lines_and_pages() -> None:
    """Arrows, j and k, page keys, space and b, home and end."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g", "down", "j", "j", "up", "k")
        assert line(app) == 2
        await press(app, pilot, "pagedown", "space")
        down = line(app)
        assert down is not None
        assert down > 20
        await press(app, pilot, "b", "pageup", "home")
        assert line(app) == 1
        await press(app, pilot, "end")
        assert line(app) == 246

    run(script)


def test_going_to_a_line() -> None:
    """`:` asks for a line; one that is not there is told, and what is no number too."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "colon", "“77", "enter")
        assert line(app) == 77
        await press(app, pilot, "colon", "“9999", "enter")
        assert line(app) == 77
        assert any("there is no line 9999; the last one is 246" in row for row in rows(app))
        await press(app, pilot, "colon", "“x", "enter")
        assert any("a line is a number, not x" in row for row in rows(app))

    run(script)


def test_finding_words_and_patterns() -> None:
    """`/`, `n`, `N`; Tab in the prompt turns words into a pattern; Escape takes the marks off."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g", "slash", "“watchdog caught", "enter")
        assert line(app) == 125
        await press(app, pilot, "n")
        assert line(app) == 127
        await press(app, pilot, "N")
        assert line(app) == 125
        await press(app, pilot, "g", "slash", "tab", "“iteration +20", "enter")
        found = line(app)
        assert found is not None
        assert re.search(r"iteration +20", app.desk.reader.text)
        assert highlights(app)
        await press(app, pilot, "escape")
        assert not highlights(app)
        await press(app, pilot, "slash", "“nowhere to be found", "enter")
        assert line(app) == found
        assert any("not found: nowhere to be found" in row for row in rows(app))
        await press(app, pilot, "slash", "tab", "“(", "enter")
        assert any("no pattern" in row for row in rows(app))

    run(script)


def test_what_was_typed_before_comes_back() -> None:
    """The arrows in the prompt recall, and Escape drops it."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "slash", "“rank0", "enter", "slash", "up")
        prompt = app.desk.query_one(Prompt)
        assert any("find: rank0" in row for row in rows(app))
        await press(app, pilot, "down", "escape")
        assert not prompt.display
        assert app.desk.reader.view.has_focus

    run(script)


def test_keys_typed_at_once_go_where_they_belong() -> None:
    """A pasted command is not taken apart: what follows `:` is typed, and what follows Enter is a key again."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        keys = [
            ("colon", ":"),
            ("4", "4"),
            ("2", "2"),
            ("enter", "\r"),
            ("m", "m"),
            ("t", "t"),
            ("f", "f"),
            ("slash", "/"),
        ]
        for key, character in keys:
            app.post_message(events.Key(key, character))
        await until(pilot, lambda: line(app) == 42)
        await until(pilot, lambda: app.desk.query_one(Prompt).display)
        await settled(app, pilot)
        assert app.desk.query_one("#prompt-input").value == "f/"  # type: ignore[attr-defined]
        opened = app.desk.reader.opened
        assert opened is not None
        assert len(opened.marks) == 1

    run(script)


def test_next_and_previous_error() -> None:
    """`e` and `E` stop at lines of errors."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g", "e")
        assert line(app) == 125
        await press(app, pilot, "e", "e")
        assert line(app) == 127
        await press(app, pilot, "E")
        assert line(app) == 126

    run(script)


def test_findings_one_after_the_other() -> None:
    """`]` and `[` go along the chain, each with its evidence and its explanation."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        story = app.desk.story
        assert story is not None
        order = [one.finding.id for one in story.told]
        await press(app, pilot, "right_square_bracket")
        assert app.desk.finding is not None
        assert app.desk.finding.id == order[1]
        assert line(app) == app.desk.finding.evidence[0].line
        assert app.desk.query_one(Findings).chosen is app.desk.finding
        await press(app, pilot, "left_square_bracket", "left_square_bracket")
        assert app.desk.finding.id == order[-1]

    run(script)


def test_filters() -> None:
    """`f` shows only some lines, is told at the top, and an empty one shows all; a goto through it takes it off."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "f", "“rank:1 level:error", "enter")
        reader = app.desk.reader
        opened = reader.opened
        assert opened is not None
        await until(pilot, lambda: opened.filtered_to >= opened.pages.size)
        await press(app, pilot, "g")
        first = line(app)
        assert first == 127
        assert any("only rank:1 level:error" in row for row in rows(app))
        await press(app, pilot, "slash", "“rank0", "enter")
        assert line(app) == first
        await press(app, pilot, "f")
        assert app.desk.query_one("#prompt-input").value == "rank:1 level:error"  # type: ignore[attr-defined]
        await press(app, pilot, "escape", "colon", "“3", "enter")
        assert line(app) == 3
        assert opened.filter is None
        await press(app, pilot, "f", "“rank:9", "enter")
        assert any("there is no rank 9; there is 0, 1" in row for row in rows(app))

    run(script)


def test_going_to_a_time() -> None:
    """`t` goes to the first line at or after a time."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "t", "“12:56:06", "enter")
        assert "12:56:06" in app.desk.reader.text
        await press(app, pilot, "t", "“never", "enter")
        assert any("no time: never" in row for row in rows(app))

    run(script)


def test_marks() -> None:
    """`m` marks a line and takes the mark off; `'` goes from mark to mark."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "apostrophe")
        assert any("no line is marked" in row for row in rows(app))
        await press(app, pilot, "g", "m", "down", "down", "m", "apostrophe")
        assert line(app) == 1
        assert any(row.lstrip().startswith("◆") or " ◆" in row for row in rows(app))
        await press(app, pilot, "apostrophe")
        assert line(app) == 3
        await press(app, pilot, "m", "apostrophe")
        assert line(app) == 1

    run(script)


def test_copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """`y` copies the line, without escape sequences; in Why it copies the fix."""
    copied: list[str] = []
    monkeypatch.setattr(Browser, "copy_to_clipboard", lambda _, text: copied.append(text))

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "y", "1", "y")

    run(script, DENSE)
    assert copied[0].startswith("/opt/torch/.venv/lib")
    assert "flex_attention" in copied[1]


def test_wrapping_and_looking_along() -> None:
    """`w` folds long lines; without it the arrows look along them."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g")
        assert any(row.rstrip("█▐▕ ").endswith("›") for row in rows(app))
        await press(app, pilot, "right", "l")
        assert app.desk.reader.view.shift == 32
        await press(app, pilot, "left", "h", "w")
        assert app.desk.reader.view.shift == 0
        assert any("wrapped" in row for row in rows(app))
        assert not any("›" in row for row in rows(app))
        assert line(app) == 1
        await press(app, pilot, "down", "down")
        assert line(app) == 3

    run(script)


def test_records_of_a_progress_bar(tmp_path: Path) -> None:
    """`r` unfolds what carriage returns had overwritten, and folds it again."""
    (tmp_path / "train.log").write_bytes(
        b"begin\n" + b"\r".join(b"step %d/9 loss 2.5" % n for n in range(1, 10)) + b"\nend\n"
    )

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g")
        assert any("↻9 step 9/9" in row for row in rows(app))
        await press(app, pilot, "r")
        assert any("step 4/9" in row for row in rows(app))
        await press(app, pilot, "down", "down", "down")
        assert line(app) == 2
        await press(app, pilot, "r")
        assert not any("step 4/9" in row for row in rows(app))

    run(script, tmp_path)


def test_colours_of_the_log() -> None:
    """`a` goes through shown, stripped and spelled out."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        for wanted in (Escapes.STRIPPED, Escapes.SPELLED, Escapes.COLOURS):
            await press(app, pilot, "a")
            assert app.desk.reader.view.escapes is wanted

    run(script)
