"""The lines around evidence, read once more from the sources that were found."""

from __future__ import annotations

from collections.abc import Mapping

from forensics.model import Evidence, Report
from forensics.render import words
from forensics.scan import pick
from forensics.sources import Found

Around = Mapping[str, Mapping[int, str]]
"""Lines by source and number."""

BEFORE, AFTER = 3, 2
PLACES, CHAIN = 6, 24
"""Places of the root, and findings of the chain, whose surroundings are read."""
LONGEST_SPAN = 60
LARGEST = 1 << 30
"""Bytes of a source past which a second pass over it would keep its reader waiting."""

UNREADABLE = frozenset({"binary", "checkpoint", "flight-recorder", "memory-snapshot"})


def around(found: Found, report: Report) -> Around:
    """Return the lines around the evidence of the root and of what followed from it."""
    wanted: dict[str, set[int]] = {}
    for place in _places(report):
        end = min(max(place.end_line, place.line), place.line + LONGEST_SPAN)
        wanted.setdefault(place.path, set()).update(range(max(1, place.line - BEFORE), end + AFTER + 1))
    return {
        item.source.path: pick(item.chunks(), wanted[item.source.path])
        for item in found.inputs
        if item.source.path in wanted and item.source.kind not in UNREADABLE and item.source.bytes <= LARGEST
    }


def _places(report: Report) -> list[Evidence]:
    root = report.root
    if root is None:
        return []
    followed = [finding.evidence[0] for _, finding in words.chain(report)][:CHAIN]
    return [place for place in (*root.evidence[:PLACES], *followed) if place.line]
