"""Where in the bytes of a progress record its loss stands, so that the next million need no parsing."""

from __future__ import annotations

import math
import re

from forensics.model import Context, Line, Source
from forensics.parsers.metrics import parse_step
from forensics.scan import Key
from forensics.text.lazy import lazy_bytes
from forensics.text.prefix import peel

_NUMBER = lazy_bytes(rb"[-+]?\d[\d,]*+(?:\.\d*+)?(?:[eE][-+]?\d{1,3})?")
_RANK = re.compile(rb"\[rank(\d{1,6})")
_LONGEST, _SHORTEST = 14, 3
_FAR = 64
"""Bytes by which a loss may stand further behind its rank than in the record that was learned from."""
_NOWHERE = Context(Source("", "training-log", 0))


def loss_key(record: bytes) -> Key | None:
    """Return what stands before the loss of a record, or None where it has none that can be found again."""
    step = parse_step(peel(Line(1, 0, 0, record.decode("utf-8", "replace")), _NOWHERE), "")
    if step is None or step.loss is None or not math.isfinite(step.loss):
        return None
    before = 0
    best: tuple[bool, Key] | None = None
    for number in _NUMBER.finditer(record):
        literal = record[before : number.start()][-_LONGEST:].rstrip(b" ")
        before = number.end()
        if len(literal) < _SHORTEST or _value(number[0]) != step.loss or record.count(literal) > 1:
            continue
        named = b"loss" in literal.lower()
        if best is None or named > best[0]:
            best = named, Key(literal, _reach(record, number.start(), step.rank))
    return best[1] if best else None


def _value(text: bytes) -> float:
    return float(text.replace(b",", b""))


def _reach(record: bytes, at: int, rank: int | None) -> int:
    found = _RANK.search(record, 0, at)
    return at - found.start() + _FAR if found and int(found[1]) == rank else 0
