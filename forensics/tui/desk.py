"""The screen: its parts, what the keys do, and who hears of what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer

from forensics.model import Finding
from forensics.render import words
from forensics.render.cards import cards
from forensics.sources import Found
from forensics.tui.attempts import LOGS, attempts, earlier
from forensics.tui.background import beside, post
from forensics.tui.export import FORMS, Form, write
from forensics.tui.lanes import Timeline
from forensics.tui.messages import Choose, Goto, Laid, Moved
from forensics.tui.plain import safe
from forensics.tui.plan import NoPlanError, plan
from forensics.tui.query import Query
from forensics.tui.series import drawings
from forensics.tui.story import Story, fresh
from forensics.tui.widgets.dialogs import Export, Help, Planned
from forensics.tui.widgets.findings import Findings
from forensics.tui.widgets.headline import Headline
from forensics.tui.widgets.history import History
from forensics.tui.widgets.memory import Memory
from forensics.tui.widgets.panel import VIEWS, Panel
from forensics.tui.widgets.plots import Plots
from forensics.tui.widgets.prompt import Prompt
from forensics.tui.widgets.reader import Reader
from forensics.tui.widgets.sources import Sources
from forensics.tui.widgets.timeline_view import TimelineView
from forensics.tui.widgets.why import Why

ZOOMS = ("-zoom-panel", "-zoom-side", "-zoom-log")
"""Classes of the screen under which one part of it has all the room."""


class Desk(Screen[None]):
    """Everything of one run."""

    class Ready(Message):
        """The parts of the screen are there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "finding(1)", "finding", key_display="]", priority=True),
        Binding("left_square_bracket", "finding(-1)", show=False, priority=True),
        Binding("slash", "ask('search')", "find", key_display="/", priority=True),
        Binding("e", "error(False)", "error", priority=True),
        Binding("E", "error(True)", show=False, priority=True),
        Binding("f", "ask('filter')", "filter", priority=True),
        Binding("t", "ask('time')", "time", priority=True),
        Binding("colon", "ask('line')", show=False, priority=True),
        Binding("n", "again(False)", show=False, priority=True),
        Binding("N", "again(True)", show=False, priority=True),
        Binding("g", "log('home')", show=False, priority=True),
        Binding("G", "log('end')", show=False, priority=True),
        Binding("m", "reader('mark')", show=False, priority=True),
        Binding("apostrophe", "reader('next_mark')", show=False, priority=True),
        Binding("w", "reader('wrap')", show=False, priority=True),
        Binding("r", "reader('unfold')", show=False, priority=True),
        Binding("a", "reader('colours')", show=False, priority=True),
        Binding("y", "copy", show=False, priority=True),
        Binding("x", "export", "export", priority=True),
        Binding("R", "plan", show=False, priority=True),
        Binding("tab", "part", "part", priority=True),
        Binding("z", "zoom", "zoom", priority=True),
        Binding("s", "side", show=False, priority=True),
        *(Binding(str(number), f"view('{view}')", show=False, priority=True) for number, view in enumerate(VIEWS, 1)),
        Binding("escape", "back", show=False, priority=True),
        Binding("question_mark", "help", "keys", key_display="?", priority=True),
        Binding("q", "leave", "quit", priority=True),
    ]

    def __init__(self, paths: Sequence[str], offset_s: float) -> None:
        super().__init__()
        self._paths = paths
        self._offset_s = offset_s
        self.story: Story | None = None
        self.finding: Finding | None = None
        self._form: Form | None = None
        self._found = Found()
        self._unseen = False

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Headline(", ".join(self._paths))
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield Findings()
                yield Sources()
            with Vertical(id="main"):
                yield Reader(self._offset_s)
                yield Panel()
        yield Prompt(self._answered, self._dropped)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begin in the log."""
        self.set_focus(self.reader.view)
        self.post_message(self.Ready())

    @property
    def reader(self) -> Reader:
        """Return the reader of evidence."""
        return self.query_one(Reader)

    @property
    def headline(self) -> Headline:
        """Return the line at the top."""
        return self.query_one(Headline)

    # what is told from outside

    def gathered(self, found: Found) -> None:
        """Show the files of the run, and the largest log of its last attempt."""
        self._found = found
        self.reader.inputs = {item.source.path: item for item in found.inputs}
        sources = [item.source for item in found.inputs]
        if self.story is None:
            self.query_one(Sources).tell(sources)
        if self.reader.opened is None:
            last = max((source.attempt for source in sources), default=0)
            logs = [source for source in sources if source.bytes and source.read != "skipped"]
            logs.sort(key=lambda s: (s.kind in LOGS, s.attempt == last, s.bytes))
            if logs:
                self.reader.open(logs[-1].path)
            if self.story is not None:
                self._arrive(self.story)

    async def tell(self, story: Story) -> None:
        """Show an analysis; go to the evidence of the root, unless the reader has gone elsewhere already."""
        before, self.story = self.story, story
        report = story.report
        self.headline.report(report)
        self.query_one(Findings).tell(story)
        self.query_one(Sources).tell(report.sources, story.missing(), story.ranks, earlier(report))
        self.reader.tell(story)
        self.query_one(TimelineView).tell(Timeline.of(story))
        await self.query_one(Plots).tell(drawings(story.analysis))
        await self.query_one(Memory).tell(cards(report))
        await self.query_one(History).tell(attempts(report))
        kept = self.finding.id if self.finding is not None else ""
        same = next((one.finding for one in story.told if one.finding.id == kept), None)
        await self.choose(same or story.root or story.neighbour(None, 1), go=False)
        if before is None:
            if self.reader.inputs:
                self._arrive(story)
        elif new := fresh(before, story):
            titles = "; ".join(safe(finding.title) for finding in new[:3])
            self.app.notify(titles, title=words.count(len(new), "new finding"), severity="warning", markup=False)

    def _arrive(self, story: Story) -> None:
        place = story.root.evidence[0] if story.root is not None else None
        if place is None:
            return
        if self.reader.view.touched:
            self._unseen = True
            self.app.notify("The analysis is there: ] goes to what it found.", markup=False)
        else:
            self.reader.goto(place)
            self.reader.view.centre()

    async def choose(self, finding: Finding | None, *, go: bool) -> None:
        """Tell about a finding, and show where it stands."""
        if self.story is None:
            return
        self.finding = finding
        await self.query_one(Why).tell(self.story.report, finding)
        if finding is not None:
            self.query_one(Findings).point(finding)
            if go and finding.evidence:
                self.reader.goto(finding.evidence[0])

    # what the parts tell one another

    async def on_choose(self, event: Choose) -> None:
        """Tell about a finding."""
        self.query_one(Panel).show("why", focus=False)
        await self.choose(event.finding, go=event.go)

    def on_goto(self, event: Goto) -> None:
        """Show a place of the evidence."""
        self.reader.goto(event.place)
        self.query_one(Sources).point(event.place.path)
        if not event.keep:
            self.set_focus(self.reader.view)

    def on_sources_opening(self, event: Sources.Opening) -> None:
        """Show a source."""
        if self.reader.open(event.path) is not None:
            self.reader.view.touched = True
            self.set_focus(self.reader.view)

    def on_sources_ranked(self, event: Sources.Ranked) -> None:
        """Show only what one rank says."""
        self.reader.filter(f"rank:{event.rank}")
        self.set_focus(self.reader.view)

    def on_moved(self, event: Moved) -> None:
        """Keep the cursor of the timeline where the reader is."""
        timeline = self.query_one(TimelineView)
        if timeline.has_focus or timeline.timeline is None:
            return  # the cursor is moved there, and the log follows it
        if timeline.timeline.axis == "time":
            if event.moment is not None:
                timeline.follow(event.moment)
        elif event.row.number is not None and timeline.timeline.axis == f"lines of {event.opened.path}":
            timeline.follow(float(event.row.number))

    def _answered(self, kind: str, text: str) -> None:
        reader = self.reader
        self.set_focus(reader.view)
        if kind == "filter":
            reader.filter(text)
        elif kind == "export":
            self._write(text)
        elif text.strip():
            reader.view.touched = True
            self._go(kind, text.strip() if kind in {"line", "time"} else text)

    def _go(self, kind: str, text: str) -> None:
        reader = self.reader
        if kind in {"search", "regex"}:
            reader.search(Query(text, is_regex=kind == "regex"))
        elif kind == "time":
            reader.time(text)
        elif text.isdecimal() and len(text) < 19:
            reader.line(max(1, int(text)))
        else:
            reader.warn(f"a line is a number, not {text}")

    def _dropped(self) -> None:
        self.set_focus(self.reader.view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let what is typed into the prompt be typed.

        Keys are taken as they come, before they are handed to a part of the screen, so that none is
        lost when the next one opens the prompt.
        """
        own = f"action_{action}" in vars(type(self))
        return not (own and self.query_one(Prompt).display) and super().check_action(action, parameters)

    # what the keys do

    def action_ask(self, kind: str) -> None:
        """Ask for something to be typed."""
        opened = self.reader.opened
        said = opened.filter.said if kind == "filter" and opened is not None and opened.filter is not None else ""
        self.query_one(Prompt).ask(kind, said)

    async def action_finding(self, by: int) -> None:
        """Go to the next or the previous finding."""
        unseen, self._unseen = self._unseen, False
        finding = self.finding if unseen else self.story.neighbour(self.finding, by) if self.story else None
        if finding is None:
            self.reader.warn("there is no finding" if self.story else "the analysis is not there yet")
            return
        self.reader.view.touched = True
        await self.choose(finding, go=True)

    def action_again(self, back: bool) -> None:  # noqa: FBT001 - given by the key
        """Find the same once more."""
        self.reader.view.touched = True
        self.reader.again(back=back)

    def action_error(self, back: bool) -> None:  # noqa: FBT001 - given by the key
        """Go to the next error."""
        self.reader.view.touched = True
        self.reader.error(back=back)

    def action_log(self, where: str) -> None:
        """Go to the first or the last line."""
        view = self.reader.view
        view.action_home() if where == "home" else view.action_end()

    def action_reader(self, what: str) -> None:
        """Do something with the log."""
        getattr(self.reader, what)()

    def action_view(self, view: str) -> None:
        """Show a view of the run."""
        self.remove_class("-zoom-log")
        self.query_one(Panel).show(view)

    def action_copy(self) -> None:
        """Copy the line under the cursor, or the fix while reading why, through the terminal (OSC 52)."""
        why = self.query_one(Why)
        within = self.focused is not None and why in self.focused.ancestors_with_self
        text = why.advice if within else self.reader.text
        if not text:
            self.reader.warn("there is nothing to copy here")
            return
        self.app.copy_to_clipboard(text)
        self.app.notify(
            f"Copied {'the fix' if within else 'the line'}, {words.count(len(text), 'character')}.", timeout=2
        )

    def action_export(self) -> None:
        """Write the report to a file."""
        if self.story is None:
            self.reader.warn("the analysis is not there yet")
        else:
            self.app.push_screen(Export(FORMS), self._chosen)

    def _chosen(self, form: Form | None) -> None:
        if form is not None:
            self._form = form
            self.query_one(Prompt).ask("export", f"report{form.suffix}")

    def _write(self, target: str) -> None:
        if self.story is None or self._form is None or not target.strip():
            return
        try:
            path = write(self.story.analysis, self._found, self._form, target.strip())
        except OSError as error:
            self.reader.warn(f"not written: {error.strerror or error}: {target}")
        else:
            self.app.notify(safe(f"Wrote {path.resolve()}"), markup=False)

    def action_plan(self) -> None:
        """Show how the run would be tried again."""
        self.app.push_screen(Planned())

        def make() -> None:
            try:
                text = plan(self._paths)
            except NoPlanError as error:
                text = str(error)
            post(self, Laid(text))

        beside(make)

    def on_laid(self, event: Laid) -> None:
        """Show the plan, if it is still waited for."""
        if isinstance(self.app.screen, Planned):
            self.app.screen.tell(event.text)

    def action_zoom(self) -> None:
        """Show the part that has the keys alone, or all parts again."""
        focused = self.focused
        within = set() if focused is None else {node.id for node in focused.ancestors_with_self}
        wanted = "-zoom-panel" if "panel" in within else "-zoom-side" if "side" in within else "-zoom-log"
        zoomed = any(self.has_class(name) for name in ZOOMS)
        self.remove_class(*ZOOMS)
        self.set_class(not zoomed, wanted)

    def action_side(self) -> None:
        """Show findings and sources, or hide them."""
        side = self.query_one("#side")
        side.display = not side.display

    def action_back(self) -> None:
        """Take off what lies over the log: the zoom, then the marks of the search."""
        self.remove_class(*ZOOMS)
        if self.reader.view.has_focus:
            self.reader.view.sought = None
            self.reader.view.redraw()
        self.set_focus(self.reader.view)

    def action_part(self) -> None:
        """Give the keys to the next part of the screen."""
        panel = self.query_one(Panel)
        parts = [self.reader.view, panel.query_one(f"#{panel.view}"), self.query_one(Findings), self.query_one(Sources)]
        parts = [part for part in parts if part.size.height]
        within = [part for part in parts if self.focused is not None and part in self.focused.ancestors_with_self]
        at = parts.index(within[0]) if within else -1
        self.set_focus(parts[(at + 1) % len(parts)])

    async def action_leave(self) -> None:
        """Leave."""
        await self.app.action_quit()

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(Help())
