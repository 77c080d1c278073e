"""The drawing of an allocation that did not fit: the request above the card, to one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from forensics.render import facts
from forensics.render.cards import Card, drawing
from forensics.tui.plain import joined, plain
from forensics.tui.widgets.pane import Pane

TONES = {"request": "$error", "others": "$secondary", "allocated": "$primary", "reserved": "$accent",
         "rest": "$quiet", "free": "$success"}  # fmt: skip


class Drawing(Static):
    """One request and its card."""

    def __init__(self, card: Card) -> None:
        super().__init__(markup=False, classes="card")
        self.card = card

    def on_resize(self) -> None:
        """Draw to the width there is."""
        self.update(Content("\n").join(_rows(self.card, max(20, self.size.width))))


class Memory(Pane):
    """All requests of a run that did not fit."""

    def __init__(self) -> None:
        super().__init__(id="memory")

    def compose(self) -> ComposeResult:
        """Say that there is nothing yet."""
        yield Static("the analysis is not there yet", markup=False)

    async def tell(self, cards: Sequence[Card]) -> None:
        """Draw what an analysis knows."""
        async with self.batch():
            await self.remove_children()
            if cards:
                await self.mount_all(Drawing(card) for card in cards)
            else:
                await self.mount(Static("nothing here ran out of GPU memory", markup=False, classes="prose"))


def _rows(card: Card, width: int) -> Iterator[Content]:
    yield joined(plain(card.finding.id, "bold"), plain(f"  {card.verdict}"))
    if product := facts.arithmetic(card.finding):
        yield plain(product, "bold")
    for row in drawing(card, width):
        yield joined(*(Content.styled(text, TONES[tone]) if tone in TONES else text for text, tone in row))
