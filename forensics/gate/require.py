"""Outcomes that a policy asks for, whatever the status of the run was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from forensics.analyze import Analysis
from forensics.gate.policy import Require
from forensics.model import Check, Evidence, Standing, Step

LAST = 5
"""Records whose median is the loss at a time: one batch says little."""
NEARLY = 0.95
"""Share of the planned steps from which on the last record may simply have come before the end."""


def requirements(analysis: Analysis, wanted: Require) -> Iterator[Check]:
    """Yield a check for each outcome asked for; where the run's end is not known, a miss is `unknown`."""
    for check in _requirements(analysis, wanted):
        missed = check.standing == "fail" and analysis.report.verdict == "unknown"
        yield replace(check, standing="unknown") if missed else check


def _requirements(analysis: Analysis, wanted: Require) -> Iterator[Check]:
    run, place = analysis.report.run, last_place(analysis.steps)
    if wanted.min_last_step is not None:
        yield _step(run.last_step, wanted.min_last_step, place)
    yield from _total(analysis, wanted, place)
    if wanted.final_loss_below is not None:
        yield _loss(loss_at(analysis.steps), wanted.final_loss_below, place)
    if wanted.checkpoint:
        kept = [s.path for s in analysis.report.sources if s.kind == "checkpoint"]
        at = run.last_checkpoint_step
        said = f"a checkpoint of step {at} was written" if at is not None else f"{kept[0]} is there" if kept else ""
        text = said or "no checkpoint was written, as far as the files tell"
        yield Check("gate.checkpoint", "pass" if said else "fail", "error", text, () if said else place)


def _step(last: int | None, least: int, place: tuple[Evidence, ...]) -> Check:
    if last is None:
        return Check("gate.min-last-step", "unknown", "error", f"no step was seen, and {least} are asked for")
    standing: Standing = "pass" if last >= least else "fail"
    return Check("gate.min-last-step", standing, "error", f"step {last} was reached; asked for: {least}", place)


def _total(analysis: Analysis, wanted: Require, place: tuple[Evidence, ...]) -> Iterator[Check]:
    """Compare with the planned steps; asked for by itself, unless somebody said that training had ended."""
    asked = wanted.total_steps
    last, total = analysis.report.run.last_step, analysis.report.run.total_steps
    excused = analysis.finished or analysis.report.verdict == "failed"
    if asked is False or (asked is None and (excused or last is None or total is None)):
        return
    if last is None or total is None:
        yield Check("gate.total-steps", "unknown", "error", "the log does not tell how many steps were planned")
        return
    near = last >= total * NEARLY if asked is None else last + 1 >= total
    standing: Standing = "pass" if analysis.reached_total or near else "fail"
    yield Check("gate.total-steps", standing, "error", f"step {last} of {total} was reached", place)


def _loss(loss: float | None, limit: float, place: tuple[Evidence, ...]) -> Check:
    if loss is None:
        return Check("gate.final-loss-below", "unknown", "error", f"no loss was seen; asked for: below {limit:g}")
    standing: Standing = "pass" if loss < limit else "fail"
    return Check("gate.final-loss-below", standing, "error", f"the final loss is {loss:.4g}; limit: {limit:g}", place)


def loss_at(steps: Sequence[Step], step: int | None = None) -> float | None:
    """Return the loss at the end of training, or at a step: the median of the last records until then.

    NaN where the very last of them is no number; None where no loss was printed.
    """
    known = [s for s in steps if s.series == "train" and s.loss is not None]
    if step is not None:
        known = [s for s in known if s.step is not None and s.step <= step]
    losses = [s.loss for s in known[-LAST:] if s.loss is not None]
    if not losses:
        return None
    return median(losses) if math.isfinite(losses[-1]) else math.nan


def last_place(steps: Sequence[Step]) -> tuple[Evidence, ...]:
    """Return where the last record of training stands, which is what a missed outcome cites."""
    last = next((s for s in reversed(steps) if s.series == "train"), None)
    return (Evidence(last.path, last.line, last.line, "", last.column),) if last is not None else ()
