"""The one table of everything that was said, in the order of time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Literal

from msgspec import Struct

from forensics.model import Event, Source, Step
from forensics.text.ansi import visible

if TYPE_CHECKING:
    import polars as pl

Format = Literal["csv", "json", "parquet"]

_MESSAGE = 400
_INTEGERS = ("order", "line", "rank", "gpu", "pid", "step", "total", "memory_bytes")
_NUMBERS = ("loss", "grad_norm", "lr", "tokens_per_s")
COLUMNS = (
    "time", "time_from", "order", "path", "line", "speaker", "kind", "rank", "lane", "host", "gpu", "pid", "step",
    "total", "loss", "grad_norm", "lr", "tokens_per_s", "memory_bytes", "message",
)  # fmt: skip


def table(events: Sequence[Event], steps: Sequence[Step], sources: Sequence[Source]) -> pl.DataFrame:
    """Put everything into one table, sorted by time.

    A row without a time takes that of the nearest line above it in its source, and says
    so in `time_from` (`own`, `inherited`, `none`). A source without any time stands at its
    file's modification time, else at the end of its attempt, else last.

    Returns:
        Columns time (datetime, UTC), time_from, order, path, line, speaker, kind, rank, lane,
        host, gpu, pid, step, total, loss, grad_norm, lr, tokens_per_s, memory_bytes, message
        (first line, at most 400 characters, control characters made visible).
    """
    rows = [event_row(e) for e in events] + [step_row(s) for s in steps]
    places = {source.path: index for index, source in enumerate(sources)}
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_source[row.path].append(row)
    fallback = _fallback_times(sources, by_source)
    for path, own in by_source.items():
        own.sort(key=lambda row: (row.line, row.column))
        _inherit(own, fallback.get(path, math.inf))
    rows.sort(key=lambda row: (row.at, places.get(row.path, len(places)), row.line, row.column))
    return frame_of(rows)


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a table, in their order."""
    import polars as pl

    columns: dict[str, list[object]] = {name: [row.values.get(name) for row in rows] for name in COLUMNS}
    columns["time"] = [None if row.time is None else round(row.time * 1e6) for row in rows]
    columns["time_from"] = [row.time_from for row in rows]
    columns["order"] = list(range(len(rows)))
    columns["path"] = [row.path for row in rows]
    columns["line"] = [row.line for row in rows]
    types = {
        name: pl.Int64 if name in (*_INTEGERS, "time") else pl.Float64 if name in _NUMBERS else pl.String
        for name in COLUMNS
    }
    frame = pl.DataFrame(columns, schema=types, strict=False)
    return frame.with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


def filter(  # noqa: A001 - `timeline.filter(table, ...)` reads best
    frame: pl.DataFrame, *, rank: int | None = None, kind: str | None = None, since: float | None = None
) -> pl.DataFrame:
    """Keep the rows of a rank, of a kind or speaker, and from a time on (seconds since the epoch, UTC)."""
    import polars as pl

    if rank is not None:
        frame = frame.filter(pl.col("rank") == rank)
    if kind is not None:
        frame = frame.filter((pl.col("kind") == kind) | (pl.col("speaker") == kind))
    if since is not None:
        frame = frame.filter(pl.col("time").dt.epoch("us") >= round(since * 1e6))
    return frame


def write(frame: pl.DataFrame, format_: Format, stream: IO[bytes]) -> None:
    """Write a table for programs: `csv` with a header, `json` as one array, or `parquet`."""
    if format_ == "parquet":
        frame.write_parquet(stream)
        return
    shown = written(frame)
    if format_ == "csv":
        shown.write_csv(stream)
    else:
        stream.write(shown.write_json().encode())
        stream.write(b"\n")


def written(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with its times as text, ISO 8601 in UTC with milliseconds."""
    import polars as pl

    return frame.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))


class Row(Struct):
    """One row before it has a place: `at` is what it is sorted by, `time` what it shows; seconds since the epoch."""

    path: str
    line: int
    column: int
    time: float | None
    values: dict[str, object]
    at: float = math.inf
    time_from: str = "none"


def event_row(event: Event) -> Row:
    """Return the row of what a speaker said."""
    gpu = next((v for k in ("gpu", "device") if isinstance(v := event.fields.get(k), int)), None)
    step = event.fields.get("step")
    first = (event.message or event.text).strip().partition("\n")[0]
    return Row(
        event.path, event.line, event.column, event.time,
        {
            "speaker": event.speaker, "kind": event.kind, "rank": event.rank, "lane": event.lane, "host": event.host,
            "gpu": gpu, "pid": event.pid, "step": step if isinstance(step, int) else None,
            "message": visible(first[:_MESSAGE]),
        },
    )  # fmt: skip


def step_row(step: Step) -> Row:
    """Return the row of a progress record."""
    values = {
        "step": step.step, "total": step.total, "loss": step.loss, "grad_norm": step.grad_norm, "lr": step.lr,
        "tokens_per_s": step.tokens_per_s, "memory_bytes": step.memory_bytes,
    }  # fmt: skip
    said = " ".join(f"{name} {value:.6g}" for name, value in values.items() if value is not None and name != "total")
    kind = "step" if step.series == "train" else step.series
    return Row(
        step.path, step.line, step.column, step.time,
        {**values, "speaker": "progress", "kind": kind, "rank": step.rank, "lane": step.lane, "message": said},
    )  # fmt: skip


def _inherit(rows: Sequence[Row], fallback: float) -> None:
    """Give each row of a source the time it is sorted by."""
    first = next((row.time for row in rows if row.time is not None), fallback)
    current, known = first, False
    for row in rows:
        if row.time is not None:
            current, known, row.time_from = row.time, True, "own"
        elif known:
            row.time, row.time_from = current, "inherited"
        row.at = current


def _fallback_times(sources: Sequence[Source], by_source: dict[str, list[Row]]) -> dict[str, float]:
    ends: dict[int, float] = {}
    for source in sources:
        for row in by_source.get(source.path, ()):
            if row.time is not None:
                ends[source.attempt] = max(row.time, ends.get(source.attempt, row.time))
    return {s.path: s.mtime if s.mtime is not None else ends.get(s.attempt, math.inf) for s in sources}
