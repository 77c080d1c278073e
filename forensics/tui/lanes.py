"""The timeline: what each rank and each speaker said when, and a window over it that can be moved and narrowed.

What has no time of its own is placed by the lines around it that have one, and marked as about then.
Where hardly anything tells a time, the axis is the lines of one source.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from forensics.model import Finding
from forensics.tui.story import Story

STEP, EVENT, NOTE, WARNING, ERROR, ROOT = range(6)
"""How much a mark weighs: the heaviest of a column is the one that is drawn."""
NARROWEST = 1e-3
_WEIGHTS = {"error": ERROR, "warning": WARNING, "info": NOTE}
_LAST = ("launch", "status")


@dataclass(frozen=True, slots=True)
class Mark:
    """Something said. `x` is a time in seconds since the epoch, or a line; `about` says that it is not exact."""

    x: float
    weight: int
    path: str
    line: int
    text: str
    who: str
    about: bool = False
    column: int = 0
    finding: Finding | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Lane:
    """The marks of one rank or one speaker, in order."""

    name: str
    marks: tuple[Mark, ...]
    xs: tuple[float, ...] = ()


@dataclass(slots=True)
class Timeline:
    """All lanes, the part of the axis that is looked at, and a cursor in it."""

    axis: str
    lanes: tuple[Lane, ...]
    first: float = 0.0
    last: float = 1.0
    unplaced: int = 0
    low: float = field(default=0.0, init=False)
    high: float = field(default=1.0, init=False)
    cursor: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.low, self.high = self.first, self.last
        self.cursor = self.last

    @classmethod
    def of(cls, story: Story) -> Timeline:
        """Lay out what an analysis holds."""
        marks = list(_marks(story))
        times = _Times(story)
        placed = [made for mark in marks if (made := times.placed(mark)) is not None]
        exact = {mark.x for mark in placed if not mark.about}
        if len(exact) > 1:
            return cls._laid_out("time", placed, len(marks) - len(placed), story)
        paths = [mark.path for mark in marks]
        root = story.root.evidence[0].path if story.root else ""
        path = root if root in paths else max(set(paths), key=paths.count, default="")
        chosen = [replace(mark, x=float(mark.line), about=False) for mark in marks if mark.path == path]
        return cls._laid_out(f"lines of {path}", chosen, len(marks) - len(chosen), story)

    @classmethod
    def _laid_out(cls, axis: str, marks: Sequence[Mark], unplaced: int, story: Story) -> Timeline:
        lanes: dict[tuple[int, int, str], list[Mark]] = defaultdict(list)
        ranks = {(e.path, e.line): e.rank for e in story.analysis.events} | {
            (s.path, s.line): s.rank for s in story.analysis.steps
        }  # fmt: skip
        for mark in marks:
            rank = ranks.get((mark.path, mark.line))
            if rank is not None:
                lanes[0, rank, f"rank {rank}"].append(mark)
            late = _LAST.index(mark.who) + 1 if mark.who in _LAST else 0
            lanes[1, late, mark.who].append(mark)
        made = []
        for _, _, name in sorted(lanes):
            every = sorted(next(v for k, v in lanes.items() if k[2] == name), key=lambda mark: mark.x)
            made.append(Lane(name, tuple(every), tuple(mark.x for mark in every)))
        xs = [mark.x for mark in marks]
        first, last = min(xs, default=0.0), max(xs, default=1.0)
        return cls(axis, tuple(made), first, last if last > first else first + 1.0, unplaced)

    @property
    def span(self) -> float:
        """Return how much of the axis is looked at."""
        return self.high - self.low

    def zoom(self, factor: float) -> None:
        """Look at a part so many times as long, around the cursor."""
        span = min(max(self.span * factor, NARROWEST), self.last - self.first)
        share = (self.cursor - self.low) / self.span
        low = min(max(self.cursor - share * span, self.first), self.last - span)
        self.low, self.high = low, low + span

    def whole(self) -> None:
        """Look at everything."""
        self.low, self.high = self.first, self.last

    def move(self, x: float) -> None:
        """Put the cursor somewhere, and look there."""
        self.cursor = min(max(x, self.first), self.last)
        span = self.span
        if self.cursor < self.low:
            self.low, self.high = self.cursor, self.cursor + span
        elif self.cursor > self.high:
            self.low, self.high = self.cursor - span, self.cursor

    def column(self, x: float, columns: int) -> int:
        """Return the column at which a place of the axis is drawn."""
        return round((x - self.low) / self.span * (columns - 1)) if columns > 1 else 0

    def x(self, column: int, columns: int) -> float:
        """Return the place of the axis that a column is in the middle of."""
        return self.low + self.span * column / max(1, columns - 1)

    def cells(self, lane: Lane, columns: int) -> dict[int, Mark]:
        """Return the heaviest mark of each column of a lane that has any."""
        found: dict[int, Mark] = {}
        for mark in self.between(lane, self.low, self.high):
            column = self.column(mark.x, columns)
            if column not in found or mark.weight > found[column].weight:
                found[column] = mark
        return found

    def between(self, lane: Lane, low: float, high: float) -> Sequence[Mark]:
        """Return the marks of a lane within a part of the axis."""
        return lane.marks[bisect_left(lane.xs, low) : bisect_right(lane.xs, high)]

    def here(self, lane: Lane | None, columns: int) -> list[Mark]:
        """Return the marks in the column of the cursor, of one lane or of all, the heaviest first."""
        half = self.span / max(1, columns - 1) / 2
        lanes = self.lanes if lane is None else (lane,)
        found = {mark for each in lanes for mark in self.between(each, self.cursor - half, self.cursor + half)}
        return sorted(found, key=lambda mark: (-mark.weight, abs(mark.x - self.cursor), mark.line))

    def neighbour(self, lane: Lane, by: int) -> Mark | None:
        """Return the mark of a lane next to the cursor, later or earlier."""
        if by > 0:
            at = bisect_right(lane.xs, self.cursor)
            return lane.marks[at] if at < len(lane.marks) else None
        at = bisect_left(lane.xs, self.cursor) - 1
        return lane.marks[at] if at >= 0 else None


def _marks(story: Story) -> Iterator[Mark]:
    """Yield everything said; what has no time has `x` NaN for now."""
    none = float("nan")
    for event in story.analysis.events:
        citation = story.citation(event.path, event.line)
        weight, finding = EVENT, None
        if citation is not None:
            finding = citation.finding
            weight = ROOT if finding.role == "root" else _WEIGHTS[finding.severity]
        text = (event.message or event.text).strip().partition("\n")[0][:400]
        x = none if event.time is None else event.time
        yield Mark(x, weight, event.path, event.line, text, event.speaker, column=event.column, finding=finding)
    for step in story.analysis.steps:
        said = [f"{name} {value}" for name, value in (("step", step.step), ("loss", step.loss)) if value is not None]
        x = none if step.time is None else step.time
        yield Mark(x, STEP, step.path, step.line, " ".join(said), "progress", column=step.column)


class _Times:
    """Times of lines, from those that are known around them."""

    def __init__(self, story: Story) -> None:
        known: dict[str, dict[int, float]] = defaultdict(dict)
        for event in story.analysis.events:
            if event.time is not None:
                known[event.path][event.line] = event.time
        for step in story.analysis.steps:
            if step.time is not None:
                known[step.path][step.line] = step.time
        for source in story.report.sources:
            if source.started is not None and source.ended is not None and source.lines:
                known[source.path].setdefault(1, source.started)
                known[source.path].setdefault(source.lines, source.ended)
        self._lines = {path: sorted(lines) for path, lines in known.items()}
        self._known = known

    def placed(self, mark: Mark) -> Mark | None:
        if mark.x == mark.x:
            return mark
        x = self.at(mark.path, mark.line)
        return None if x is None else replace(mark, x=x, about=True)

    def at(self, path: str, line: int) -> float | None:
        """Return about when a line was written: when the last line before it that tells a time was."""
        lines = self._lines.get(path)
        if not lines:
            return None
        at = bisect_right(lines, line) - 1
        return self._known[path][lines[max(at, 0)]]
