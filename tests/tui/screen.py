"""The browser as its users see it: started on a run, keys pressed, and the rows of the screen read."""

from __future__ import annotations

import asyncio
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

from textual.pilot import Pilot
from textual.widgets import Input

from forensics import sources
from forensics.analyze import Analysis, examine
from forensics.model import Source
from forensics.sources.pages import Pages
from forensics.tui.app import Asked, Browser
from forensics.tui.job import Job, Said

BOUND_S = 30.0
"""How long anything may take before a test gives up."""
SVG = "{http://www.w3.org/2000/svg}"
CELL_W, CELL_H = 12.2, 24.4

Script: TypeAlias = Callable[[Browser, "Pilot[None]"], Awaitable[None]]


class Made(Job):
    """An analysis that was made before, in the place of one under way: of a sample it is always the same."""

    def __init__(self, asked: Asked) -> None:
        self._made = analysis_of(*asked.paths)

    def said(self) -> Iterator[Said]:
        """Yield it."""
        yield self._made

    def stop(self) -> None:
        """Nothing runs."""


@cache
def analysis_of(*paths: str) -> Analysis:
    """Return the analysis of a run."""
    return examine(paths)


def browse(
    paths: Iterable[object],
    script: Script,
    size: tuple[int, int] = (80, 24),
    *,
    follow: bool = False,
    made: bool = False,
) -> Browser:
    """Start the browser, wait until the analysis is there, and run a script on it.

    With `made` an analysis is taken that an earlier test made, where only the screen is in question.
    """
    app = Browser(Asked(tuple(str(path) for path in paths), follow=follow), Made if made else None)

    async def play() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: app.desk.story is not None and bool(app.desk._found.root))
            await settled(app, pilot)
            await script(app, pilot)

    asyncio.run(play())
    return app


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        await pilot.pause(0.02)


async def settled(app: Browser, pilot: Pilot[None]) -> None:
    """Wait until nothing is under way beside the screen."""
    reader = app.desk.reader
    await until(pilot, lambda: not reader.busy and (reader.opened is None or reader.opened.pages.complete))
    await pilot.pause()
    await pilot.pause()


async def press(app: Browser, pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait for what they do; `“words` are typed into the prompt."""
    for key in keys:
        if key.startswith("“"):
            given = app.desk.query_one("#prompt-input", Input)
            given.value += key[1:]
            given.cursor_position = len(given.value)
        else:
            await pilot.press(key)
            if app.desk.reader.busy:
                await settled(app, pilot)
    await settled(app, pilot)


def line(app: Browser) -> int | None:
    """Return the number of the line under the cursor."""
    opened = app.desk.reader.opened
    row = opened.view.row if opened is not None else None
    return row.number if row is not None else None


def rows(app: Browser) -> list[str]:
    """Return the rows of the screen."""
    return drawn(app.export_screenshot())


def drawn(svg: str) -> list[str]:
    """Return the rows of text in a picture of a screen."""
    found: dict[int, dict[int, str]] = {}
    for element in ET.fromstring(svg).iter(f"{SVG}text"):  # noqa: S314 - our own picture
        if "clip-path" in element.attrib:
            row = found.setdefault(round(float(element.attrib["y"]) / CELL_H), {})
            row[round(float(element.attrib["x"]) / CELL_W)] = "".join(element.itertext()).replace("\xa0", " ")
    return [_line(found[y]) for y in sorted(found)]


def _line(parts: dict[int, str]) -> str:
    text = ""
    for x in sorted(parts):
        text = text.ljust(x) + parts[x]
    return text.rstrip()


def painted(svg: str) -> list[tuple[str, ...]]:
    """Return what a picture shows, cell by cell: text and ground with their colours, however it is written down."""
    styles = dict(re.findall(r"\.[\w-]+-(r\d+) \{ ([^}]*) \}", svg))
    found = []
    for element in ET.fromstring(svg).iter():  # noqa: S314 - our own picture
        if element.tag == f"{SVG}text" and "clip-path" in element.attrib:
            style = styles.get(element.attrib["class"].rpartition("-")[2], "")
            place = f"{float(element.attrib['y']):.0f}", f"{float(element.attrib['x']):.0f}"
            found.append((*place, "".join(element.itertext()), style))
        elif element.tag == f"{SVG}rect" and element.attrib.get("shape-rendering") == "crispEdges":
            place = f"{float(element.attrib['y']):.0f}", f"{float(element.attrib['x']):.0f}"
            found.append((*place, f"{float(element.attrib['width']):.0f}", element.attrib["fill"]))
    return sorted(found)


def pages_of(data: bytes, tmp_path: Path | None = None) -> Pages:
    """Return the pages of some bytes: of a file where a folder is given, else of a copy that was unpacked."""
    if tmp_path is None:
        return Pages(sources.Input(Source("a.log", "training-log", len(data)), lambda _: iter([data] if data else [])))
    path = tmp_path / "a.log"
    path.write_bytes(data)
    return Pages(sources.Input(Source("a.log", "training-log", len(data)), lambda _: iter(()), plain_path=path))


def indexed(pages: Pages) -> Pages:
    """Index to the end."""
    while pages.advance():
        pass
    return pages
