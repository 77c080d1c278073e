"""The timeline as geometry: a lane for each rank and each speaker, and what was said when.

Where nothing names a time, the lines of the log that says most take the place of a clock.
What is routine (samples of a GPU, steps) is drawn as runs; everything else as a mark of its own,
which leads to the evidence, or to its row in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from forensics.analyze import Analysis
from forensics.render import words
from forensics.render.html import said as saying
from forensics.render.html import scale
from forensics.render.html.clock import Clock
from forensics.render.html.evidence import Quotes
from forensics.render.html.said import WEIGHTS, LaneKey, Said, Weight

WIDTH, GUTTER, EDGE = 900, 128, 16
LANE, HEAD, FOOT = 26, 30, 12
LABEL = 36
"""Room that half a label of the axis needs at its end."""
MOST_LANES, MOST_MARKS, MOST_ROWS, MOST_RUNS = 24, 400, 150, 200
SLICES = 1200
"""Slices of the axis within which routine is one run."""
FARTHEST, NEAREST_S = 3, 60
"""Times the length of the run that its surroundings may be drawn around it, and the seconds that always may."""


class Spot(Struct, frozen=True):
    """A mark: where it is drawn, where on the axis (`at`, `until`), what it says, and where it leads."""

    x: float
    width: float
    at: float
    until: float
    weight: Weight
    label: str
    href: str


class Lane(Struct, frozen=True):
    """What one rank or speaker said."""

    name: str
    y: int
    spots: tuple[Spot, ...]


class Told(Struct, frozen=True):
    """An event as a row of the table."""

    anchor: str
    when: str
    who: str
    where: str
    what: str
    href: str


class Axis(Struct, frozen=True):
    """What lies along the drawing, moments or lines, from `low` to `high`."""

    clock: bool
    low: float
    high: float

    def ticks(self) -> list[float]:
        """Return round values of it."""
        return scale.time_ticks(self.low, self.high, 7) if self.clock else scale.whole_ticks(self.low, self.high, 7)

    def label(self, at: float) -> str:
        """Return a value as the axis shows it."""
        return scale.clock(at, self.high - self.low) if self.clock else f"{at:,.0f}"

    def when(self, at: float, mark: str) -> str:
        """Return a value of an event, exactly where it is exact."""
        if not self.clock:
            return f"line {at:.0f}"
        span = self.high - self.low
        return f"{mark} ".lstrip() + scale.clock(at, min(span, 2) if at % 1 and not mark else span)


class Timeline(Struct, frozen=True):
    """The timeline, ready to be written. `failure` is where the run failed, as (place on the axis, x)."""

    axis: Axis
    caption: str
    height: int
    lanes: tuple[Lane, ...]
    weights: tuple[Weight, ...]
    ticks: tuple[tuple[float, str], ...]
    failure: tuple[float, float] | None
    rows: tuple[Told, ...]
    notes: tuple[str, ...]


def timeline(analysis: Analysis, quotes: Quotes, clock: Clock, failure: float | None) -> Timeline | None:
    """Return the timeline of a run, or None where nothing could be put in an order."""
    every = saying.everything(analysis, clock)
    said = [s for s in every if math.isfinite(s.at)]
    if len({s.at for s in said}) < 2:
        return _by_lines(every, quotes)
    older = saying.earlier(analysis)
    notes = []
    if before := sum(event.path in older for event in analysis.events):
        notes.append(f"{words.count(before, 'event')} of earlier attempts not drawn.")
    if left := len(every) - len(said):
        notes.append(f"{words.count(left, 'event')} without a time, such as those of scripts, not drawn.")
    axis = Axis(True, *_range(analysis, said, failure))
    inside = [s for s in said if axis.low <= s.at <= axis.high]
    if outside := len(said) - len(inside):
        notes.append(f"{words.count(outside, 'event')} long before or after the run not drawn.")
    if any(s.mark and s.weight != "routine" for s in inside):
        notes.append("Where a line has no time: ≈ lies between the times around it, ≥ after the last one before it.")
    return _drawn(inside, axis, scale.day(axis.low, axis.high), failure, quotes, notes)


def _by_lines(every: Sequence[Said], quotes: Quotes) -> Timeline | None:
    """Return a timeline along the lines of one log, for a run in which nothing names a time."""
    path = saying.busiest(every)
    said = [replace(s, at=float(s.line), mark="") for s in every if s.path == path and s.line]
    if len({s.at for s in said}) < 3:
        return None
    name = words.path(path)
    notes = [f"No times are told, so this is the order of the lines of {name}."]
    axis = Axis(False, 1.0, max(s.at for s in said))
    return _drawn(said, axis, f"Lines of {name}", None, quotes, notes)


def _drawn(
    said: Sequence[Said], axis: Axis, caption: str, failure: float | None, quotes: Quotes, notes: list[str]
) -> Timeline:
    across = scale.Scale(axis.low, axis.high, GUTTER, WIDTH - EDGE)
    kept, count = saying.lanes(said, MOST_LANES)
    if len(kept) < count:
        notes.append(f"{len(kept)} of {count} lanes are drawn: those that findings cite, and the first ones.")
    lanes: dict[LaneKey, list[Said]] = {lane: [] for lane in kept}
    spoken = [s for s in said if s.lane in lanes and s.weight != "routine"]
    if len(spoken) > MOST_MARKS:
        notes.append(f"{MOST_MARKS} of {len(spoken):,} events have a mark: those that findings cite, and the last.")
    spoken = saying.heaviest(spoken, MOST_MARKS)
    rows = list(_table(spoken, axis, quotes, notes))
    routine = [s for s in said if s.lane in lanes and s.weight == "routine"]
    for s in (*saying.runs(routine, (axis.high - axis.low) / SLICES), *spoken):
        lanes[s.lane].append(s)
    made = tuple(
        Lane(lane[2], HEAD + index * LANE, tuple(_spots(own, axis, across)))
        for index, (lane, own) in enumerate(lanes.items())
    )
    present = {spot.weight for lane in made for spot in lane.spots}
    return Timeline(
        axis=axis,
        caption=caption,
        height=HEAD + len(made) * LANE + FOOT,
        lanes=made,
        weights=tuple(weight for weight in WEIGHTS if weight in present),
        ticks=tuple((across(x), axis.label(x)) for x in axis.ticks() if across(x) < WIDTH - LABEL),
        failure=None if failure is None else (failure, across(failure)),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _range(analysis: Analysis, said: Sequence[Said], failure: float | None) -> tuple[float, float]:
    """Return what to draw: everything, unless something lies far away from the run itself."""
    run = analysis.report.run
    known = (run.started, run.ended, failure, *(step.time for step in analysis.steps))
    core = [time for time in known if time is not None and math.isfinite(time)]
    if len(core) < 2:
        core += [s.at for s in said if s.weight in {"root", "error"} and not s.mark]
    low, high = min(s.at for s in said), max(s.at for s in said)
    if len(core) > 1 and max(core) > min(core):
        reach = max(NEAREST_S, FARTHEST * (max(core) - min(core)))
        low, high = max(low, min(core) - reach), min(high, max(core) + reach)
        low, high = min(low, *core), max(high, *core)
    return low, max(high, low + 1e-3)


def _spots(own: Sequence[Said], axis: Axis, across: scale.Scale) -> Iterator[Spot]:
    """Yield the marks of a lane: what matters is written last, so that it lies on top."""
    routine = [s for s in own if s.weight == "routine"]
    # Why: a lane broken into that many runs is noise, and its longest ones show as much.
    thinned = sorted(routine, key=lambda s: -s.count)[:MOST_RUNS]
    spoken = sorted((s for s in own if s.weight != "routine"), key=lambda s: (-s.heaviness, s.at))
    for s in (*sorted(thinned, key=lambda s: s.at), *spoken):
        until = max(s.at, s.until)
        x = across(s.at)
        yield Spot(x, round(max(2.0, across(until) - x), 1), s.at, until, s.weight, _label(s, axis), s.href)


def _label(s: Said, axis: Axis) -> str:
    place = _place(s)
    when = axis.when(s.at, s.mark)
    if s.weight != "routine":
        return f"{when}  {s.who}\n{s.text}\n{place}"
    if s.count == 1:
        return f"{when}  {s.who}\n{place}"
    name = f"{s.who} to {s.text}" if s.who.startswith("step") else f"{s.count} times {s.who}"
    return f"{when} to {axis.when(s.until, s.mark)}\n{name}\nfrom {place}"


def _table(spoken: Sequence[Said], axis: Axis, quotes: Quotes, notes: list[str]) -> Iterable[Told]:
    """Yield the rows of the table, and give each mark what it leads to."""
    chosen = saying.heaviest(spoken, MOST_ROWS)
    if len(chosen) < len(spoken):
        notes.append(f"The table has {len(chosen)} of {len(spoken):,} events.")
    for number, s in enumerate(chosen, 1):
        quoted = quotes.anchor(s.path, s.line) if s.weight != "said" else ""
        s.href = quoted or f"t{number}"
        yield Told(f"t{number}", axis.when(s.at, s.mark), s.who, _place(s), s.text, quoted)


def _place(s: Said) -> str:
    return f"{words.path(s.path)}:{s.line}" if s.line else words.path(s.path)
