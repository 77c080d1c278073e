"""Who is to hear which lines, told by one pass for all literals.

Most lines are handed over because of one speaker's words, and no other has anything to
say of them. To ask every one of them what it makes of each line would take most of the time
that a small log takes, and make Python compile patterns that nothing in this log needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from forensics.model import LineParser, Record
from forensics.parsers import LINE_PARSERS
from forensics.scan import NONFINITE, Plan


class Hearing:
    """Knows the triggers of all parsers and the anchors of the rules on lines that no parser claims."""

    def __init__(self, anchors: Sequence[str], total_bytes: int) -> None:
        self.follow = followed(anchors)
        masks = dict.fromkeys(self.follow, 0)
        for number, parser in enumerate(LINE_PARSERS):
            for trigger in parser.triggers:
                masks[trigger.encode()] |= 1 << number
        self._anchored = 1 << len(LINE_PARSERS)
        for anchor in anchors:
            masks[anchor.encode()] |= self._anchored
        self._masks = (*masks.values(), *(0 for _ in NONFINITE))
        self._matcher = Plan(self.follow, total_bytes=total_bytes).matcher()  # the one that the scan has made

    def share(self, batch: Sequence[Record]) -> tuple[Iterator[tuple[LineParser, Sequence[Record]]], list[Record]]:
        """Return what each parser hears of some records, in order of precedence, and the records with anchors."""
        masks = self._of(batch)
        heard = 0
        for mask in masks:
            heard |= mask
        return self._parsers(batch, masks, heard), _with(batch, masks, self._anchored)

    def _of(self, batch: Sequence[Record]) -> list[int]:
        """Return for each record who has a literal in it."""
        lines = [record.raw.encode("utf-8", "replace") for record in batch]
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        masks = [0] * len(batch)
        for at, index in self._matcher.find(b"\n".join((*lines, b""))):
            masks[bisect_right(starts, at) - 1] |= self._masks[index]
        return masks

    @staticmethod
    def _parsers(
        batch: Sequence[Record], masks: Sequence[int], heard: int
    ) -> Iterator[tuple[LineParser, Sequence[Record]]]:
        for number, parser in enumerate(LINE_PARSERS):
            if parser.hears == "all" or (heard >> number & 1 and parser.hears == "blocks"):
                yield parser, batch
            elif heard >> number & 1:
                yield parser, _with(batch, masks, 1 << number)


def _with(batch: Sequence[Record], masks: Sequence[int], bit: int) -> list[Record]:
    return [record for record, mask in zip(batch, masks, strict=True) if mask & bit]


def followed(anchors: Sequence[str]) -> dict[bytes, int]:
    """Return what makes a line worth handing over, and how many lines after it: triggers, and anchors of rules."""
    follow: dict[bytes, int] = {}
    for parser in LINE_PARSERS:
        for trigger in parser.triggers:
            follow[trigger.encode()] = max(follow.get(trigger.encode(), 0), parser.follow)
    for anchor in anchors:
        follow.setdefault(anchor.encode(), 0)
    return follow


@lru_cache(maxsize=2)
def hearing(anchors: tuple[str, ...], total_bytes: int) -> Hearing:
    """Return who hears what in a run of so many bytes; it is made once."""
    return Hearing(anchors, total_bytes)
