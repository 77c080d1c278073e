"""The line at the bottom in which something is typed: words to find, a line, a filter, a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

LABELS = {
    "search": ("find", "words; Tab: as a regular expression"),
    "regex": ("find, as a regular expression", "a pattern; Tab: as plain words"),
    "line": ("line", "a number"),
    "filter": ("show only", 'rank:3 level:error -speaker:nccl -noise "two words"; empty: all lines'),
    "time": ("time", "12:50:06, 2026-11-29T12:50, -10m before the end, +10m after the start"),
    "export": ("write to", "a file name; it must not exist"),
}
"""Of each kind what stands before the input, and in it while it is empty."""


class Line(Input):
    """The input. Keys that are typed faster than the screen changes go where they belong."""

    async def _on_key(self, event: events.Key) -> None:
        prompt = self.parent
        assert isinstance(prompt, Prompt)  # noqa: S101 - it is made there only
        if prompt.display and event.key != "enter":
            return
        event.prevent_default()
        event.stop()
        if prompt.display:
            prompt.answer(self.value)  # now: what is typed behind it is meant for the screen
        else:
            self.app.post_message(events.Key(event.key, event.character))


class Prompt(Horizontal):
    """One input for all; it is there only while something is asked.

    `answered` is told the kind and what was typed, `dropped` that nothing is wanted after all.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "drop", show=False, priority=True),
        Binding("tab", "turn", show=False, priority=True),
        Binding("up", "recall(-1)", show=False, priority=True),
        Binding("down", "recall(1)", show=False, priority=True),
    ]

    def __init__(self, answered: Callable[[str, str], None], dropped: Callable[[], None]) -> None:
        super().__init__(id="prompt")
        self.kind = "search"
        self._answered = answered
        self._dropped = dropped
        self._said: dict[str, list[str]] = {}
        self._at = 0

    def compose(self) -> ComposeResult:
        """Build the label and the input."""
        yield Static(markup=False, id="prompt-label")
        yield Line(id="prompt-input", compact=True, select_on_focus=False)

    def ask(self, kind: str, text: str = "") -> None:
        """Ask for something."""
        self._become(kind)
        given = self.query_one(Line)
        given.value = text
        given.cursor_position = len(text)
        self._open(True)
        self.screen.set_focus(given)  # now, since the next key is meant for it
        self._at = len(self._said.get(self._shelf, []))

    def _open(self, is_open: bool) -> None:  # noqa: FBT001 - there are no others
        self.display = is_open
        self.screen.set_class(is_open, "-asking")  # under which the footer makes room

    @property
    def _shelf(self) -> str:
        return "search" if self.kind == "regex" else self.kind

    def _become(self, kind: str) -> None:
        self.kind = kind
        label, hint = LABELS[kind]
        self.query_one("#prompt-label", Static).update(f" {label}: ")
        self.query_one(Line).placeholder = hint

    def answer(self, text: str) -> None:
        """Hand over what was typed."""
        said = self._said.setdefault(self._shelf, [])
        if text and text not in said[-1:]:
            said.append(text)
        self._open(False)
        self._answered(self.kind, text)

    def action_drop(self) -> None:
        """Ask no more."""
        self._open(False)
        self._dropped()

    def action_turn(self) -> None:
        """Turn between plain words and a regular expression."""
        if self.kind in {"search", "regex"}:
            self._become("regex" if self.kind == "search" else "search")

    def action_recall(self, by: int) -> None:
        """Take what was typed before."""
        said = self._said.get(self._shelf, [])
        self._at = min(max(self._at + by, 0), len(said))
        given = self.query_one(Line)
        given.value = said[self._at] if self._at < len(said) else ""
        given.cursor_position = len(given.value)
