"""Plots as geometry: where curves, ticks and marks lie. The template writes it as SVG, a table tells the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from forensics.render import words
from forensics.render.html import scale, series
from forensics.render.html.series import Figure, Point
from forensics.text.sizes import format_size

WIDTH, HEIGHT = 460, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 448, 26, 178
MOST_ROWS = 60
"""Rows of the table of a plot; the drawing has more."""
STEEP = 200
"""Times the usual value that the largest may be before a linear axis flattens all others."""


class Mark(Struct, frozen=True):
    """A line across a plot or the timeline, at a place that has a name."""

    x: float
    label: str
    kind: str
    left: bool = False


class Path(Struct, frozen=True):
    """A curve as an SVG path; `style` is its place in the palette."""

    label: str
    style: int
    d: str


class Plot(Struct, frozen=True):
    """A plot, ready to be written. `points` is JSON for the pointer: [x, y, curve, where, value, place]."""

    key: str
    title: str
    along: str
    summary: str
    paths: tuple[Path, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    broken: tuple[tuple[float, float], ...]
    limit: tuple[float, str, bool] | None
    points: str
    rows: tuple[tuple[str, str, str, str], ...]
    notes: tuple[str, ...]


class Moments(Struct, frozen=True):
    """What is worth a mark: on an axis of steps by `steps`, on one of time by `times`, as (x, label, kind)."""

    steps: tuple[tuple[float, str, str], ...] = ()
    times: tuple[tuple[float, str, str], ...] = ()


def plot(figure: Figure, moments: Moments) -> Plot:
    """Return the geometry of a figure."""
    marks = {"step": moments.steps, "time": moments.times, "record": ()}[figure.along]
    every = [point for curve in figure.curves for point in curve.points]
    low, high = min(p.x for p in every), max(p.x for p in every)
    near = (high - low) * 0.25
    marks = tuple(mark for mark in marks if low - near <= mark[0] <= high + near)
    low, high = min([low, *(m[0] for m in marks)]), max([high, *(m[0] for m in marks)])
    across = scale.Scale(low, high, LEFT, RIGHT)
    up, y_ticks, logarithmic = _upright(figure, every)
    buckets = max(30, series.BUCKETS // len(figure.curves))
    strokes = [series.strokes(curve.points, buckets) for curve in figure.curves]
    breaks = [series.breaks(curve.points) for curve in figure.curves]
    paths = tuple(
        Path(curve.label, index, _path(own, across, up))
        for index, (curve, own) in enumerate(zip(figure.curves, strokes, strict=True))
    )
    kept = [_kept(*told) for told in zip(strokes, breaks, strict=True)]
    rows = list(_rows(figure, kept))
    notes = list(_notes(figure, kept, rows, logarithmic=logarithmic))
    drawn = [Mark(across(x), label, kind) for x, label, kind in marks]
    first = next((p for p in every if not math.isfinite(p.y)), None)
    if first is not None:
        label = f"{scale.number(first.y)} from {_where(first, figure)}"
        drawn = [mark for mark in drawn if abs(mark.x - across(first.x)) > 2] + [Mark(across(first.x), label, "nan")]
    limit = None
    if figure.limit is not None and figure.unit == "bytes" and figure.limit <= up.high:
        limit = (up(figure.limit), f"card, {scale.size(figure.limit)}", _free_side(drawn))
    return Plot(
        key=figure.key,
        title=figure.title,
        along={"step": "step", "record": "record", "time": scale.day(low, high)}[figure.along],
        summary=_summary(figure, every),
        paths=paths,
        x_ticks=tuple((across(x), label) for x, label in _x_ticks(figure, low, high)),
        y_ticks=tuple(zip(map(up, y_ticks), _y_labels(figure, y_ticks, up.high), strict=True)),
        marks=_apart(drawn),
        broken=tuple(_broken(breaks, across)),
        limit=limit,
        points=_points(figure, kept, across, up),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _upright(figure: Figure, every: Sequence[Point]) -> tuple[scale.Scale, list[float], bool]:
    finite = [p.y for p in every if math.isfinite(p.y)] or [0.0]
    if figure.unit == "percent":
        return scale.Scale(0, 100, BOTTOM, TOP), [0, 25, 50, 75, 100], False
    if figure.unit == "bytes":
        top = max(*finite, figure.limit or 0, 1.0) * 1.06
        return scale.Scale(0, top, BOTTOM, TOP), scale.size_ticks(top), False
    usual = sorted(finite)[len(finite) // 2]
    if min(finite) > 0 and max(finite) > STEEP * usual:
        low, high = min(finite) / 1.3, max(finite) * 1.3
        if len(powers := scale.log_ticks(low, high)) > 1:
            return scale.Scale(low, high, BOTTOM, TOP, log=True), powers, True
    # Why: half the speed has to look like half of it.
    low, high = scale.spread(finite, zero=figure.key in {"tokens", "step-time"})
    return scale.Scale(low, high, BOTTOM, TOP), scale.ticks(low, high, 4), False


def _path(strokes: Sequence[Sequence[Point]], across: scale.Scale, up: scale.Scale) -> str:
    parts: list[str] = []
    for stroke in strokes:
        places = [f"{across(p.x):g} {up(p.y):g}" for p in stroke]
        # A lone value is drawn as a dot: a line of no length with round ends.
        parts.append(f"M{places[0]}h0" if len(places) == 1 else "M" + "L".join(places))
    return "".join(parts)


def _kept(strokes: Sequence[Sequence[Point]], breaks: Sequence[tuple[Point, Point]]) -> list[Point]:
    """Return the points of a curve that are drawn or marked, as they stand in their file."""
    ends = [point for stretch in breaks for point in dict.fromkeys(stretch)]
    return sorted([*(p for stroke in strokes for p in stroke), *ends], key=lambda p: (p.path, p.line, p.x))


def _broken(breaks: Sequence[Sequence[tuple[Point, Point]]], across: scale.Scale) -> Iterator[tuple[float, float]]:
    """Yield where the values of a curve are no numbers, as (x, width)."""
    for first, last in dict.fromkeys(stretch for own in breaks for stretch in own):
        low, high = across(first.x), across(last.x)
        yield min(low, high), round(max(2.0, abs(high - low)), 1)


def _apart(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Turn labels to the side that has room."""
    middle = (LEFT + RIGHT) / 2
    return tuple(Mark(m.x, m.label, m.kind, left=m.x > middle) for m in marks)


def _free_side(marks: Sequence[Mark]) -> bool:
    """Tell whether the right end has room for a label, since no mark has one there."""
    return not any(mark.x > (LEFT + RIGHT) / 2 for mark in marks)


def _x_ticks(figure: Figure, low: float, high: float) -> Iterator[tuple[float, str]]:
    if figure.along == "time":
        yield from ((x, scale.clock(x, high - low)) for x in scale.time_ticks(low, high, 5))
    else:
        yield from ((x, f"{x:,.0f}" if x < 1e6 else scale.number(x)) for x in scale.whole_ticks(low, high))


def _told(figure: Figure, y: float) -> str:
    """Return a value as exactly as a person wants it."""
    if not math.isfinite(y):
        return scale.number(y)
    match figure.unit:
        case "bytes":
            return format_size(int(y))
        case "seconds":
            return scale.seconds(y, 4)
        case "percent":
            return f"{y:.0f} %"
    return f"{y:.6g}"


def _y_labels(figure: Figure, y_ticks: Sequence[float], largest: float) -> list[str]:
    if figure.unit == "bytes":
        return [scale.size(y, largest) for y in y_ticks]
    if figure.unit == "percent":
        return [f"{y:.0f} %" for y in y_ticks]
    return scale.labels(y_ticks, scale.seconds if figure.unit == "seconds" else scale.number)


def _where(point: Point, figure: Figure) -> str:
    if figure.along == "time":
        return scale.clock(point.x, 2)
    return f"{figure.along} {point.x:.0f}"


def _place(point: Point) -> str:
    return f"{words.path(point.path)}:{point.line}"


def _points(figure: Figure, kept: Sequence[Sequence[Point]], across: scale.Scale, up: scale.Scale) -> str:
    found = [
        [across(p.x), up(p.y) if math.isfinite(p.y) else TOP, index, _where(p, figure), _told(figure, p.y), p.line]
        for index, points in enumerate(kept)
        for p in points
    ]
    return json.dumps(found, separators=(",", ":"))


def _rows(figure: Figure, kept: Sequence[Sequence[Point]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table: first, last, smallest and largest of each curve, and evenly chosen others."""
    share = max(8, MOST_ROWS // len(kept))
    for curve, points in zip(figure.curves, kept, strict=True):
        finite = [p for p in points if math.isfinite(p.y)]
        told = {id(p) for p in points[:: max(1, math.ceil(len(points) / share))]} | {id(points[-1])}
        told |= {id(p) for p in (min(finite, key=_y, default=None), max(finite, key=_y, default=None)) if p}
        told |= {id(p) for p in [p for p in points if not math.isfinite(p.y)][:1]}
        for p in points:
            if id(p) in told:
                yield curve.label, _where(p, figure), _told(figure, p.y), _place(p)


def _y(point: Point) -> float:
    return point.y


def _summary(figure: Figure, every: Sequence[Point]) -> str:
    finite = [p for p in every if math.isfinite(p.y)]
    parts = [f"{words.count(len(figure.curves), 'curve')}, {words.count(len(every), 'value')}"]
    if finite:
        low, high = min(finite, key=_y), max(finite, key=_y)
        parts += [
            f"smallest {_told(figure, low.y)} at {_where(low, figure)}",
            f"largest {_told(figure, high.y)} at {_where(high, figure)}",
        ]
    if len(finite) < len(every):
        first = next(p for p in every if not math.isfinite(p.y))
        parts.append(f"no number from {_where(first, figure)} on, {words.count(len(every) - len(finite), 'record')}")
    return "; ".join(parts)


def _notes(
    figure: Figure, kept: Sequence[Sequence[Point]], rows: Sequence[object], *, logarithmic: bool
) -> Iterator[str]:
    total, drawn = sum(len(c.points) for c in figure.curves), sum(map(len, kept))
    if drawn < total:
        yield f"{drawn:,} of {total:,} values are drawn; spikes and the first NaN are among them."
    if len(rows) < drawn:
        yield f"The table has {len(rows)} of them."
    if figure.left_out:
        yield f"{words.count(figure.left_out, 'further curve')} not drawn."
    if logarithmic:
        yield "The axis is logarithmic."
