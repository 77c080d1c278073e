"""Numbers as training programs print them, and the bag of values a reader fills.

NaN stays NaN: `nan`, `NaN`, `NAN`, `-nan`, Lightning's `nan.0`, `inf` and `-inf` are
numbers here, because a loss that is no number is the thing this program looks for.
"""

from __future__ import annotations

import math
from typing import TypedDict

from forensics.text.sizes import parse_size

NUMBER = (
    r"(?>[-+]?(?:(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
    r"|[-+]?(?:[nN]a[nN](?:\.0)?+(?! iterations)|NAN|[iI]nf(?:inity)?+|INF)(?![A-Za-z]))"
)
"""Source of a regular expression: one number, matched atomically (no backtracking into it)."""

_COUNTABLE = 2**53
_MOST_BYTES = 2**62


class Values(TypedDict, total=False):
    """The fields of a `Step` that its text decides; what is absent was not printed."""

    step: int | None
    total: int | None
    epoch: float | None
    epochs: int | None
    loss: float | None
    grad_norm: float | None
    lr: float | None
    tokens_per_s: float | None
    memory_bytes: int | None
    step_time_s: float | None
    data_time_s: float | None
    keys: tuple[str, ...]
    series: str


def number(text: str) -> float:
    """Read one number; anything that is not one is NaN.

    Args:
        text: What `NUMBER` matched, such as `1,024`, `8.66E+00`, `nan.0` or `-inf`.
    """
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return math.nan


def whole(text: str | None) -> int | None:
    """Read a counter (`0000412`, `9,000`, `5.0`), or None where it is not a whole number."""
    if not text:
        return None
    value = number(text)
    # Beyond 2**53 a float no longer counts in ones, and no training run counts that far.
    return int(value) if 0 <= value < _COUNTABLE and value.is_integer() else None


def size_bytes(text: str, unit: str) -> int | None:
    """Turn a printed size into bytes, or None where it is none.

    Args:
        text: The number.
        unit: Its unit (`GiB`, `GB`, `G`, `MiB`, `MB`). Without one a fraction is GiB
            (torchtune) and a whole number MiB (DeiT, mmengine).
    """
    size = parse_size(text + (unit or ("GiB" if "." in text else "MiB")))
    return size if size is not None and size < _MOST_BYTES else None


def per_second(rate: float) -> float | None:
    """Seconds for one, from so many a second."""
    return 1.0 / rate if rate > 0 and math.isfinite(rate) else None
