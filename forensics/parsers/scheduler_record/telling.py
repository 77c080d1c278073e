"""An event of some lines of a record, and the cells of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import Context, Event, Value
from forensics.sources.sniff import PROMPT
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


def is_over(line: str) -> bool:
    """Tell whether a table ends at that line: with a blank one, or where somebody typed the next command."""
    return not line.strip() or PROMPT.match(line) is not None


def columns(line: str, starts: Mapping[str, int]) -> dict[str, str]:
    """Cut a row at the columns of its header; the last column runs to the end."""
    ordered = sorted(starts.items(), key=lambda item: item[1])
    ends = [start for _, start in ordered[1:]] + [len(line)]
    return {name: line[start:end].strip() for (name, start), end in zip(ordered, ends, strict=True)}
