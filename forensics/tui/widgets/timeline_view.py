"""The timeline: lanes of ranks and speakers, a cursor tied to the log, and what stands under it."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from forensics.model import Evidence
from forensics.render.excerpt import crop
from forensics.render.moments import iso, span
from forensics.tui.lanes import ERROR, NOTE, ROOT, STEP, WARNING, Lane, Mark, Timeline
from forensics.tui.messages import Choose, Goto
from forensics.tui.plain import safe

SIGNS = {ROOT: "●", ERROR: "✖", WARNING: "▲", NOTE: "•", STEP: "─"}
NAMES = 12


class TimelineView(Widget, can_focus=True):
    """Lanes over time. The arrows move, + and - zoom, Enter goes to the line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", show=False),
        Binding("right,l", "move(1)", show=False),
        Binding("shift+left,comma", "jump(-1)", show=False),
        Binding("shift+right,full_stop", "jump(1)", show=False),
        Binding("up,k", "lane(-1)", show=False),
        Binding("down,j", "lane(1)", show=False),
        Binding("plus,equals_sign", "zoom(0.5)", show=False),
        Binding("minus", "zoom(2.0)", show=False),
        Binding("0", "whole", show=False),
        Binding("enter", "enter", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lanes--name", "lanes--chosen", "lanes--cursor", "lanes--error", "lanes--warning", "lanes--note",
        "lanes--event", "lanes--step", "lanes--axis",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__(id="timeline")
        self.timeline: Timeline | None = None
        self.lane = 0
        self.top = 0

    def tell(self, timeline: Timeline) -> None:
        """Show the lanes of an analysis; the part that was looked at stays."""
        before, self.timeline = self.timeline, timeline
        if before is not None and before.axis == timeline.axis and before.span < before.last - before.first:
            timeline.low = max(before.low, timeline.first)
            timeline.high = min(max(before.high, timeline.low + 1e-3), timeline.last)
            timeline.cursor = before.cursor
        self.refresh()

    def follow(self, x: float) -> None:
        """Put the cursor where the reader of the log is."""
        if self.timeline is not None:
            self.timeline.move(x)
            self.refresh()

    @property
    def _columns(self) -> int:
        return max(1, self.size.width - NAMES - 1)

    @property
    def _rows(self) -> int:
        """Return how many lanes there is room for, above the axis and the two rows of words."""
        return max(1, self.size.height - 3)

    @property
    def _chosen(self) -> Lane | None:
        lanes = self.timeline.lanes if self.timeline else ()
        return lanes[min(self.lane, len(lanes) - 1)] if lanes else None

    # what the keys do

    def action_move(self, by: int) -> None:
        """Move the cursor by columns."""
        if self.timeline is not None:
            step = self.timeline.span / max(1, self._columns - 1)
            self.timeline.move(self.timeline.cursor + by * step)
            self._moved()

    def action_jump(self, by: int) -> None:
        """Move to the next mark of the lane."""
        lane = self._chosen
        if self.timeline is not None and lane is not None and (mark := self.timeline.neighbour(lane, by)) is not None:
            self.timeline.move(mark.x)
            self._moved()

    def action_lane(self, by: int) -> None:
        """Choose another lane."""
        count = len(self.timeline.lanes) if self.timeline else 0
        self.lane = min(max(self.lane + by, 0), max(0, count - 1))
        self.top = min(max(self.top, self.lane - self._rows + 1), self.lane)
        self.refresh()

    def action_zoom(self, factor: float) -> None:
        """Look at half as much, or twice as much."""
        if self.timeline is not None:
            self.timeline.zoom(factor)
            self.refresh()

    def action_whole(self) -> None:
        """Look at everything."""
        if self.timeline is not None:
            self.timeline.whole()
            self.refresh()

    def action_enter(self) -> None:
        """Go to what stands under the cursor; a finding that cites it is told about."""
        here = self._here()
        if here:
            if here[0].finding is not None:
                self.post_message(Choose(here[0].finding, go=False))
            self.post_message(Goto(_place(here[0]), keep=False))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in."""
        event.stop()
        self.action_zoom(0.7)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out."""
        event.stop()
        self.action_zoom(1.4)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked."""
        if self.timeline is None:
            return
        if 0 <= event.y < self._rows:
            self.lane = min(self.top + event.y, max(0, len(self.timeline.lanes) - 1))
        if event.x > NAMES:
            self.timeline.move(self.timeline.x(event.x - NAMES - 1, self._columns))
        self._moved()

    def _moved(self) -> None:
        self.refresh()
        here = self._here()
        if here:
            self.post_message(Goto(_place(here[0]), keep=True))

    def _here(self) -> list[Mark]:
        """Return what stands under the cursor, in the chosen lane if there is anything."""
        if self.timeline is None:
            return []
        return self.timeline.here(self._chosen, self._columns) or self.timeline.here(None, self._columns)

    # drawing

    def render_line(self, y: int) -> Strip:
        """Return one screen line."""
        base = self.rich_style
        width = self.size.width
        if self.timeline is None or not self.timeline.lanes:
            words = (
                "  nothing was said that has a place in time" if self.timeline else "  the analysis is not there yet"
            )
            return Strip([Segment(words if y == 0 else "", base)]).adjust_cell_length(width, base)
        bottom = min(self.size.height - 3, len(self.timeline.lanes))
        if y < bottom:
            index = self.top + y
            strip = (
                self._lane(self.timeline.lanes[index], index, base) if index < len(self.timeline.lanes) else Strip([])
            )
        elif y == bottom:
            strip = self._axis(base)
        else:
            strip = self._words(y - bottom - 1, base) if y < bottom + 3 else Strip([])
        return strip.adjust_cell_length(width, base)

    def _lane(self, lane: Lane, index: int, base: Style) -> Strip:
        timeline = self.timeline
        assert timeline is not None  # noqa: S101 - the caller has looked
        chosen = index == self.lane
        name = base + self._part("lanes--chosen" if chosen and self.has_focus else "lanes--name")
        label = crop(safe(lane.name), NAMES - 1)
        made = [Segment(label.ljust(NAMES - 1), name), Segment("▏" if not chosen else "▎", name)]
        cells = timeline.cells(lane, self._columns)
        cursor = timeline.column(timeline.cursor, self._columns)
        for column in range(self._columns):
            mark = cells.get(column)
            style = base + (self._part("lanes--cursor") if column == cursor else Style())
            if mark is None:
                made.append(Segment(" ", style))
                continue
            tone = ("step", "event", "note", "warning", "error", "error")[mark.weight]
            made.append(Segment(SIGNS.get(mark.weight, "·"), style + self._part(f"lanes--{tone}")))
        return Strip(made)

    def _axis(self, base: Style) -> Strip:
        timeline = self.timeline
        assert timeline is not None  # noqa: S101 - the caller has looked
        style = base + self._part("lanes--axis")
        left, right = self._label(timeline.low), self._label(timeline.high)
        zoomed = timeline.span < (timeline.last - timeline.first) * 0.999
        middle = f"{span(timeline.span)} of {span(timeline.last - timeline.first)}" if zoomed else ""
        middle = middle if timeline.axis == "time" else safe(timeline.axis)
        room = self._columns - len(left) - len(right)
        middle = crop(middle, max(0, room - 2)) if room > 4 else ""
        text = left + middle.center(max(0, room)) + right
        return Strip([Segment(" " * (NAMES - 1) + "▏", style), Segment(text[: self._columns], style)])

    def _label(self, x: float) -> str:
        if self.timeline is None or self.timeline.axis != "time":
            return str(round(x))
        return (
            (iso(int(x)) or "")[11:19] if self.timeline.last - self.timeline.first < 86400 else (iso(int(x)) or "")[:16]
        )

    def _words(self, row: int, base: Style) -> Strip:
        """Return what stands under the cursor, or how much is not in the picture."""
        timeline = self.timeline
        assert timeline is not None  # noqa: S101 - the caller has looked
        here = self._here()
        if row == 1 and timeline.unplaced and len(here) < 2:
            text = f"{timeline.unplaced} more have no place here: nothing near them tells a time"
            return Strip([Segment(f"  {text}", base + self._part("lanes--axis"))])
        if row >= len(here):
            text = "" if row or here else f"{self._moment(timeline.cursor, about=False)}  nothing was said"
            return Strip([Segment(f"  {text}", base + self._part("lanes--axis"))])
        mark = here[row]
        more = f"  (and {len(here) - 2} more)" if row == 1 and len(here) > 2 else ""
        text = f"{self._moment(mark.x, about=mark.about)}  {mark.who}  {mark.path}:{mark.line}  {mark.text}"
        return Strip([Segment(crop(f"  {safe(text)}", max(8, self.size.width - len(more))) + more, base)])

    def _moment(self, x: float, *, about: bool) -> str:
        if self.timeline is None or self.timeline.axis != "time":
            return f"line {round(x)}"
        return ("≈" if about else "") + (iso(round(x, 3)) or "")[11:23].rstrip("Z")

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)


def _place(mark: Mark) -> Evidence:
    return Evidence(mark.path, mark.line, mark.line, mark.text, mark.column)
