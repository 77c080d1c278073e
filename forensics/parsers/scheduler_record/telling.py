"""An event of some lines of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import Context, Event, Value
from forensics.text.quote import quote_lines

_QUOTED_LINES = 60


def tell(
    kind: str,
    lines: Sequence[str],
    first: int,
    last: int,
    fields: Mapping[str, Value],
    context: Context,
    time: float | None = None,
) -> Event:
    """Build the event of the lines from index `first` to `last`; None values are left out of the fields."""
    quoted = lines[first : min(last, first + _QUOTED_LINES) + 1]
    return quote_lines("scheduler", kind, quoted, first + 1, context, fields, time, last + 1)
