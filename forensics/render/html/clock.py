"""When something was said: by its own time, or about when, by the times around it in the same file."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict

from msgspec import Struct

from forensics.analyze import Analysis
from forensics.model import Event, Finding, Step


class Moment(Struct, frozen=True):
    """Seconds since the epoch (UTC).

    `mark` is empty where the line itself names its time, `≈` where the lines on both sides of it
    do, `≥` or `≤` where only those before or those after it do.
    """

    time: float
    mark: str = ""


class Clock:
    """Places lines in time. A line without a time lies evenly between its nearest neighbours that have one."""

    def __init__(self, analysis: Analysis) -> None:
        times: dict[str, dict[int, float]] = defaultdict(dict)
        every: tuple[Event | Step, ...] = (*analysis.events, *analysis.steps)
        for said in every:
            if said.time is not None and math.isfinite(said.time) and said.line:
                times[said.path].setdefault(said.line, said.time)
        self._lines = {path: sorted(known) for path, known in times.items()}
        self._times = {path: [times[path][line] for line in lines] for path, lines in self._lines.items()}
        self._sources = {source.path: source for source in analysis.report.sources}

    def at(self, path: str, line: int) -> Moment | None:
        """Return when a line was written, as far as anything tells."""
        if not line:
            return None
        lines, times = self._lines.get(path), self._times.get(path)
        if not lines or not times:
            return self._within(path, line)
        low = bisect_right(lines, line) - 1
        if low >= 0 and lines[low] == line:
            return Moment(times[low])
        if low < 0:
            return Moment(times[0], "≤")
        if low + 1 < len(lines):
            return _between(line, (lines[low], times[low]), (lines[low + 1], times[low + 1]))
        source = self._sources.get(path)
        # Lines that are no events have times too: the source knows the last of them, if not where it stands.
        if source is None or source.ended is None or not times[low] < source.ended or line >= source.lines:
            latest = times[low] if source is None or source.ended is None else max(times[low], source.ended)
            return Moment(latest, "≥")
        return _between(line, (lines[low], times[low]), (source.lines, source.ended))

    def _within(self, path: str, line: int) -> Moment | None:
        source = self._sources.get(path)
        if source is None or source.started is None or source.ended is None:
            return None
        return _between(line, (1, source.started), (max(2, source.lines), source.ended))

    def of(self, event: Event) -> Moment | None:
        """Return when an event happened, as far as anything tells."""
        if event.time is not None and math.isfinite(event.time):
            return Moment(event.time)
        return self.at(event.path, event.line)

    def when(self, finding: Finding) -> Moment | None:
        """Return when a finding struck: by its own time, else by the last of its places that has one."""
        if finding.time is not None and math.isfinite(finding.time):
            return Moment(finding.time)
        placed = [moment for place in finding.evidence if (moment := self.at(place.path, place.line)) is not None]
        return max(placed, key=lambda moment: (moment.time, moment.mark), default=None)


def _between(line: int, before: tuple[int, float], after: tuple[int, float]) -> Moment:
    """Return a time that lies as evenly between two others as its line does."""
    share = min(1.0, (line - before[0]) / (after[0] - before[0]))
    return Moment(before[1] + share * max(0.0, after[1] - before[1]), "≈")
