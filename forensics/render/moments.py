"""Times and spans, written for people and for programs."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(seconds: float | None) -> str | None:
    """Return seconds since the epoch as ISO 8601 in UTC (`2026-11-29T12:50:06Z`).

    A fraction is kept to the microsecond and only where there is one. None for None
    and for what no calendar can hold.
    """
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    except OverflowError:
        return None
    return (text.rstrip("0") if "." in text else text) + "Z"


def span(seconds: float) -> str:
    """Return a duration in its two largest units: `2 h 05 min`, `41 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"
