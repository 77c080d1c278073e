"""The memory of a card at the moment when a request did not fit: who held how much, to scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from forensics.model import Fields, Finding, Report
from forensics.text.sizes import format_size

Tone: TypeAlias = Literal["request", "others", "allocated", "reserved", "rest", "free", "plain"]
Row: TypeAlias = tuple[tuple[str, Tone], ...]
"""A row of a drawing: pieces of text, each with what it stands for."""

_FILLS: dict[str, str] = {"others": "▚", "allocated": "█", "reserved": "▓", "rest": "▒", "free": "░"}
_LABEL = 10
_SIZE = 12


class Part(Struct, frozen=True):
    """A part of a card: what it is, and how large."""

    kind: Tone
    name: str
    size: int


class Card(Struct, frozen=True):
    """A request beside the card that it was made of. `parts` add up to `total` at most."""

    finding: Finding
    device: int | None
    requested: int
    total: int | None
    parts: tuple[Part, ...]
    limit: int | None = None

    @property
    def scale(self) -> int:
        """Return the bytes that the whole width of a drawing stands for."""
        return max(self.requested, self.total or 0, sum(part.size for part in self.parts), 1)

    @property
    def verdict(self) -> str:
        """Return why the request could not be met."""
        return f"GPU {self.device}: {self._reason}" if self.device is not None else self._reason

    @property
    def _reason(self) -> str:
        free = next((part.size for part in self.parts if part.kind == "free"), None)
        asked = format_size(self.requested)
        if self.total is not None and self.requested > self.total:
            times = self.requested / self.total
            return f"{asked} is {times:.1f} times the whole card ({format_size(self.total)}): no restart makes it fit."
        if self.limit is not None and free is not None and self.requested <= free:
            held = sum(part.size for part in self.parts if part.kind in {"allocated", "reserved"})
            left = format_size(max(0, self.limit - held))
            return (
                f"{asked} was asked for; of the {format_size(self.limit)} that this process may have, {left} was left."
            )
        if free is not None and self.requested > free:
            missing = format_size(self.requested - free)
            return f"{asked} was asked for, {format_size(free)} was free: {missing} too little."
        if free is not None:
            return f"{asked} was asked for and {format_size(free)} was free, but in pieces: memory is fragmented."
        return f"{asked} was asked for."


def drawing(card: Card, width: int) -> Iterator[Row]:
    """Yield the rows of a drawing so many columns wide: the request, the card to the same scale, and its parts."""
    room = max(_SIZE + 2, width - _LABEL - 1)
    asked = _cells(card.requested, card.scale, room)
    label = f"{'request':<{_LABEL}}"
    yield (label, "plain"), ("█" * asked, "request"), (f" {format_size(card.requested)}"[: room - asked], "plain")
    bar: list[tuple[str, Tone]] = []
    used = 0
    for part in card.parts:
        cells = min(_cells(part.size, card.scale, room), max(0, room - used))
        used += cells
        bar.append((_FILLS[part.kind] * cells, part.kind))
    if card.parts:
        name = "card" if card.device is None else f"GPU {card.device}"
        total = f" {format_size(card.total)}" if card.total is not None else ""
        yield (f"{name:<{_LABEL}}", "plain"), *bar, (total[: max(0, room - used)], "plain")
    for part in card.parts:
        yield (
            (" " * _LABEL, "plain"),
            (f"{_FILLS[part.kind]} ", part.kind),
            (f"{format_size(part.size):>11}  {part.name}", "plain"),
        )


def _cells(size: int, scale: int, room: int) -> int:
    """Return how many cells a size takes: one at least where there is anything."""
    room = max(1, room - _SIZE)  # the size is written behind the bar
    return max(1 if size else 0, round(size * room / scale))


def cards(report: Report) -> list[Card]:
    """Return a card for each request of the report that did not fit, the root's first, each request once."""
    made: list[Card] = []
    seen: set[tuple[int, object]] = set()
    for finding in sorted(report.findings, key=lambda f: f.role != "root"):
        asked = _size(finding.facts, "requested_bytes")
        if not asked:
            continue
        facts = _shared(report, finding, asked)
        key = asked, facts.get("device")
        if key not in seen:
            seen.add(key)
            made.append(_card(finding, facts, asked))
    return made


def _shared(report: Report, finding: Finding, asked: int) -> Fields:
    """Return the facts of one request: findings that cite the same line tell of the same one."""
    merged: dict[str, object] = {}
    for other in report.findings:
        same = other.facts.get("requested_bytes") in {None, asked}
        if other is finding or (same and set(other.evidence) & set(finding.evidence)):
            merged = {**other.facts, **merged}
    return {**merged, **finding.facts}  # type: ignore[dict-item]


def _card(finding: Finding, facts: Fields, asked: int) -> Card:
    total = _size(facts, "total_bytes")
    free = _size(facts, "free_bytes")
    allocated = _size(facts, "allocated_bytes")
    cached = _size(facts, "reserved_unallocated_bytes")
    foreign = _size(facts, "foreign_bytes")
    parts = []
    if foreign:
        parts.append(Part("others", "other processes", foreign))
    if allocated:
        parts.append(Part("allocated", "allocated by the program", allocated))
    if cached:
        parts.append(Part("reserved", "reserved, not used", cached))
    known = sum(part.size for part in parts)
    if total is not None and free is not None and (rest := total - free - known) > total // 1000:
        name = "CUDA context, others" if parts else "in use"
        parts.append(Part("rest", name, rest))
    if free is not None:
        parts.append(Part("free", "free", free))
    device = facts.get("device")
    number = device if isinstance(device, int) else None
    return Card(finding, number, asked, total, tuple(parts), _size(facts, "limit_bytes"))


def _size(facts: Fields, name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
