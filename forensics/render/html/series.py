"""Curves of a run: what its steps and its GPUs measured, thinned so that spikes, gaps and the first NaN stay."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, TypeAlias

from msgspec import Struct

from forensics.analyze import Analysis
from forensics.model import Event, Step
from forensics.render.excerpt import crop

Unit: TypeAlias = Literal["", "bytes", "seconds", "percent"]
Along: TypeAlias = Literal["step", "time", "record"]

MOST_CURVES = 8
"""Curves of one plot that an eye can tell apart; further ones are counted."""
BUCKETS = 240
"""Slices of a plot, shared by its curves, that each keep their first, last, smallest and largest value."""
NAME = 48
"""Characters of what a curve is called."""
GAP = 8
"""Times the usual distance between two values, from which on a curve is broken."""


class Point(Struct, frozen=True):
    """One value, where it lies on the axis, and the line that says so."""

    x: float
    y: float
    path: str
    line: int
    step: int | None = None


class Curve(Struct, frozen=True):
    """Values of one rank, lane or GPU, in the order in which they were told."""

    label: str
    points: tuple[Point, ...]


class Figure(Struct, frozen=True):
    """What one plot shows. `limit` is a bound worth a line (the memory of a card); `left_out` counts curves."""

    key: str
    title: str
    unit: Unit
    along: Along
    curves: tuple[Curve, ...]
    limit: float | None = None
    left_out: int = 0


_Track: TypeAlias = tuple[str, int | None, str | None]

_METRICS: tuple[tuple[str, str, Unit, Callable[[Step], float | None]], ...] = (
    ("loss", "Loss", "", lambda s: s.loss),
    ("grad-norm", "Gradient norm", "", lambda s: s.grad_norm),
    ("tokens", "Tokens per second", "", lambda s: s.tokens_per_s),
    ("step-time", "Time of a step", "seconds", lambda s: s.step_time_s),
    ("step-memory", "GPU memory, as the program counts it", "bytes", lambda s: s.memory_bytes),
)
_SAMPLES: tuple[tuple[str, str, Unit, str], ...] = (
    ("gpu-memory", "GPU memory in use, as nvidia-smi sees it", "bytes", "memory_used_bytes"),
    ("gpu-utilisation", "GPU utilisation", "percent", "utilization"),
)


def figures(analysis: Analysis, first: Sequence[int] = ()) -> Iterator[Figure]:
    """Yield the plots that a run has values for; curves of the ranks in `first` are kept before others."""
    tracks: dict[_Track, list[Step]] = defaultdict(list)
    for step in analysis.steps:
        if step.series == "train":
            # Why: an evaluation has losses of its own, which are no part of this curve.
            tracks[(step.path, step.rank, step.lane)].append(step)
    for key, title, unit, value in _METRICS:
        along = _along([s for own in tracks.values() for s in own if value(s) is not None])
        made = [(track, _points(own, value, along)) for track, own in tracks.items()]
        if key == "step-time" and not any(points for _, points in made):
            along = _along([s for own in tracks.values() for s in own])
            made = [(track, _intervals(own)) if along == "step" else (track, []) for track, own in tracks.items()]
        chosen = [(track, points) for track, points in made if len(points) > 1]
        if chosen:
            chosen.sort(key=lambda item: (item[0][1] not in first, -len(item[1])))
            kept = sorted(chosen[:MOST_CURVES], key=lambda item: _order(item[0]))
            curves = tuple(Curve(_label(track, kept), tuple(points)) for track, points in kept)
            yield Figure(key, title, unit, along, curves, left_out=len(chosen) - len(kept))
    yield from _gpus(analysis.events, first)


def strokes(points: Sequence[Point], buckets: int = BUCKETS) -> list[list[Point]]:
    """Return a curve as stretches to be drawn without a break, of at most some eight points a bucket.

    It breaks at what is no number, where the counter falls back, and at a silence. What breaks
    all the time (counters that take turns in one log) is returned as lone points.
    """
    parts = list(_pieces(points))
    if len(parts) > buckets:
        return [[point] for point in thinned([point for part in parts for point in part], buckets)]
    total = sum(map(len, parts)) or 1
    return [thinned(part, max(1, buckets * len(part) // total)) for part in parts]


def thinned(points: Sequence[Point], buckets: int) -> list[Point]:
    """Return at most four points a bucket that draw the same: the first, last, smallest and largest of each."""
    if len(points) <= 4 * buckets:
        return list(points)
    kept: set[int] = set()
    for bucket in range(buckets):
        own = range(bucket * len(points) // buckets, (bucket + 1) * len(points) // buckets)
        kept.update((own[0], own[-1], min(own, key=lambda i: points[i].y), max(own, key=lambda i: points[i].y)))
    return [points[index] for index in sorted(kept)]


def breaks(points: Sequence[Point], most: int = 20) -> list[tuple[Point, Point]]:
    """Return the stretches in which the values are no numbers, as their first and last points."""
    found: list[tuple[Point, Point]] = []
    for before, point in pairwise((None, *points)):
        if point is None or math.isfinite(point.y):
            continue
        if before is not None and not math.isfinite(before.y):
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found if len(found) <= most else [*found[: most - 1], found[-1]]


def _pieces(points: Sequence[Point]) -> Iterator[list[Point]]:
    distances = [b.x - a.x for a, b in pairwise(points) if b.x > a.x]
    widest = GAP * median(distances) if distances else math.inf
    piece: list[Point] = []
    for point in points:
        if piece and not (math.isfinite(point.y) and 0 <= point.x - piece[-1].x <= widest):
            yield piece
            piece = []
        if math.isfinite(point.y):
            piece.append(point)
    if piece:
        yield piece


def _along(steps: Sequence[Step]) -> Along:
    if steps and sum(s.step is not None for s in steps) >= 0.9 * len(steps):
        return "step"
    return "time" if steps and all(s.time is not None for s in steps) else "record"


def _points(steps: Iterable[Step], value: Callable[[Step], float | None], along: Along) -> list[Point]:
    points: list[Point] = []
    for step in steps:
        y = value(step)
        x = step.step if along == "step" else step.time if along == "time" else len(points)
        if y is not None and x is not None and math.isfinite(x):
            points.append(Point(float(x), float(y), step.path, step.line, step.step))
    return points


def _intervals(steps: Sequence[Step]) -> list[Point]:
    """Return the seconds between numbered steps, unless the clock is too coarse to tell them."""
    timed = [s for s in steps if s.time is not None and s.step is not None]
    apart = [
        (b, ((b.time or 0) - (a.time or 0)) / ((b.step or 0) - (a.step or 0)))
        for a, b in pairwise(timed)
        if (b.step or 0) > (a.step or 0) and (b.time or 0) >= (a.time or 0)
    ]
    coarse = all(float(s.time or 0).is_integer() for s in timed)
    if len(apart) < 3 or (coarse and median(gap for _, gap in apart) < 5):
        return []
    return [Point(float(s.step or 0), gap, s.path, s.line, s.step) for s, gap in apart]


def _order(track: _Track) -> tuple[str, int, str]:
    return track[0], -1 if track[1] is None else track[1], track[2] or ""


def _label(track: _Track, beside: Sequence[tuple[_Track, list[Point]]]) -> str:
    """Return what tells a curve from those beside it: its rank, its lane, else its file."""
    path, rank, lane = track
    parts = [f"rank {rank}" if rank is not None else "", lane or ""]
    if len({other[0] for other, _ in beside}) > 1 or not any(parts):
        parts.append(path)
    return crop(" ".join(part for part in parts if part), NAME)


def _gpus(events: Iterable[Event], first: Sequence[int]) -> Iterator[Figure]:
    samples = sorted(
        (e for e in events if e.speaker == "nvidia-smi" and e.kind == "snapshot" and e.time is not None),
        key=lambda e: e.time or 0.0,
    )
    for key, title, unit, name in _SAMPLES:
        cards: dict[int, list[Point]] = defaultdict(list)
        for event in samples:
            for index, value in _values(event, name):
                cards[index].append(Point(event.time or 0.0, value, event.path, event.line))
        chosen = sorted(((i, own) for i, own in cards.items() if len(own) > 1), key=lambda c: (c[0] not in first, c[0]))
        if chosen:
            kept = sorted(chosen[:MOST_CURVES])
            limit = 100.0 if unit == "percent" else _card(samples)
            curves = tuple(Curve(f"GPU {index}", tuple(points)) for index, points in kept)
            yield Figure(key, title, unit, "time", curves, limit, len(chosen) - len(kept))


def _values(event: Event, name: str) -> Iterator[tuple[int, float]]:
    indices, values = event.fields.get("indices"), event.fields.get(name)
    if not isinstance(values, tuple):
        return
    numbers = indices if isinstance(indices, tuple) and len(indices) == len(values) else tuple(range(len(values)))
    for index, value in zip(numbers, values, strict=False):
        if isinstance(index, int) and isinstance(value, int | float) and math.isfinite(value):
            yield index, float(value)


def _card(samples: Iterable[Event]) -> float | None:
    return max((value for event in samples for _, value in _values(event, "memory_total_bytes")), default=None)
