"""Each key beyond the log: views, lists, the timeline, export, the plan, help, and the mouse."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual import events
from textual.binding import Binding
from textual.pilot import Pilot

from forensics.tui.app import Asked, Browser
from forensics.tui.desk import Desk
from forensics.tui.widgets.dialogs import KEYS, Export, Help
from forensics.tui.widgets.findings import Findings
from forensics.tui.widgets.log_view import LogView
from forensics.tui.widgets.panel import VIEWS, Panel
from forensics.tui.widgets.sources import Sources
from forensics.tui.widgets.timeline_view import TimelineView
from forensics.tui.widgets.why import Why
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


@pytest.mark.parametrize(("key", "view"), [(str(n), view) for n, view in enumerate(VIEWS, 1)])
def test_views(key: str, view: str) -> None:
    """The numbers show why, timeline, plots, memory and attempts, and give them the keys."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, key)
        assert app.desk.query_one(Panel).view == view
        assert app.desk.query_one(f"#{view}").has_focus

    run(script)


def test_enter_on_evidence_and_on_a_cited_line() -> None:
    """Enter on a place in Why goes there; Enter on a line that findings cite tells about them."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g", "1", "right", "l", "enter")
        assert line(app) == 97
        await press(app, pilot, "left", "left", "left", "enter")
        assert app.desk.finding is not None
        assert app.desk.finding.role != "root"
        await press(app, pilot, "escape", "right_square_bracket", "colon", "“4", "enter", "enter")
        assert app.desk.finding is not None
        assert app.desk.finding.id == "compile.dense-fallback"

    run(script, DENSE)


def test_the_timeline() -> None:
    """Arrows move and choose a lane, comma and dot jump, plus and minus zoom, 0 shows all, Enter goes to the line."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "2")
        view = app.desk.query_one(TimelineView)
        line_ = view.timeline
        assert line_ is not None
        whole = line_.span
        await press(app, pilot, "comma", "plus", "plus")
        assert line_.span == pytest.approx(whole / 4)
        await press(app, pilot, "minus")
        assert line_.span == pytest.approx(whole / 2)
        await press(app, pilot, "0")
        assert line_.span == whole
        at = line_.cursor
        await press(app, pilot, "full_stop", "full_stop")
        assert line_.cursor > at
        before = line_.cursor
        await press(app, pilot, "left")
        assert line_.cursor < before
        await press(app, pilot, "right", "down", "up", "down")
        assert view.lane == 1
        await press(app, pilot, "comma", "enter")
        assert app.desk.reader.view.has_focus
        assert line(app) != 125

    run(script)


def test_the_cursors_of_log_and_timeline_are_tied() -> None:
    """Moving in the log moves the cursor of the timeline, and moving there moves the log."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        line_ = app.desk.query_one(TimelineView).timeline
        assert line_ is not None
        await press(app, pilot, "t", "“12:55:42", "enter")
        early = line_.cursor
        await press(app, pilot, "t", "“12:56:06", "enter")
        assert line_.cursor > early
        here = line(app)
        await press(app, pilot, "2", "comma")
        assert line(app) != here

    run(script)


def test_zoom_side_and_back() -> None:
    """`z` gives one part all the room, `s` hides the side, Escape comes back to the log."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "z")
        assert not app.desk.query_one(Panel).display or app.desk.query_one(Panel).size.height == 0
        await press(app, pilot, "z", "1", "z")
        assert app.desk.query_one(Why).size.height > 30
        await press(app, pilot, "escape")
        assert app.desk.reader.view.has_focus
        assert app.desk.reader.view.size.height > 5
        await press(app, pilot, "s")
        assert not app.desk.query_one("#side").display
        await press(app, pilot, "s")
        assert app.desk.query_one("#side").display

    run(script)


def test_tab_goes_round() -> None:
    """Tab reaches every part of the screen."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        seen = set()
        for _ in range(6):
            await press(app, pilot, "tab")
            seen.add(type(app.focused).__name__)
        assert {"LogView", "Findings", "Sources", "Why"} <= seen

    run(script)


def test_lists_are_for_choosing() -> None:
    """Enter on a finding tells about it; on a source shows it; on a missing one shows who promised it."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        app.desk.query_one(Findings).focus()
        await press(app, pilot, "down", "enter")
        assert app.desk.finding is not None
        assert app.desk.finding.role != "root"
        sources = app.desk.query_one(Sources)
        sources.focus()
        await press(app, pilot, "end", "enter")
        assert app.desk.reader.opened is not None
        assert app.desk.reader.opened.path == "train_stdout_flex2.log"
        sources.focus()
        await press(app, pilot, "home", "enter")
        assert app.desk.reader.opened.path == "launch.sh"
        assert line(app) == 4

    run(script, STORY)


def test_a_rank_is_chosen_in_the_list() -> None:
    """Enter on a rank shows only what it says."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        app.desk.query_one(Sources).focus()
        await press(app, pilot, "end", "enter")
        opened = app.desk.reader.opened
        assert opened is not None
        assert opened.filter is not None
        assert opened.filter.said == "rank:1"

    run(script)


def test_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`x` writes the report; a file that is there stays as it is."""
    monkeypatch.chdir(tmp_path)

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "x")
        assert isinstance(app.screen, Export)
        await press(app, pilot, "down", "enter", "enter")
        assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "failed"
        await press(app, pilot, "x", "enter", "enter")
        assert (tmp_path / "report.md").read_text().startswith("#")
        await press(app, pilot, "x", "down", "down", "enter", "enter")
        assert "<html" in (tmp_path / "report.html").read_text()
        (tmp_path / "report.json").write_text("mine")
        await press(app, pilot, "x", "down", "enter", "enter")
        assert (tmp_path / "report.json").read_text() == "mine"
        assert any("not written" in row for row in rows(app))

    run(script)


def test_the_plan_of_a_second_try() -> None:
    """`R` shows what `relaunch` would do, and does nothing; for a single file it says why there is no plan."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "R")
        await until(pilot, lambda: any("No further try" in row for row in rows(app)))
        await press(app, pilot, "j", "k", "escape")
        await until(pilot, lambda: app.screen is app.desk)

    run(script, DENSE)

    async def alone(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "R")
        await until(pilot, lambda: any("a plan is made for one folder" in row for row in rows(app)))

    run(alone, DENSE / "train.log")


def test_dark_and_light() -> None:
    """`d` turns between the two."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "d")
        assert not app.current_theme.dark
        await press(app, pilot, "d")
        assert app.current_theme.dark

    run(script)


def test_help_and_the_palette() -> None:
    """`?` lists the keys, ctrl+p all commands; a command of the palette does what its key does."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "question_mark")
        assert isinstance(app.screen, Help)
        assert any("next, previous finding" in row for row in rows(app))
        await press(app, pilot, "j", "k", "escape")
        assert isinstance(app.screen, Desk)
        await pilot.press("ctrl+p")
        await pilot.press(*"wrap")
        await until(pilot, lambda: any("Wrap long lines" in row for row in rows(app)))
        await pilot.press("enter")
        await until(pilot, lambda: app.desk.reader.view.wrap)

    run(script)


def test_the_help_names_every_key() -> None:
    """No key of the screen is missing in the help."""
    named = " ".join(key for _, keys in KEYS for key, _ in keys)
    shown = {"left_square_bracket": "[", "right_square_bracket": "]", "slash": "/", "colon": ":", "apostrophe": "'",
             "question_mark": "?", "escape": "", "tab": "Tab"}  # fmt: skip
    for binding in Desk.BINDINGS:
        key = binding.key if isinstance(binding, Binding) else binding[0]
        assert shown.get(key, key) in named, key


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving(key: str) -> None:
    """`q` and Ctrl-C leave, at once and with status 0, also while the analysis runs."""
    app = Browser(Asked((str(MISMATCH),)))

    async def play() -> None:
        async with app.run_test() as pilot:
            await pilot.press(key)
            await until(pilot, lambda: not app.is_running or app._exit)

    asyncio.run(play())
    assert not app.return_code


def test_the_mouse() -> None:
    """A click puts the cursor, a click at the edge goes far, the wheel scrolls, tabs and rows can be clicked."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "g")
        await pilot.click(LogView, offset=(20, 5))
        await settled(app, pilot)
        assert line(app) == 6
        await pilot._post_mouse_events([events.MouseScrollDown], LogView, offset=(20, 5))
        await settled(app, pilot)
        opened = app.desk.reader.opened
        assert opened is not None
        assert opened.view.top > 0
        view = app.desk.reader.view
        await pilot.click(LogView, offset=(view.size.width - 1, view.size.height - 1))
        await settled(app, pilot)
        last = line(app)
        assert last is not None
        assert last > 200
        await pilot.click("#tab-timeline")
        await settled(app, pilot)
        assert app.desk.query_one(Panel).view == "timeline"
        await pilot.click(TimelineView, offset=(30, 1))
        await settled(app, pilot)
        assert app.desk.query_one(TimelineView).lane == 1
        await pilot.click(Findings, offset=(5, 2))
        await settled(app, pilot)
        assert app.desk.finding is not None
        assert app.desk.finding.role != "root"

    run(script)
