"""The attempts of a folder as a story: what each was, how it ended and why, and what was changed for the next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forensics.analyze import examine
from forensics.model import Report
from forensics.supervise import journal

MOST_READ = 20
"""Attempts whose evidence is analysed, the newest; of older ones the journal alone tells."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """One attempt: its record, and the report on its evidence where it was read."""

    attempt: journal.Attempt
    report: Report | None
    running: bool

    @property
    def seconds(self) -> float | None:
        """How long it ran."""
        began = journal.seconds(self.attempt.record.get("started"))
        ended = journal.seconds(self.attempt.record.get("ended"))
        return ended - began if began is not None and ended is not None else None


def story(folder: Path) -> list[Chapter]:
    """Return the attempts of a folder in their order."""
    attempts = journal.attempts(folder)
    first = len(attempts) - MOST_READ
    return [
        Chapter(
            attempt,
            examine([str(attempt.folder)]).report if at >= first else None,
            journal.still_runs(attempt.record),
        )
        for at, attempt in enumerate(attempts)
    ]


def tell(chapters: Sequence[Chapter]) -> list[str]:
    """Return the story in lines."""
    lines: list[str] = []
    for chapter in chapters:
        lines += _chapter(chapter)
    if chapters:
        lines += ["", _moral(chapters)]
    return lines


def as_data(chapters: Sequence[Chapter]) -> list[dict[str, object]]:
    """Return the story for a program."""
    return [
        {
            "attempt": c.attempt.number,
            "path": str(c.attempt.folder),
            "status": "running" if c.running else c.attempt.status,
            "started": c.attempt.record.get("started"),
            "ended": c.attempt.record.get("ended"),
            "exit_code": c.attempt.exit_code,
            "signal": c.attempt.record.get("signal"),
            "verdict": c.report.verdict if c.report else None,
            "root": c.report.root.id if c.report and c.report.root else None,
            "last_step": c.report.run.last_step if c.report else None,
            "relaunch": c.attempt.record.get("relaunch"),
        }
        for c in chapters
    ]


def _chapter(chapter: Chapter) -> list[str]:
    record = chapter.attempt.record
    lines = [f"Attempt {chapter.attempt.number}, {_when(record.get('started'))}"]
    relaunch = record.get("relaunch")
    if isinstance(relaunch, dict):
        lines += _because(relaunch)
    else:
        lines.append(f"  ran {shlex.join(map(str, record.get('command', [])))}")
    lines.append(f"  {_end(chapter)}")
    if chapter.report is not None and not chapter.running:
        root = chapter.report.root
        place = root.evidence[0] if root else None
        why = f"{root.id}: {root.title}" if root else chapter.report.reason
        where = f" ({place.path}:{place.line})" if place else ""
        lines.append(f"  {chapter.report.verdict}: {why}{where}")
    lines += [f"  {note}" for note in record.get("notes", ())]
    return lines


def _because(relaunch: dict[str, object]) -> list[str]:
    lines = [f"  after attempt {relaunch.get('after')} ended by {relaunch.get('cause') or 'a cause that is not known'}"]
    changes = relaunch.get("changes")
    for change in changes if isinstance(changes, list) else []:
        before = f" (was {change.get('before')})" if change.get("before") else ""
        lines.append(f"  changed {change.get('name')} to {change.get('after')}{before}: {change.get('reason')}")
    if not changes:
        lines.append("  nothing was changed")
    if relaunch.get("checkpoint"):
        step = relaunch.get("checkpoint_step")
        lines.append(f"  went on from {relaunch['checkpoint']}" + (f", step {step}" if step is not None else ""))
    return lines


def _end(chapter: Chapter) -> str:
    record = chapter.attempt.record
    run = chapter.report.run if chapter.report else None
    reached = f", step {run.last_step}" if run and run.last_step is not None else ""
    reached += f" of {run.total_steps}" if reached and run and run.total_steps else ""
    if chapter.running:
        return f"is running{reached}"
    length = f" after {_span(chapter.seconds)}" if chapter.seconds is not None else ""
    match chapter.attempt.status:
        case "exited" if record.get("signal"):
            return f"was killed by signal {record['signal']}{length}{reached}"
        case "exited":
            return f"ended with status {chapter.attempt.exit_code}{length}{reached}"
        case "not-started":
            return f"could not be started: {record.get('error')}"
        case _:
            return f"ended, nobody knows with which status{length}{reached}"


def _moral(chapters: Sequence[Chapter]) -> str:
    last = chapters[-1]
    count = f"{len(chapters)} attempts" if len(chapters) > 1 else "1 attempt"
    if last.running:
        return f"{count}; the last one is running."
    verdict = last.report.verdict if last.report else "not read"
    return f"{count}; the last one: {verdict}."


def _when(time: object) -> str:
    return str(time or "(no time recorded)").partition(".")[0].replace("T", " ")


def _span(seconds: float | None) -> str:
    whole = round(seconds or 0)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
