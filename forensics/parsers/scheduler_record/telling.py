"""An event of some lines of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import Context, Event, Value

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
    text = "\n".join(lines[first : min(last, first + _QUOTED_LINES) + 1])
    return Event(
        speaker="scheduler",
        kind=kind,
        path=context.source.path,
        line=first + 1,
        end_line=last + 1,
        text=text,
        message=text.strip(),
        time=time,
        rank=context.source.rank,
        host=context.source.host,
        fields={name: value for name, value in fields.items() if value is not None},
    )
