"""Bytes in, candidate lines out: bounded reads, one literal pass, exact numbers.

The scan decides nothing. It hands over the lines that *may* matter, because they
hold a literal of a rule or of a parser, with their number, column and offset; the
floors above confirm. See docs/performance.md for what was measured.
"""

from forensics.scan.engines import ENGINES, Matcher, matcher
from forensics.scan.floods import MOST_ALIKE, Floods, Shape
from forensics.scan.key import Key, Slot
from forensics.scan.lines import HEAD_LINES, NONFINITE, Hit, Plan, Scan, Span
from forensics.scan.parts import Part, PartReader, split
from forensics.scan.pick import pick
from forensics.scan.streams import StreamPart, split_stream
from forensics.scan.tail import Tail
from forensics.text.anchors import required_literals

__all__ = [
    "ENGINES", "HEAD_LINES", "MOST_ALIKE", "NONFINITE", "Floods", "Hit", "Key", "Matcher", "Part", "PartReader",
    "Plan", "Scan", "Shape", "Slot", "Span", "StreamPart", "Tail", "matcher", "pick", "required_literals", "split",
    "split_stream",
]  # fmt: skip
