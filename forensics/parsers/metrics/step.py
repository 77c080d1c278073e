"""One progress record in, one `Step` out; and how to find such records in bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from forensics.model import Record, Step
from forensics.parsers.metrics import bars, lines, places, records, rows
from forensics.parsers.metrics.values import Values
from forensics.text.lazy import lazy, lazy_bytes

STEP_HINT: re.Pattern[bytes] = lazy_bytes(
    rb"(?:"
    rb"l(?:oss|earn|r[ :=]|ocated: |idation|esPerSec)|L(?:oss|OSS|R:|earning iter)"
    rb"|p(?:och|(?<=tep))|P(?:OCH|(?<=TEP))|I(?:ter|TER)"
    rb"|%\||/s[\]), ]|/it[\], ]|/\d++\]|\{['\"]|\t(?:valid|train| Train | Eval )|\xe2\x94\x81"
    rb")[^\r\n]*"
)
"""Finds text that may belong to a progress record, from there to the end of the record.

Flat alternatives with few first letters, which is what `re` scans fast (~150 MB/s). Every
record that `parse_step` reads is hit; what is hit need not be one.
"""

_LONGEST = 8192
_READERS: tuple[Callable[[str], Values | None], ...] = (bars.read, records.read, lines.read, rows.read, places.read)
_SHORTEST = 3
_EPOCHS = lazy(r"(?i)(?:\bep(?:och)?\W{0,5}|^\[)(?P<epoch>\d{1,6})\s?/\s?(?P<planned>\d{1,6})(?![\d/])")

_AHEAD = lazy(r"(?P<epoch>\d{1,6})/(?P<planned>\d{1,6}) \* (?=[A-Z])")
"""What Catalyst puts before each of its records: `12/30 * Epoch (train): loss=0.3`."""


def parse_step(record: Record, path: str) -> Step | None:
    """Read a logical record as progress, or return None where it is none.

    Args:
        record: The record, peeled; rank, lane and time are taken from it.
        path: The source's path, for the step's place.

    Returns:
        A step whose `series` is `train`, `eval`, `final` (the closing summary) or `other`
        (loading, tokenizing, downloading, serving). `keys` are the names of its numbers in
        printed order. `step` is None where the record names none.
    """
    text = record.text
    if len(text) < _SHORTEST:
        return None
    if len(text) > _LONGEST:
        # Glued bars end with the newest; anything else begins with what it is.
        text = text[-_LONGEST:] if "%|" in text[-_LONGEST:] else text[:_LONGEST]
    for read in _READERS:
        values = read(text)
        if values is not None:
            values.setdefault("step", None)
            if values.get("epoch") is None and (ahead := _AHEAD.match(text)):
                values["epoch"], values["epochs"] = float(ahead["epoch"]), int(ahead["planned"])
            if planned := _planned(text, values.get("epoch")):
                values["epochs"] = planned
            line = record.line
            return Step(
                path=path,
                line=line.number,
                column=line.column,
                time=record.time,
                rank=record.rank,
                lane=record.lane,
                **values,
            )
    return None


def _planned(text: str, epoch: float | None) -> int | None:
    """Return how many epochs are planned, where the record says it beside its own: `epoch: [2/20]`."""
    found = _EPOCHS.search(text) if epoch is not None else None
    return int(found["planned"]) if found and epoch is not None and int(found["epoch"]) == int(epoch) else None


def complete(step: Step, previous: Sequence[Step]) -> bool:
    """Tell whether a last record without a line end is whole, by the records before it.

    Args:
        step: The unterminated record.
        previous: Steps before it in the same source, in order; fifty are plenty.

    Returns:
        True where its keys end like those of an earlier record of its kind, or where the
        record itself shows its closing bracket. A record cut inside its last number
        cannot be told from a whole one.
    """
    if step.keys and step.keys[-1] in {"]", "}"}:
        return True
    return any(
        step.keys[-1:] == other.keys[-1:] and len(step.keys) >= len(other.keys) - 1
        for other in previous
        if other.series == step.series and other.keys[:1] == step.keys[:1]
    )
