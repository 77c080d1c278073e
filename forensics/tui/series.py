"""Numbers over time or steps, for drawing: losses, norms, speed, and what the cards did.

A run has more records than a screen has columns, so records that share a column are drawn by their
smallest and largest: a spike stays. What is no number is a gap with a mark, and the first is exact.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.model import Step

if TYPE_CHECKING:  # the engine and all parsers are the business of the other process
    from forensics.analyze import Analysis

MOST_TRACKS = 8
"""Lines in one drawing; more cannot be told apart."""
METRICS = (
    ("loss", "loss"),
    ("grad_norm", "gradient norm"),
    ("tokens_per_s", "tokens/s"),
    ("step_time_s", "step time (s)"),
    ("memory_bytes", "GPU memory as the program says (GiB)"),
)
GIB = 1 << 30

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Track:
    """One line of a drawing: (x, y) in order; `broken` are the x where y was NaN or infinite."""

    name: str
    points: tuple[Point, ...]
    broken: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """One drawing. `axis` is `time` (seconds since the epoch), `step` or `record`; `failure` is an x."""

    title: str
    axis: str
    tracks: tuple[Track, ...]
    left_out: int = 0
    failure: float | None = None
    failure_name: str = ""

    @property
    def last(self) -> float | None:
        """Return the last value of the first track."""
        return next((track.points[-1][1] for track in self.tracks if track.points), None)


def drawings(analysis: Analysis) -> list[Series]:
    """Return all drawings that an analysis gives rise to, those without any number left out."""
    steps = [step for step in analysis.steps if step.series == "train"]
    timed = sum(step.time is not None for step in steps)
    numbered = sum(step.step is not None for step in steps)
    axis = "step" if numbered * 10 >= len(steps) * 9 else "time" if timed * 10 >= len(steps) * 9 else "record"
    failure, name = _failure(analysis, axis, steps)
    made = []
    for field, title in METRICS:
        tracks = _tracks(steps, field, axis)
        if tracks:
            made.append(
                Series(title, axis, tuple(tracks[:MOST_TRACKS]), max(0, len(tracks) - MOST_TRACKS), failure, name)
            )
    return [*made, *_cards(analysis)]


def _tracks(steps: Iterable[Step], field: str, axis: str) -> list[Track]:
    every: dict[tuple[str, int | None, str | None], list[tuple[float, float]]] = defaultdict(list)
    for index, step in enumerate(steps):
        value = getattr(step, field)
        x = step.step if axis == "step" else step.time if axis == "time" else index
        if value is not None and x is not None:
            every[step.path, step.rank, step.lane].append((x, value / GIB if field == "memory_bytes" else value))
    paths = {path for path, _, _ in every}
    order = sorted(every.items(), key=lambda item: (item[0][1] is None, item[0][1] or 0, item[0][2] or "", item[0][0]))
    return [_track(_name(*key, several=len(paths) > 1), values) for key, values in order]


def _name(path: str, rank: int | None, lane: str | None, *, several: bool) -> str:
    parts = [f"rank {rank}" if rank is not None else "", lane or "", path if several else ""]
    return " ".join(part for part in parts if part)


def _track(name: str, values: Iterable[Point]) -> Track:
    ordered = sorted(values, key=lambda point: point[0])
    finite = tuple((x, y) for x, y in ordered if math.isfinite(y))
    return Track(name, finite, tuple(x for x, y in ordered if not math.isfinite(y)))


def _failure(analysis: Analysis, axis: str, steps: Sequence[Step]) -> tuple[float | None, str]:
    """Return where on an axis the run failed, and the name of what did it."""
    report = analysis.report
    root = report.root
    if root is None or report.verdict not in {"failed", "degraded"}:
        return None, ""
    if axis == "time":
        return (root.time if root.time is not None else report.run.ended), root.id
    if axis == "step":
        for fact in ("first_nan_step", "last_step"):
            value = root.facts.get(fact)
            if isinstance(value, int) and not isinstance(value, bool):
                return float(value), root.id
        return (None if report.run.last_step is None else float(report.run.last_step)), root.id
    return (float(len(steps) - 1) if steps else None), root.id


def _cards(analysis: Analysis) -> Iterator[Series]:
    """Yield memory and utilisation of each GPU over time, from what nvidia-smi said."""
    used: dict[int, list[Point]] = defaultdict(list)
    busy: dict[int, list[Point]] = defaultdict(list)
    shots = [e for e in analysis.events if e.speaker == "nvidia-smi" and e.kind == "snapshot"]
    timed = [e for e in shots if e.time is not None]
    axis = "time" if len(timed) > 1 else "record"
    for index, event in enumerate(timed if axis == "time" else shots):
        x = event.time if axis == "time" and event.time is not None else float(index)
        for name, into, scale in (("memory_used_bytes", used, GIB), ("utilization", busy, 1)):
            cards, values = event.fields.get("indices"), event.fields.get(name)
            if not isinstance(cards, tuple) or not isinstance(values, tuple):
                continue
            for card, value in zip(cards, values, strict=False):
                if isinstance(card, int) and isinstance(value, int | float):
                    into[card].append((x, value / scale))
    failure, name = _failure(analysis, "time", ()) if axis == "time" else (None, "")
    for title, every in (("memory of each GPU (GiB)", used), ("utilisation of each GPU (%)", busy)):
        if any(len(points) > 1 for points in every.values()):
            tracks = [_track(f"GPU {card}", every[card]) for card in sorted(every)]
            yield Series(title, axis, tuple(tracks[:MOST_TRACKS]), max(0, len(tracks) - MOST_TRACKS), failure, name)


def thinned(points: Sequence[Point], columns: int) -> list[Point]:
    """Return at most four points for each of so many columns: the first, the extremes and the last, in their order."""
    if len(points) <= 2 * columns or columns < 1:
        return list(points)
    low, high = points[0][0], points[-1][0]
    width = (high - low) / columns or 1.0
    buckets: dict[int, list[Point]] = defaultdict(list)
    for point in points:
        buckets[min(columns - 1, int((point[0] - low) / width))].append(point)
    kept: list[Point] = []
    for bucket in buckets.values():
        chosen = {bucket[0], bucket[-1], min(bucket, key=_height), max(bucket, key=_height)}
        kept += sorted(chosen)
    return kept


def _height(point: Point) -> float:
    return point[1]


def runs(track: Track) -> list[list[Point]]:
    """Return the stretches of a track between what was no number."""
    stretches: list[list[Point]] = [[]]
    breaks = list(track.broken)
    at = 0
    for point in track.points:
        while at < len(breaks) and breaks[at] < point[0]:
            at += 1
            if stretches[-1]:
                stretches.append([])
        stretches[-1].append(point)
    return [stretch for stretch in stretches if stretch]
