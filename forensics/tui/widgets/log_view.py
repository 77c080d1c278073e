"""The evidence: the real bytes of a source, a screen of them at a time."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from forensics.text.sizes import format_size
from forensics.tui.filters import who
from forensics.tui.messages import Choose, Moved
from forensics.tui.opened import Opened
from forensics.tui.paint import Escapes, Shown, fit, folds, from_cell, segments, show
from forensics.tui.palette import HUES, SEVERITY_SIGNS
from forensics.tui.query import Query
from forensics.tui.rows import Row
from forensics.tui.story import Citation, Story
from forensics.tui.viewport import Place

MOST_FOLDS = 40
"""Screen lines into which one row is folded at most."""
MARK = "◆"
KEPT = 400
"""Rows whose text and speaker are remembered."""
MOST_TICKS = 400
OPAQUE = frozenset({"flight-recorder", "memory-snapshot", "checkpoint", "binary"})
"""Kinds that are no text: what would be stripped from a log is all there is to see of them."""

_Key: TypeAlias = tuple[int, int | None, Escapes, bool, int]


class LogView(Widget, can_focus=True):
    """Rows of a source with a gutter that shows marks, line numbers and ranks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "Next line", show=False),
        Binding("up,k", "step(-1)", "Line before", show=False),
        Binding("pagedown,space", "page(1)", "Next page", show=False),
        Binding("pageup,b", "page(-1)", "Page before", show=False),
        Binding("home", "home", "First line", show=False),
        Binding("end", "end", "Last line", show=False),
        Binding("left,h", "shift(-16)", "Left", show=False),
        Binding("right,l", "shift(16)", "Right", show=False),
        Binding("enter", "enter", "What cites this", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--gutter", "log--cursor", "log--cited", "log--root", "log--match", "log--error", "log--warning",
        "log--note", "log--dim", "log--mark", "log--thumb",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__(id="log")
        self.opened: Opened | None = None
        self.story: Story | None = None
        self.sought: Query | None = None
        self.wrap = False
        self.escapes = Escapes.COLOURS
        self.shift = 0
        self.touched = False
        self._frame: list[Place] | None = None
        self._digits = 4
        self._ranked = False
        self._shown: OrderedDict[_Key, Shown] = OrderedDict()
        self._who: OrderedDict[int, tuple[int | None, str | None, float | None]] = OrderedDict()
        self._ticks: dict[int, Citation] | None = None

    def on_mount(self) -> None:
        """Take other colours when dark and light change."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.forget())

    def open(self, opened: Opened | None) -> None:
        """Show another source, where its reader left it."""
        self.opened = opened
        self.shift = 0
        self.forget()
        self.moved()

    def tell(self, story: Story) -> None:
        """Take over what an analysis cites."""
        self.story = story
        self.forget()

    def forget(self) -> None:
        """Draw everything anew."""
        self._shown.clear()
        self._who.clear()
        self._ticks = None
        self.redraw()

    def redraw(self) -> None:
        """Draw what has moved."""
        self._frame = None
        self.refresh()

    def moved(self) -> None:
        """Draw, and tell where the reader is."""
        self.redraw()
        if self.opened is not None and (row := self.opened.view.row) is not None:
            moved = Moved(self.opened, row, self.about(row)[2])
            moved.set_sender(self)  # whoever made it move, its parent among them, is told as well
            self.post_message(moved)

    def go(self, offset: int, *, above: int | None = None) -> None:
        """Put the cursor on the row that holds a byte."""
        if self.opened is not None:
            self._measure()
            self.opened.view.go(offset, above=above)
            self.moved()

    def centre(self) -> None:
        """Put the row of the cursor a third down the screen, with what led to it above."""
        if self.opened is not None:
            self._measure()
            self.opened.view.go(self.opened.view.cursor, above=self.opened.view.height // 3)
            self.redraw()

    def folded(self, row: Row) -> int:
        """Return into how many screen lines a row is folded."""
        if not self.wrap or self._room < 1:
            return 1
        return len(folds(self._text(row).text, self._room, MOST_FOLDS))

    def about(self, row: Row) -> tuple[int | None, str | None, float | None]:
        """Return rank, level and time of a row, as far as it tells them."""
        if self.opened is None:
            return None, None, None
        found = self._who.get(row.offset)
        if found is None:
            found = who(row.data, row.number or 0, self.opened.context)
            if found[0] is None and self.opened.context.source.rank is not None:
                found = (self.opened.context.source.rank, *found[1:])
            self._who[row.offset] = found
            if len(self._who) > KEPT:
                self._who.popitem(last=False)
        return found

    # what the keys do

    def action_step(self, by: int) -> None:
        """Move the cursor by rows."""
        if self.opened is not None:
            self._take()
            self.opened.view.step(by)
            self.moved()

    def action_page(self, by: int) -> None:
        """Move by screens."""
        if self.opened is not None:
            self._take()
            self.opened.view.page(by)
            self.moved()

    def action_home(self) -> None:
        """Go to the first row."""
        if self.opened is not None:
            self._take()
            self.opened.view.home()
            self.moved()

    def action_end(self) -> None:
        """Go to the last row."""
        if self.opened is not None:
            self._take()
            self.opened.view.end()
            self.moved()

    def action_shift(self, by: int) -> None:
        """Look further to the right, or back."""
        if not self.wrap:
            self.shift = max(0, self.shift + by)
            self.redraw()

    def action_enter(self) -> None:
        """Tell about the finding that cites the line."""
        row = self.opened.view.row if self.opened else None
        if row is not None and (citation := self._citation(row)) is not None:
            self.post_message(Choose(citation.finding, go=False))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll on."""
        event.stop()
        self._scroll(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll back."""
        event.stop()
        self._scroll(-3)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked; at the right edge, go to that part of the source."""
        if self.opened is None:
            return
        self.touched = True
        if event.x >= self.size.width - 1 and self.size.height > 1:
            self.go(int(self.opened.pages.size * event.y / (self.size.height - 1)))
            return
        frame = self._places()
        if event.y < len(frame):
            self.opened.view.cursor = frame[event.y].row.offset
            self.moved()
            if event.x < self._gutter:
                self.action_enter()

    def _take(self) -> None:
        """Note that the reader goes where they want to."""
        self.touched = True
        if self.opened is not None:
            self.opened.at_end = False
        self._measure()

    def _scroll(self, by: int) -> None:
        if self.opened is not None:
            self._take()
            self.opened.view.scroll(by)
            self.moved()

    # drawing

    def on_resize(self) -> None:
        """Fill the new size."""
        if self.opened is not None:
            view = self.opened.view
            self._measure()
            if not self.touched:
                self.centre()
            else:
                view.reveal()
        self.redraw()

    def _measure(self) -> None:
        if self.opened is not None:
            self.opened.view.height = max(1, self.size.height)

    @property
    def _gutter(self) -> int:
        return 2 + self._digits + (4 if self._ranked else 0) + 1

    @property
    def _room(self) -> int:
        return self.size.width - self._gutter - 1

    def _places(self) -> list[Place]:
        if self._frame is None:
            if self.opened is None:
                return []
            self._measure()
            self._frame = self.opened.view.lines()
            numbers = [place.row.number or 0 for place in self._frame]
            digits, ranked = max(4, len(str(max(numbers, default=0)))), self._ranked
            if not ranked:
                ranked = any(self.about(place.row)[0] is not None for place in self._frame)
            if (digits, ranked) != (self._digits, self._ranked):
                self._digits, self._ranked = digits, ranked
                if self.wrap:
                    self._frame = self.opened.view.lines()
        return self._frame

    def _text(self, row: Row) -> Shown:
        # Of a line of megabytes no more is looked at than the screen has cells for, and some.
        limit = MOST_FOLDS * 8 * max(1, self.size.width) if self.wrap else (self.shift + self.size.width) * 8 + 2048
        opaque = self.opened is not None and self.opened.made.source.kind in OPAQUE
        escapes = Escapes.SPELLED if opaque else self.escapes
        key = (row.offset, row.end, escapes, self.wrap, limit)
        shown = self._shown.get(key)
        if shown is None:
            shown = show(row.data[:limit], escapes)
            badge = f"↻{row.records if row.records > 0 else '…'} " if row.records else ""
            more = f" …[{format_size(row.cut)} more]" if row.cut and len(row.data) <= limit else ""
            spans = tuple((start + len(badge), end + len(badge), style) for start, end, style in shown.spans)
            shown = self._shown[key] = Shown(badge + shown.text + more, spans)
            if len(self._shown) > KEPT:
                self._shown.popitem(last=False)
        return shown

    def _citation(self, row: Row) -> Citation | None:
        if self.story is None or self.opened is None or row.number is None:
            return None
        return self.story.citation(self.opened.path, row.number)

    def render_line(self, y: int) -> Strip:
        """Return one screen line."""
        width = self.size.width
        base = self.rich_style
        frame = self._places()
        if y >= len(frame) or self.opened is None:
            return Strip([Segment(" " * max(0, width - 1), base), self._scrollbar(y, base)])
        place = frame[y]
        row = place.row
        citation = self._citation(row)
        rank, level, _ = self.about(row)
        line = base
        if citation is not None:
            line += self._part("log--root" if citation.finding.role == "root" else "log--cited")
        if row.offset == self.opened.view.cursor:
            line += self._part("log--cursor")
        tone = line
        if level in {"error", "critical"}:
            tone += self._part("log--error")
        elif level == "warning":
            tone += self._part("log--warning")
        parts = [*self._margin(place, citation, rank, line), *self._body(place, tone)]
        strip = Strip(parts).adjust_cell_length(width - 1, line)
        return Strip([*strip, self._scrollbar(y, base)], width)

    def _margin(self, place: Place, citation: Citation | None, rank: int | None, line: Style) -> list[Segment]:
        row = place.row
        gutter = line + self._part("log--gutter")
        first = place.fold == 0
        sign, style = " ", gutter
        if citation is not None:
            sign = SEVERITY_SIGNS["root" if citation.finding.role == "root" else citation.finding.severity]
            style = line + self._part(f"log--{_tone(citation)}")
        marked = self.opened is not None and row.offset in self.opened.marks
        number = "" if not first else "·" if row.number is None else str(row.number)
        made = [
            Segment(MARK if marked and first else " ", line + self._part("log--mark")),
            Segment(sign if first else " ", style),
            Segment(number.rjust(self._digits), gutter),
        ]
        if self._ranked:
            text = "" if rank is None or not first else f"r{rank}"[:3]
            hues = HUES[self.app.current_theme.dark]
            colour = Style(color=hues[rank % len(hues)]) if rank is not None else Style()
            made.append(Segment(text.rjust(4), gutter + colour))
        return [*made, Segment(" ", line)]

    def _body(self, place: Place, tone: Style) -> list[Segment]:
        room = self._room
        if room < 1:
            return []
        shown = self._text(place.row)
        marks = []
        if self.sought is not None:
            match = self._part("log--match")
            marks = [(start, end, match) for start, end in self.sought.spans(shown.text)]
        if self.wrap:
            parts = folds(shown.text, room, MOST_FOLDS)
            return segments(shown, *parts[min(place.fold, len(parts) - 1)], tone, marks)
        start = from_cell(shown.text, self.shift)
        end = fit(shown.text, start, room) if start < len(shown.text) else start
        made = segments(shown, start, end, tone, marks)
        if end < len(shown.text) and made:
            made = [*Strip(made).crop(0, room - 1), Segment("›", tone + self._part("log--dim"))]
        return made

    def _scrollbar(self, y: int, base: Style) -> Segment:
        """Return the cell at the right edge: where the reader is, and where findings cite."""
        if self.opened is None or not self.opened.pages.size:
            return Segment(" ", base)
        height, size = max(1, self.size.height), self.opened.pages.size
        frame = self._places()
        if len(frame) < height and self.opened.view.top == 0:
            return Segment(" ", base)  # all of it is in sight
        here = self.opened.view.top * height // size
        last = (frame[-1].row.end or size) * height // size if frame else here
        thumb = self._part("log--thumb") if min(here, height - 1) <= y <= max(here, last) else Style()
        tick = self._tick(y, height)
        if tick is not None:
            sign = SEVERITY_SIGNS["root" if tick.finding.role == "root" else tick.finding.severity]
            return Segment(sign, base + thumb + self._part(f"log--{_tone(tick)}"))
        return Segment("▐" if thumb else " ", base + thumb)

    def _tick(self, y: int, height: int) -> Citation | None:
        if self.story is None or self.opened is None:
            return None
        if self._ticks is None:
            if not self.opened.pages.complete:
                return None
            self._ticks = {}
            for citation in self.story.cited.get(self.opened.path, [])[:MOST_TICKS]:
                offset = self.opened.pages.offset_of(citation.first)
                if offset is not None:
                    self._ticks.setdefault(offset, self.story.citation(self.opened.path, citation.first) or citation)
        size = max(1, self.opened.pages.size)
        here = [c for offset, c in self._ticks.items() if offset * height // size == y]
        return min(here, key=lambda c: c.finding.role != "root", default=None)

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)


def _tone(citation: Citation) -> str:
    if citation.finding.role == "root":
        return "error" if citation.finding.severity == "error" else "warning"
    return {"error": "error", "warning": "warning", "info": "note"}[citation.finding.severity]
