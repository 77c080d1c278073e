"""What a timeline is made of: everything that was said in the attempt in question, weighed and placed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from msgspec import Struct

from forensics.analyze import Analysis
from forensics.model import Event, Finding
from forensics.render.excerpt import crop
from forensics.render.html.clock import Clock

Weight: TypeAlias = Literal["root", "error", "warning", "info", "said", "routine"]
WEIGHTS: tuple[Weight, ...] = ("root", "error", "warning", "info", "said", "routine")
"""How much a mark matters, the heaviest first: that of the findings that cite it, else whether it is routine."""

ROUTINE = frozenset({"snapshot", "step", "config", "program", "version", "command", "environment", "start"})
"""Kinds of event that say nothing by themselves."""

LaneKey: TypeAlias = tuple[int, int, str]
"""What sorts the lanes, ranks before threads before speakers, and the name of one."""

WORDS, NAME = 160, 60
"""Characters of what was said, and of the name of a lane."""
LONGEST_SPAN = 200
"""Lines of one place that are looked up; no event has more."""


class Said(Struct):
    """An event or a step on its way to the drawing; `at` is NaN where nothing tells its time.

    `mark` is that of its `Moment`. `until` and `count` are those of a run of several.
    `href` is the anchor that its mark leads to.
    """

    at: float
    mark: str
    lane: LaneKey
    weight: Weight
    who: str
    path: str
    line: int
    text: str
    until: float = 0.0
    count: int = 1
    href: str = ""

    @property
    def heaviness(self) -> int:
        """Return the place of its weight among all, 0 for the heaviest."""
        return WEIGHTS.index(self.weight)


def everything(analysis: Analysis, clock: Clock) -> list[Said]:
    """Return all that was said in the attempt in question, in no order."""
    weights = _Weights(analysis.report.findings)
    older = earlier(analysis)
    events = [_event(event, clock, weights) for event in analysis.events if event.path not in older]
    return [*events, *_steps(analysis, clock)]


def earlier(analysis: Analysis) -> frozenset[str]:
    """Return the sources of earlier attempts."""
    sources = analysis.report.sources
    newest = max((source.attempt for source in sources), default=0)
    return frozenset(s.path for s in sources if s.attempt < newest) - {step.path for step in analysis.steps}


def busiest(said: Iterable[Said]) -> str:
    """Return the source that says most."""
    told = Counter(s.path for s in said)
    return max(told, key=lambda path: (told[path], path), default="")


def lanes(said: Iterable[Said], most: int) -> tuple[list[LaneKey], int]:
    """Return the lanes to draw, in order, and how many there are: those that matter and the first ones stay."""
    heaviest: dict[LaneKey, int] = {}
    for s in said:
        heaviest[s.lane] = min(heaviest.get(s.lane, len(WEIGHTS)), s.heaviness)
    kept = sorted(heaviest, key=lambda lane: (heaviest[lane], lane))[:most]
    return sorted(kept), len(heaviest)


def heaviest(said: Sequence[Said], most: int) -> list[Said]:
    """Return so many, in order of time: those that matter, and of equals the last."""
    kept = sorted(said, key=lambda s: (s.heaviness, -s.at))[:most]
    return sorted(kept, key=lambda s: (s.at, s.path, s.line))


def runs(routine: Iterable[Said], nearest: float) -> Iterator[Said]:
    """Join what a lane said routinely, and evenly or as good as at once, into runs with a count."""
    own: dict[tuple[LaneKey, bool], list[Said]] = defaultdict(list)
    for s in routine:
        own[(s.lane, s.who.startswith("step"))].append(s)
    for told in own.values():
        told.sort(key=lambda s: s.at)
        apart = sorted(b.at - a.at for a, b in pairwise(told))
        # Why: even samples are one run, and a silence among them is a gap that shows.
        near = max(nearest, 3 * apart[len(apart) // 2] if apart else 0.0)
        run, run.until = told[0], told[0].at
        for s in told[1:]:
            if s.at - run.until <= near:
                run.until, run.count, run.text = s.at, run.count + 1, s.who
            else:
                yield run
                run, run.until = s, s.at
        yield run


class _Weights:
    """How much an event matters, by the findings that cite one of its lines."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._cited: dict[str, dict[int, Weight]] = defaultdict(dict)
        for finding in findings:
            weight: Weight = "root" if finding.role == "root" else finding.severity
            for place in finding.evidence:
                lines = self._cited[place.path]
                for line in _lines(place.line, place.end_line):
                    lines[line] = min(weight, lines.get(line, weight), key=WEIGHTS.index)

    def of(self, event: Event) -> Weight:
        cited = self._cited.get(event.path, {})
        found = [cited[line] for line in _lines(event.line, event.end_line) if line in cited]
        if found:
            return min(found, key=WEIGHTS.index)
        return "routine" if event.kind in ROUTINE else "said"


def _lines(first: int, last: int) -> range:
    return range(first, min(max(first, last), first + LONGEST_SPAN) + 1)


def _event(event: Event, clock: Clock, weights: _Weights) -> Said:
    moment = clock.of(event)
    text = next((line for line in (event.message or event.text).split("\n") if line.strip()), "")
    what = f"{event.speaker} {event.kind}"
    return Said(
        at=moment.time if moment else math.nan,
        mark=moment.mark if moment else "",
        lane=_lane(event.rank, event.lane, event.speaker),
        weight=weights.of(event),
        who=what if event.rank is None else f"{what}, rank {event.rank}",
        path=event.path,
        line=event.line,
        text=crop(text[: 4 * WORDS].strip(), WORDS),
    )


def _steps(analysis: Analysis, clock: Clock) -> Iterator[Said]:
    for step in analysis.steps:
        at = step.time
        if at is None or not math.isfinite(at):
            moment = clock.at(step.path, step.line)
            at = moment.time if moment else math.nan
        name = "progress" if step.step is None else f"step {step.step}"
        yield Said(at, "", _lane(step.rank, step.lane, "progress"), "routine", name, step.path, step.line, "")


def _lane(rank: int | None, lane: str | None, speaker: str) -> LaneKey:
    if rank is not None:
        return 0, rank, f"rank {rank}"
    return (1, 0, crop(lane, NAME)) if lane else (2, 0, speaker)
