"""A place in an epoch, printed alone: the numbers stand in a list without names on the next line.

    Train Epoch: 1461 [59%]
    [2.276, 2.971, 11.739, 17.842, 2.311, 814000, 0.0001664]

Source: VITS and what was made of it (so-vits-svc, FreeVC, Bert-VITS2).
"""

from __future__ import annotations

from forensics.parsers.metrics.values import Values
from forensics.text.lazy import lazy

_PLACE = lazy(r"\s{0,4}Train Epoch: (?P<epoch>\d{1,7}) \[(?P<percent>\d{1,3})%\]\s{0,4}")


def read(text: str) -> Values | None:
    """Read the epoch and the share of it that is done, or return None where this is no such line."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    return {"epoch": int(found["epoch"]) + int(found["percent"]) / 100, "keys": ("place",)}
