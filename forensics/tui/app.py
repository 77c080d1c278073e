"""The browser: looks for the run's files, starts the analysis, follows a run that goes on, and leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar
from zoneinfo import ZoneInfo

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from forensics.sources import SourceError, find
from forensics.tui.background import beside, post
from forensics.tui.desk import Desk
from forensics.tui.job import Failure, Job, Progress
from forensics.tui.messages import Gathered, Grown, Spoken
from forensics.tui.palette import DARK, LIGHT
from forensics.tui.plain import safe
from forensics.tui.story import Story
from forensics.tui.watch import LOOK_S, REST, Watch
from forensics.tui.widgets.panel import VIEWS


@dataclass(frozen=True, slots=True)
class Asked:
    """What the browser was started on."""

    paths: tuple[str, ...]
    rules: tuple[str, ...] = ()
    tz: str | None = None
    follow: bool = False

    @property
    def offset_s(self) -> float:
        """Return the offset of times that name no zone."""
        if not self.tz:
            return 0.0
        offset = ZoneInfo(self.tz).utcoffset(datetime(2026, 1, 1))  # noqa: DTZ001 - a wall clock, as in the analysis
        return offset.total_seconds() if offset else 0.0


def begin(asked: Asked) -> Job:
    """Start the analysis of what is asked for."""
    return Job(asked.paths, asked.rules, asked.tz)


class Browser(App[None]):
    """A run on a screen."""

    CSS_PATH = "forensics.tcss"
    TITLE = "dflash-forensics"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-usual"), (120, "-wide")]  # noqa: RUF012 - as the library declares it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - the same
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dark", show=False),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, asked: Asked, start: Callable[[Asked], Job] | None = None) -> None:
        super().__init__()
        self.asked = asked
        self._start = start or begin
        self.desk = Desk(asked.paths, asked.offset_s)
        self._job: Job | None = None
        self._run = 0
        self._began = self._ended = 0.0
        self._stale = False
        self._watch: Watch | None = None
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def get_default_screen(self) -> Screen[None]:
        """Return the screen to begin with."""
        return self.desk

    def on_desk_ready(self) -> None:
        """Look for the files, and analyse them beside that."""
        beside(self._find)
        self._analyse()

    def on_unmount(self) -> None:
        """End what runs beside the screen."""
        self.stop()

    def stop(self) -> None:
        """End the analysis."""
        if self._job is not None:
            self._job.stop()

    def _find(self) -> None:
        try:
            post(self, Gathered(find(self.asked.paths)))
        except SourceError as error:
            post(self, Gathered(None, str(error)))

    def _analyse(self) -> None:
        self._stale = False
        self._run += 1
        self._began = time.monotonic()
        job, run = self._start(self.asked), self._run
        self._job = job

        def listen() -> None:
            for said in job.said():
                post(self, Spoken(said, run))

        beside(listen)

    def on_gathered(self, event: Gathered) -> None:
        """Show the files."""
        if not self.is_running:
            return
        if event.found is None:
            self.exit(return_code=2, message=event.problem)
            return
        self.desk.gathered(event.found)
        if self.asked.follow and self._watch is None:
            self._watch = Watch(self.asked.paths, event.found)
            self._following()

    async def on_spoken(self, event: Spoken) -> None:
        """Show how far the analysis is, or what it says."""
        if event.run != self._run or not self.is_running:
            return
        said = event.said
        if isinstance(said, Progress):
            if self.desk.story is None:
                self.desk.headline.progress(said)
            return
        self._ended = time.monotonic()
        if self._job is not None:
            self._job.stop()
            self._job = None
        if isinstance(said, Failure):
            self.desk.headline.doing("no analysis")
            title = "This is a bug of dflash-forensics; the files can still be read" if said.is_bug else "No analysis"
            self.notify(safe(said.why), title=title, severity="error", timeout=20, markup=False)
            return
        await self.desk.tell(Story.of(said))

    def _following(self) -> None:
        watch = self._watch
        if watch is None:
            return

        def look() -> None:
            while self.is_running:
                changed, new = watch.look(time.monotonic())
                post(self, Grown(tuple(changed), new))
                time.sleep(LOOK_S)

        beside(look)

    def on_grown(self, event: Grown) -> None:
        """Show what a run that is followed has written, and analyse it again when it is time to."""
        watch = self._watch
        if watch is None or not self.is_running:
            return
        if event.new:
            self.desk.gathered(watch.found)
        if event.changed or event.new:
            self._stale = True
            self.desk.reader.grown()
        self.desk.headline.aside(watch.silence(time.time()) or "following")
        rested = time.monotonic() - self._ended > max(REST, REST * (self._ended - self._began))
        if self._stale and self._job is None and rested:
            self._analyse()

    def action_dark(self) -> None:
        """Turn between dark and light."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the commands of the palette."""
        if screen is self.desk:
            yield from self._commands()
        yield SystemCommand("Dark or light", "d", self.action_dark)
        yield SystemCommand("Quit", "q", self.action_quit)

    def _commands(self) -> Iterable[SystemCommand]:
        desk, reader = self.desk, self.desk.reader
        for name, key, kind in (
            ("Find words", "/", "search"), ("Find a pattern", "/ Tab", "regex"),
            ("Show only some lines", "f", "filter"), ("Go to a line", ":", "line"), ("Go to a time", "t", "time"),
        ):  # fmt: skip
            yield SystemCommand(name, key, partial(desk.action_ask, kind))
        for view, name in VIEWS.items():
            yield SystemCommand(f"Show: {name}", "", partial(desk.action_view, view))
        yield SystemCommand("Wrap long lines, or cut them", "w", reader.wrap)
        yield SystemCommand("Overwritten records: show or fold", "r", reader.unfold)
        yield SystemCommand("Colours of the log", "a", reader.colours)
        yield SystemCommand("Mark the line", "m", reader.mark)
        yield SystemCommand("Next mark", "'", reader.next_mark)
        yield SystemCommand("Export the report", "x", desk.action_export)
        yield SystemCommand("Plan of a second try", "R", desk.action_plan)
        yield SystemCommand("Keys", "?", desk.action_help)


def browse(asked: Asked) -> int:
    """Run the browser until it is left; return the exit status."""
    app = Browser(asked)
    try:
        app.run()
    finally:
        app.stop()
    return app.return_code or 0
