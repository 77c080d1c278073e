"""The event of an observation: it stands where something was said, and cites the further places it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from forensics.model import Event, Evidence, Value


def observed(
    at: Evidence,
    kind: str,
    message: str,
    fields: Mapping[str, Value],
    also: tuple[Evidence, ...] = (),
    time: float | None = None,
    rank: int | None = None,
    lane: str | None = None,
) -> Event:
    """Return the observation of that kind at that place; None values are left out of the fields."""
    return Event(
        speaker="observed",
        kind=kind,
        path=at.path,
        line=at.line,
        end_line=at.end_line,
        column=at.column,
        text=at.text,
        message=message,
        time=time,
        rank=rank,
        lane=lane,
        fields={name: value for name, value in fields.items() if value is not None},
        also=also,
    )
