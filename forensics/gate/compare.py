"""A run beside one that was good: slower, worse, or with warnings that the other did not have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from forensics import timeline
from forensics.analyze import Analysis
from forensics.gate.policy import Against
from forensics.gate.require import last_place, loss_at
from forensics.model import Check, Standing, Step

WARM_UP = 3
"""Records at the start that are left out: they compile, tune and fill caches."""


def compare(run: Analysis, good: Analysis, limits: Against) -> Iterator[Check]:
    """Yield the checks `gate.slower`, `gate.worse-loss` and `gate.new-warning`."""
    if limits.slower_percent > 0:
        yield _slower(run, good, limits.slower_percent)
    if limits.worse_loss_percent > 0:
        yield _worse(run, good, limits.worse_loss_percent)
    if limits.new_warnings:
        yield from _new(run, good)


def _slower(run: Analysis, good: Analysis, percent: float) -> Check:
    ours, theirs = _pace(run.steps), _pace(good.steps)
    if ours is None or theirs is None:
        text = "the time of a step cannot be compared: one of the logs has too few times"
        return Check("gate.slower", "unknown", "error", text)
    more = 100 * (ours / theirs - 1)
    standing: Standing = "fail" if more > percent else "pass"
    text = f"a step takes {ours:.3g} s and took {theirs:.3g} s: {more:+.0f} %; limit: +{percent:g} %"
    return Check("gate.slower", standing, "error", text, last_place(run.steps))


def _pace(steps: tuple[Step, ...]) -> float | None:
    durations = timeline.durations([s for s in steps if s.series == "train"])
    typical = median(durations[WARM_UP:]) if len(durations) > WARM_UP else 0.0
    return typical if typical > 0 else None


def _worse(run: Analysis, good: Analysis, percent: float) -> Check:
    """Compare the losses at the last step that both runs reached."""
    reached = [a.report.run.last_step for a in (run, good)]
    at = min(step for step in reached if step is not None) if None not in reached else None
    ours, theirs = loss_at(run.steps, at), loss_at(good.steps, at)
    if ours is None or theirs is None or not math.isfinite(theirs):
        text = "the losses cannot be compared: one of the logs has none"
        return Check("gate.worse-loss", "unknown", "error", text)
    limit = theirs + abs(theirs) * percent / 100
    standing: Standing = "pass" if ours <= limit else "fail"
    where = f"at step {at} " if at is not None else ""
    text = f"{where}the loss is {ours:.4g} and was {theirs:.4g}; limit: +{percent:g} %"
    return Check("gate.worse-loss", standing, "error", text, last_place(run.steps))


def _new(run: Analysis, good: Analysis) -> Iterator[Check]:
    before = {f.id for f in good.report.findings if f.role != "note"}
    for finding in run.report.findings:
        if finding.role != "note" and finding.severity == "warning" and finding.id not in before:
            text = f"the good run did not have this: {finding.title}"
            yield Check("gate.new-warning", "fail", "warning", text, finding.evidence)
