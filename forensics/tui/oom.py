"""The memory of a card at the moment when a request did not fit: who held how much, to scale."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.model import Fields, Finding, Report
from forensics.text.sizes import format_size


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a card: what it is, and how large."""

    kind: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Card:
    """A request beside the card that it was made of. `parts` add up to `total` at most."""

    finding: Finding
    device: int | None
    requested: int
    total: int | None
    parts: tuple[Part, ...]

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
        if free is not None and self.requested > free:
            missing = format_size(self.requested - free)
            return f"{asked} was asked for, {format_size(free)} was free: {missing} too little."
        if free is not None:
            return f"{asked} was asked for and {format_size(free)} was free, but in pieces: memory is fragmented."
        return f"{asked} was asked for."


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
    return Card(finding, device if isinstance(device, int) else None, asked, total, tuple(parts))


def _size(facts: Fields, name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
