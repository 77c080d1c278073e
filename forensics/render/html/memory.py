"""An out-of-memory as a picture: the card with what fills it, and the request beside it, on one scale."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from forensics.model import Report, Value
from forensics.render import facts, words
from forensics.text.sizes import format_size

WIDTH, LEFT, RIGHT = 860, 4, 856
SHORT = {"others": "other processes", "unknown": "unaccounted"}
SLIVER = 3
"""The least width of a part, so that what is there is seen."""


class Part(Struct, frozen=True):
    """Some of the memory: where it is drawn, what it is, how much."""

    kind: str
    label: str
    bytes: int
    x: float
    width: float

    @property
    def short(self) -> str:
        """Return its name where there is little room."""
        return SHORT.get(self.kind, self.kind)

    @property
    def size(self) -> str:
        """Return the size for people."""
        return format_size(self.bytes)


class Memory(Struct, frozen=True):
    """The card, its parts from left to right, and the request, which begins where free memory does.

    `over` is what of the request does not fit; None where all of it would, were it not for
    fragmentation or a limit.
    """

    title: str
    card: Part
    parts: tuple[Part, ...]
    request: Part
    over: Part | None
    product: str
    anchor_path: str
    anchor_line: int
    about: str


def memory(report: Report) -> Memory | None:
    """Return the picture of the out-of-memory that the run died of, where the facts allow one."""
    chain = [finding for _, finding in words.chain(report)]
    dying = [f for f in chain if _sizes(f.facts).get("requested_bytes") and _sizes(f.facts).get("total_bytes")]
    if not dying:
        return None
    finding = dying[0]
    place = finding.evidence[0]
    told: dict[str, int] = {}
    for other in (finding, *chain):
        if any((e.path, e.line) == (place.path, place.line) for e in other.evidence):
            told = {**_sizes(other.facts), **told}
    total, requested = told["total_bytes"], told["requested_bytes"]
    free = told.get("free_bytes")
    if free is None or not 0 <= free <= total or requested <= 0:
        return None
    amounts = _amounts(told, total, free)
    largest = max(total, total - free + requested)
    wide = (RIGHT - LEFT) / largest
    parts: list[Part] = []
    at = float(LEFT)
    for kind, label, size in amounts:
        width = max(SLIVER, size * wide) if size else 0.0
        if size:
            parts.append(Part(kind, label, size, round(at, 1), round(width, 1)))
        at += size * wide
    start = LEFT + (total - free) * wide
    request = Part("request", "requested", requested, round(start, 1), round(max(SLIVER, requested * wide), 1))
    edge = LEFT + total * wide
    over = None
    if requested > free:
        missing = requested - free
        over = Part("over", "does not fit", missing, round(edge, 1), round(max(SLIVER, missing * wide), 1))
    device = finding.facts.get("device")
    card = Part("card", f"GPU {device}" if isinstance(device, int) else "the card", total, LEFT, round(edge - LEFT, 1))
    product = next((p for f in chain if (p := facts.arithmetic(f))), "")
    return Memory(
        title=f"{format_size(requested)} asked of {format_size(free)} free",
        card=card,
        parts=tuple(parts),
        request=request,
        over=over,
        product=product,
        anchor_path=place.path,
        anchor_line=place.line,
        about=_about(requested, free, total, told),
    )


def _sizes(fields: Mapping[str, Value]) -> dict[str, int]:
    return {
        name: value
        for name, value in fields.items()
        if name.endswith("_bytes") and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60
    }


def _amounts(told: Mapping[str, int], total: int, free: int) -> list[tuple[str, str, int]]:
    """Return what fills the card, in the order drawn; never more than there is room for."""
    reserved = told.get("reserved_unallocated_bytes")
    if reserved is None and "reserved_bytes" in told and "allocated_bytes" in told:
        reserved = max(0, told["reserved_bytes"] - told["allocated_bytes"])
    left = total - free
    amounts: list[tuple[str, str, int]] = []
    for kind, label, size in (
        ("others", "other processes", told.get("foreign_bytes", 0)),
        ("allocated", "allocated by this process", told.get("allocated_bytes", 0)),
        ("reserved", "reserved, not allocated", reserved or 0),
    ):
        taken = min(size, left)
        left -= taken
        amounts.append((kind, label, taken))
    return [*amounts, ("unknown", "not accounted for", left), ("free", "free", free)]


def _about(requested: int, free: int, total: int, told: Mapping[str, int]) -> str:
    if requested > total:
        return "The request is larger than the whole card: no other process and no fragmentation is to blame for that."
    foreign = told.get("foreign_bytes", 0)
    if foreign and requested <= free + foreign:
        return "Without the other processes the request would have fitted."
    if requested <= free:
        return "As much was free, but not in one piece, or not within the limit of the process."
    if requested <= free + told.get("reserved_unallocated_bytes", 0):
        return "What the process had reserved without using it would have been enough: the memory is fragmented."
    if told.get("allocated_bytes", 0) > total // 2:
        return "Most of the card is taken by what the run itself allocated."
    return "More was asked for than was free."
