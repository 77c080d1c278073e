"""The tries of a run, last one first: their logs, when they ran, and what was found in each."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.model import Finding, Report, Source
from forensics.render import facts
from forensics.render.moments import iso, span

LOGS = frozenset({"training-log", "slurm-log", "tmux-capture", "transcript"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try. `number` counts from 1, the oldest."""

    number: int
    current: bool
    logs: tuple[Source, ...]
    findings: tuple[Finding, ...]

    @property
    def when(self) -> str:
        """Return when it ran and for how long, as far as its logs tell."""
        starts = [source.started for source in self.logs if source.started is not None]
        ends = [source.ended for source in self.logs if source.ended is not None]
        if not starts or not ends:
            return "no log of it tells a time"
        began, ended = min(starts), max(ends)
        lasted = f", {span(ended - began)}" if ended > began else ""
        return f"{iso(int(began))}{lasted}"


def attempts(report: Report) -> list[Attempt]:
    """Return the tries, the last one first. Findings belong to the try of the first source that they cite."""
    before = earlier(report)
    last = max((source.attempt for source in report.sources), default=0)
    # A log of an earlier try that stands beside the last one comes right before it.
    order = {source.path: (source.attempt, source.path not in before) for source in report.sources}
    logs = [source for source in report.sources if source.kind in LOGS]
    keys = sorted({order[source.path] for source in logs} | {(last, True)})
    made = []
    for key in reversed(keys):
        findings = tuple(
            finding
            for finding in report.findings
            if not finding.id.startswith("launch.") and order.get(finding.evidence[0].path) == key
        )
        own = tuple(source for source in logs if order[source.path] == key)
        made.append(Attempt(keys.index(key) + 1, key == (last, True), own, findings))
    return made


def earlier(report: Report) -> set[str]:
    """Return the paths of what an earlier try left."""
    last = max((source.attempt for source in report.sources), default=0)
    cited = {f.evidence[0].path for f in report.findings if facts.standing(f) == "earlier attempt"}
    return cited | {source.path for source in report.sources if source.attempt < last}
