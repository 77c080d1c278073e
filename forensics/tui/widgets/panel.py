"""The lower part of the screen: one view of the run at a time, and the tabs that name them."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from forensics.tui.widgets.history import History
from forensics.tui.widgets.memory import Memory
from forensics.tui.widgets.plots import Plots
from forensics.tui.widgets.timeline_view import TimelineView
from forensics.tui.widgets.why import Why

VIEWS = {"why": "Why", "timeline": "Timeline", "plots": "Plots", "memory": "Memory", "attempts": "Attempts"}


class Tab(Static):
    """The name of a view; a click shows it."""

    class Pressed(Message):
        """Show a view."""

        def __init__(self, view: str) -> None:
            super().__init__()
            self.view = view

    def __init__(self, number: int, view: str) -> None:
        super().__init__(f" {number} {VIEWS[view]} ", markup=False, id=f"tab-{view}", classes="tab")
        self.view = view

    def on_click(self, event: events.Click) -> None:
        """Show it."""
        event.stop()
        self.post_message(self.Pressed(self.view))


class Panel(Vertical):
    """Why, timeline, plots, memory, attempts."""

    def __init__(self) -> None:
        super().__init__(id="panel")

    def compose(self) -> ComposeResult:
        """Build all views; one is shown."""
        with Horizontal(id="tabs"):
            for number, view in enumerate(VIEWS, 1):
                yield Tab(number, view)
        with ContentSwitcher(initial="why", id="views"):
            yield Why()
            yield TimelineView()
            yield Plots()
            yield Memory()
            yield History()

    def on_mount(self) -> None:
        """Mark the first tab."""
        self.show("why", focus=False)

    def show(self, view: str, *, focus: bool = True) -> None:
        """Show a view."""
        self.query_one(ContentSwitcher).current = view
        for tab in self.query(Tab):
            tab.set_class(tab.view == view, "-chosen")
        if focus:
            self.screen.set_focus(self.query_one(f"#{view}"))

    @property
    def view(self) -> str:
        """Return which view is shown."""
        return self.query_one(ContentSwitcher).current or "why"

    def on_tab_pressed(self, event: Tab.Pressed) -> None:
        """Show the view whose tab was clicked."""
        event.stop()
        self.show(event.view)
