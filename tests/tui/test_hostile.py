"""A log that means harm: nothing in it runs, nothing leaves its column, nothing freezes the screen."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from forensics.tui.app import Browser
from forensics.tui.widgets.log_view import LogView
from tests.tui.screen import browse, press, rows

ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
LINES = [
    "plain line",
    "\x1b[2J\x1b[H\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07clear, title, clipboard",
    "\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\ \x1b[6n\x1bP+q544e\x1b\\ask",
    "[bold red]markup[/] [@click=app.quit]quit[/] [link=http://x]y[/link] {{x}} ${y} $error",
    "\u202eright to left\u202c \u2066isolated\u2069 שלום مرحبا",
    "wide 漢字漢字漢字 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ｆｕｌｌ",
    "zero\u200bwidth\u200d\ufeff\u00ad e\u0301" + "\u0301" * 50 + " end",
    "\x9b31mC1\x9b0m \x85 \u2028 \u2029 \x7f \x00",
    "tab\tand\x0bvertical\x0cfeed\x08\x08back",
    "\x1b[38;5;999999999999999999m\x1b[" + "1;" * 400 + "m many",
    "x" * (1 << 20) + "漢" * 100,
    "\x1b[31m" * 20_000 + "coloured for ever",
    "漢" * 50_000,
    "step 1\rstep 2\r\x1b[Kstep 3",
    "RuntimeError: [red]boom[/red] \x1b[5m\x1b[8mhidden\x1b[0m \u202e",
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run whose log, whose script and whose file names are hostile."""
    (tmp_path / "train.log").write_bytes("\n".join(LINES).encode("utf-8", "surrogatepass") + b"\n\xff\xfe\xc3(\n")
    (tmp_path / "[red]\x1b[31m\u202ename.log").write_text("Traceback (most recent call last):\nValueError: [b]x[/b]\n")
    (tmp_path / "launch.sh").write_text("python train.py > '[@click=app.quit]\u202elog.txt' 2>&1\n")
    return tmp_path


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (40, 12)])
@pytest.mark.parametrize("before", ["escape", "w"], ids=["cut", "wrapped"])
def test_a_hostile_log_is_only_text(hostile: Path, size: tuple[int, int], before: str) -> None:
    """However it is shown, each row of the screen is as wide as the screen, and no character of it acts."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        app.desk.reader.open("train.log")
        await press(app, pilot, before)
        for key in ("g", "pagedown", "pagedown", "G", "a", "g", "pagedown", "a", "pagedown", "r", "g", "pagedown"):
            await press(app, pilot, key)
            _check(app, size)
        for key in "12345":
            await press(app, pilot, key)
            _check(app, size)

    browse([hostile], script, size)


def _check(app: Browser, size: tuple[int, int]) -> None:
    view = app.desk.reader.view
    for y in range(view.size.height):
        strip = view.render_line(y)
        assert strip.cell_length == view.size.width
        assert sum(cell_len(segment.text) for segment in strip) == view.size.width
        assert not any(segment.style and (segment.style.link or segment.style.meta) for segment in strip)
    for strip in app.screen._compositor.render_strips():
        assert strip.cell_length == size[0]
        assert not [c for segment in strip for c in segment.text if unicodedata.category(c) in ACTING]


def test_markup_of_a_log_stays_markup(hostile: Path) -> None:
    """What looks like markup is shown as it was written, and a click on it does nothing."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        app.desk.reader.open("train.log")
        await press(app, pilot, "g")
        shown = rows(app)
        y = next(at for at, row in enumerate(shown) if "[bold red]markup[/] [@click=app.quit]quit[/]" in row)
        x = shown[y].index("quit[/]")
        await pilot.click(offset=(x, y))
        await pilot.pause()
        assert app.is_running
        view = app.query_one(LogView)
        assert view.opened is not None

    browse([hostile], script, (160, 48))


def test_names_of_files_are_only_text(hostile: Path) -> None:
    """Markup, escapes and direction marks in names are spelled out."""

    async def script(app: Browser, _: Pilot[None]) -> None:
        assert any("[red]␛[31m\\u202ename.log" in row for row in rows(app))
        assert any("[@click=app.quit]\\u202elog.txt" in row for row in rows(app))

    browse([hostile], script, (160, 48))


def test_long_lines_take_no_time_to_draw(hostile: Path) -> None:
    """Of a line of a megabyte no more is looked at than fits the screen, and some."""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        reader = app.desk.reader
        reader.open("train.log")
        await press(app, pilot, "colon", "“11", "enter")
        longest = max(len(reader.view._text(place.row).text) for place in reader.view._places())
        assert longest < 10_000
        await press(app, pilot, "w")
        assert max(len(reader.view._text(place.row).text) for place in reader.view._places()) < 100_000

    browse([hostile], script)
