"""What the views of the panel share: keys for scrolling, and places that one can go to."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from forensics.model import Evidence, Finding
from forensics.tui.messages import Choose, Goto


class Link(Static, can_focus=True):
    """A place in the evidence, or a finding; Enter or a click goes there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "follow", "Go there", show=False)]

    def __init__(self, content: Content, place: Evidence | Finding) -> None:
        super().__init__(content, markup=False, classes="link")
        self.place = place

    def action_follow(self) -> None:
        """Go there."""
        if isinstance(self.place, Finding):
            self.post_message(Choose(self.place))
        else:
            self.post_message(Goto(self.place))

    def on_click(self, event: events.Click) -> None:
        """Go there."""
        event.stop()
        self.action_follow()


class Pane(VerticalScroll, can_focus=True):
    """A view that can be scrolled; left and right choose one of its places."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("space", "page_down", show=False),
        Binding("b", "page_up", show=False),
        Binding("right,l", "link(1)", show=False),
        Binding("left,h", "link(-1)", show=False),
    ]

    def action_link(self, by: int) -> None:
        """Choose the next place, or the one before."""
        links = list(self.query(Link))
        if not links:
            return
        at = next((index for index, link in enumerate(links) if link.has_focus), -1 if by > 0 else 0)
        self.screen.set_focus(links[(at + by) % len(links)])
