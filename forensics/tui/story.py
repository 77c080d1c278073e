"""A report as the screen needs it: findings in their order, and who cites which line."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forensics.model import Event, Evidence, Expected, Finding, Report, Source
from forensics.render import words

if TYPE_CHECKING:  # the engine and all parsers are the business of the other process
    from forensics.analyze import Analysis

MOST_SPOKEN = 200_000


@dataclass(frozen=True, slots=True)
class Told:
    """A finding in the order in which the screen shows it; `depth` below the root, None where it stands beside."""

    finding: Finding
    depth: int | None


@dataclass(frozen=True, slots=True)
class Citation:
    """That a finding cites lines `first` to `last` of a source."""

    first: int
    last: int
    finding: Finding


@dataclass(slots=True)
class Story:
    """What one analysis tells, indexed for the screen."""

    analysis: Analysis
    told: list[Told] = field(default_factory=list)
    cited: dict[str, list[Citation]] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    _events: dict[str, list[Event]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, analysis: Analysis) -> Story:
        """Index an analysis."""
        report = analysis.report
        told = [Told(finding, depth) for depth, finding in words.chain(report)]
        linked = {id(one.finding) for one in told}
        beside = [finding for finding in report.findings if id(finding) not in linked]
        # Hazards of the launch ended nothing, so they come last.
        beside.sort(key=lambda finding: finding.role == "note" and finding.id.startswith("launch."))
        told += [Told(finding, None) for finding in beside]
        story = cls(analysis, told)
        cited: dict[str, list[Citation]] = defaultdict(list)
        for one in reversed(told):  # those told first win where several cite a line
            for place in one.finding.evidence:
                if place.line:
                    cited[place.path].append(Citation(place.line, max(place.line, place.end_line), one.finding))
        story.cited = {path: sorted(every, key=lambda c: (c.first, c.last)) for path, every in cited.items()}
        found = {e.rank for e in analysis.events} | {s.rank for s in analysis.steps} | {
            source.rank for source in report.sources
        }  # fmt: skip
        story.ranks = sorted(rank for rank in found if rank is not None)
        for event in analysis.events:
            story._events.setdefault(event.path, []).append(event)
        return story

    @property
    def report(self) -> Report:
        """Return the report."""
        return self.analysis.report

    @property
    def root(self) -> Finding | None:
        """Return the finding to fix first."""
        return self.report.root

    def citation(self, path: str, line: int) -> Citation | None:
        """Return the citation of a line that tells most: the root's, else the most severe."""
        every = self.cited.get(path, [])
        here = [c for c in every[: bisect_right(every, line, key=lambda c: c.first)] if c.last >= line]
        return min(here, key=lambda c: (c.finding.role != "root", _severity(c.finding)), default=None)

    def events_of(self, path: str) -> Sequence[Event]:
        """Return the events of one source."""
        return self._events.get(path, ())

    def speakers(self, path: str) -> Mapping[str, frozenset[int]]:
        """Return which lines of a source the events of each speaker cite."""
        found: dict[str, set[int]] = defaultdict(set)
        for event in self.events_of(path):
            if len(found[event.speaker]) < MOST_SPOKEN:
                found[event.speaker].update(range(event.line, max(event.line, event.end_line) + 1))
        for step in self.analysis.steps:
            if step.path == path:
                found["progress"].add(step.line)
        return {speaker: frozenset(lines) for speaker, lines in found.items() if lines}

    def neighbour(self, finding: Finding | None, by: int) -> Finding | None:
        """Return the next or the previous finding, round and round; the first where none is given."""
        order = [one.finding for one in self.told]
        if not order:
            return None
        ids = [id(f) for f in order]
        if finding is None or id(finding) not in ids:
            return order[0 if by > 0 else -1]
        return order[(ids.index(id(finding)) + by) % len(order)]

    def source(self, path: str) -> Source | None:
        """Return what the report says of a source."""
        return next((source for source in self.report.sources if source.path == path), None)

    def missing(self) -> list[Expected]:
        """Return the promised files that are not there as promised."""
        return words.absent(self.report)

    def place(self, finding: Finding) -> Evidence | None:
        """Return where to look first for a finding."""
        return finding.evidence[0] if finding.evidence else None


def _severity(finding: Finding) -> int:
    return ("error", "warning", "info").index(finding.severity)


def fresh(before: Story | None, after: Story) -> list[Finding]:
    """Return the findings that a new analysis has and the one before it had not."""
    known = {one.finding.id for one in before.told} if before else set()
    return [one.finding for one in after.told if one.finding.id not in known]
