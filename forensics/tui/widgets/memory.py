"""The drawing of an allocation that did not fit: the request above the card, to one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from forensics.render import facts
from forensics.text.sizes import format_size
from forensics.tui.oom import Card
from forensics.tui.plain import joined, plain
from forensics.tui.widgets.pane import Pane

FILLS = {"others": ("▒", "$secondary"), "allocated": ("█", "$primary"), "reserved": ("▓", "$accent"),
         "rest": ("▒", "$quiet"), "free": ("░", "$success")}  # fmt: skip
LABEL = 10


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
    room = width - LABEL - 1
    yield joined(plain(card.finding.id, "bold"), plain(f"  {card.verdict}"))
    if product := facts.arithmetic(card.finding):
        yield plain(product, "bold")
    asked = _cells(card.requested, card.scale, room)
    yield joined(
        f"{'request':<{LABEL}}",
        Content.styled("█" * asked, "$error"),
        f" {format_size(card.requested)}"[: room - asked],
    )
    bar = []
    used = 0
    for part in card.parts:
        fill, tone = FILLS[part.kind]
        cells = min(_cells(part.size, card.scale, room), max(0, room - used))
        used += cells
        bar.append(Content.styled(fill * cells, tone))
    if card.parts:
        name = "card" if card.device is None else f"GPU {card.device}"
        total = f" {format_size(card.total)}" if card.total is not None else ""
        yield joined(f"{name:<{LABEL}}", *bar, total[: max(0, room - used)])
    for part in card.parts:
        fill, tone = FILLS[part.kind]
        yield joined(" " * LABEL, Content.styled(f"{fill} ", tone), f"{format_size(part.size):>11}  {part.name}")


def _cells(size: int, scale: int, room: int) -> int:
    """Return how many cells a size takes: one at least where there is anything."""
    room = max(1, room - 12)  # the size is written behind the bar
    return max(1 if size else 0, round(size * room / scale))
