"""The attempts of a run, and what each left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from forensics.model import Evidence
from forensics.render import words
from forensics.text.sizes import format_size
from forensics.tui.attempts import Attempt
from forensics.tui.palette import SEVERITY_SIGNS, STATE_SIGNS
from forensics.tui.plain import joined, plain
from forensics.tui.widgets.findings import TONES
from forensics.tui.widgets.pane import Link, Pane

MOST_LOGS = 20


class History(Pane):
    """One block an attempt, the last one first."""

    def __init__(self) -> None:
        super().__init__(id="attempts")

    def compose(self) -> ComposeResult:
        """Say that there is nothing yet."""
        yield Static("the analysis is not there yet", markup=False)

    async def tell(self, attempts: Sequence[Attempt]) -> None:
        """Show what an analysis knows."""
        parts = [part for attempt in attempts for part in _attempt(attempt, len(attempts))]
        async with self.batch():
            await self.remove_children()
            await self.mount_all(parts or [Static("no log was found", markup=False)])


def _attempt(attempt: Attempt, count: int) -> Iterator[Widget]:
    name = f"Attempt {attempt.number} of {count}" + (", the one in question" if attempt.current else "")
    title = joined(plain(name, "bold"), plain(f"  {attempt.when}" if attempt.logs else "", "$quiet"))
    yield Static(title, markup=False, classes="heading")
    if not attempt.logs:
        yield Static(plain("it left no log", "$error"), markup=False, classes="indented")
    for source in attempt.logs[:MOST_LOGS]:
        sign = STATE_SIGNS["skipped" if source.read == "skipped" else source.state]
        size = words.count(source.lines, "line") if source.lines else format_size(source.bytes)
        row = joined(
            plain(f"{sign} {words.path(source.path)}"), plain(f"  {size}, {words.condition(source)}", "$quiet")
        )
        yield Link(row, Evidence(source.path, 1, 1, ""))
    if len(attempt.logs) > MOST_LOGS:
        yield Static(f"… and {len(attempt.logs) - MOST_LOGS} more", markup=False, classes="indented")
    for finding in attempt.findings:
        mark = plain(
            f"{SEVERITY_SIGNS['root' if finding.role == 'root' else finding.severity]} ", TONES[finding.severity]
        )
        yield Link(joined(mark, plain(f"{finding.id}  {finding.title}")), finding)
