"""A timeline of more rows than memory holds: source after source, in pieces that lie on disk.

Nothing here sorts by time: that takes all rows at once. Whoever reads the file has the tools for it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from forensics.model import Event, Step
from forensics.timeline.table import Format, Row, event_row, filter, frame_of, step_row, write, written  # noqa: A004

if TYPE_CHECKING:
    import polars as pl

ROWS = 8_000
"""Rows of a piece: some 15 MB while it is made."""


class Choice(Struct, frozen=True):
    """Which rows are wanted; see `filter`."""

    rank: int | None = None
    kind: str | None = None
    since: float | None = None


def stream(events: Sequence[Event], steps: Iterable[Step], choice: Choice) -> Iterator[pl.DataFrame]:
    """Yield the rows of one source in the order of its lines, some thousands at a time; `order` is counted in each.

    Args:
        events: those of the source.
        steps: those of the source, in the order of its lines; there may be millions.
        choice: which rows are wanted.
    """
    said = sorted(map(event_row, events), key=_place)
    rows = _timed(merge(said, map(step_row, steps), key=_place))
    while some := list(islice(rows, ROWS)):
        frame = filter(frame_of(some), rank=choice.rank, kind=choice.kind, since=choice.since)
        if len(frame):
            yield frame


def write_stream(frames: Iterable[pl.DataFrame], folder: Path, format_: Format, out: IO[bytes]) -> int:
    """Write tables that follow one another as one; `order` counts its rows.

    Args:
        frames: as `stream` yields them.
        folder: room for as much as is written.
        format_: as for `write`.
        out: where it is written.

    Returns:
        How many rows it has.
    """
    counter = _Counter()
    numbered = counter.through(frames)
    if format_ == "parquet":
        _write_parquet(numbered, folder, out)
    elif format_ == "csv":
        write(frame_of(()), format_, out)
        for frame in numbered:
            written(frame).write_csv(out, include_header=False)
    else:
        out.write(b"[")
        for frame in numbered:
            out.write(b",\n" if frame["order"][0] else b"\n")
            out.write(written(frame).write_json().encode()[1:-1])
        out.write(b"]\n")
    return counter.rows


def _write_parquet(frames: Iterable[pl.DataFrame], folder: Path, out: IO[bytes]) -> None:
    """Write tables as the row groups of one file: its end has the places of all, so polars asks for them as files."""
    import polars as pl

    pieces: list[Path] = []
    for number, frame in enumerate(frames):
        pieces.append(folder / f"{number:08d}.parquet")
        frame.write_parquet(pieces[-1])
    if not pieces:
        write(frame_of(()), "parquet", out)
        return
    whole = folder / "whole.parquet"
    pl.scan_parquet(pieces).sink_parquet(whole)
    with whole.open("rb") as file:
        shutil.copyfileobj(file, out)


class _Counter:
    """Numbers rows through tables that follow one another."""

    def __init__(self) -> None:
        self.rows = 0

    def through(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        import polars as pl

        for frame in frames:
            numbers = pl.int_range(self.rows, self.rows + len(frame), dtype=pl.Int64, eager=True)
            self.rows += len(frame)
            yield frame.with_columns(numbers.alias("order"))


def _place(row: Row) -> tuple[int, int]:
    return row.line, row.column


def _timed(rows: Iterable[Row]) -> Iterator[Row]:
    """Give rows without a time that of the nearest line above."""
    time: float | None = None
    for row in rows:
        if row.time is not None:
            time, row.time_from = row.time, "own"
        elif time is not None:
            row.time, row.time_from = time, "inherited"
        yield row
