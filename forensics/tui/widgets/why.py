"""The explanation: why it happened, what to change, what proves it, and the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from forensics.model import Finding, Fix, Report
from forensics.render import facts, words
from forensics.render.excerpt import excerpt
from forensics.tui.plain import joined, plain
from forensics.tui.widgets.findings import TONES
from forensics.tui.widgets.pane import Link, Pane

PROSE = 100
MOST_DIFF = 60
MOST_PLACES = 12
QUOTED = 160


class Why(Pane):
    """All that is known of one finding, or of a run that has none."""

    def __init__(self) -> None:
        super().__init__(id="why")
        self.finding: Finding | None = None
        self.report: Report | None = None

    async def tell(self, report: Report, finding: Finding | None) -> None:
        """Explain a finding, or the verdict where there is none."""
        self.finding, self.report = finding, report
        parts = list(_about(report, finding) if finding is not None else _verdict(report))
        async with self.batch():
            await self.remove_children()
            await self.mount_all(parts)
        self.scroll_home(animate=False)

    @property
    def advice(self) -> str:
        """Return what to copy: the changes of the fixes, else their words."""
        fixes = self.finding.fixes if self.finding is not None else ()
        changes = [fix.script or "\n".join(text for _, text in words.changes(fix)) for fix in fixes]
        told = [text for text in changes if text]
        return "\n".join(told or [f"{fix.title}\n{fix.detail}".strip() for fix in fixes])


def _about(report: Report, finding: Finding) -> Iterator[Widget]:
    if finding is not report.root:  # that one stands at the top of the screen
        yield _line(plain(finding.title, f"bold {TONES[finding.severity]}"))
    role = "" if finding.role == "note" else finding.role
    yield _line(plain(" · ".join(filter(None, (role, words.about(report, finding)))), "$quiet"))
    if product := facts.arithmetic(finding):
        yield _line(plain(product, "bold"), "arithmetic")
    if finding is report.root and (why := words.why(report)):
        yield _line(plain(why), "prose")
    for text in (facts.standing(finding), facts.explanation(finding, 40)):
        if text:
            yield _line(plain(text), "prose")
    yield from _missing(report, finding)
    if finding.fixes:
        yield _heading("Fix")
        for fix in finding.fixes:
            yield from _fix(fix)
    if finding.role == "root":
        yield _line(plain(words.RESTARTS[report.restart_helps], "bold"), "indented")
    yield from _evidence(report, finding)
    yield from _facts(report, finding)
    yield from _chain(report, finding)


def _verdict(report: Report) -> Iterator[Widget]:
    yield _line(plain(f"{report.verdict}: {words.name(report.run)}", "bold"))
    if why := words.why(report) or report.reason:
        yield _line(plain(why), "prose")
    if came := words.progress(report):
        yield _line(plain(came, "$quiet"))
    yield from _missing(report, None)
    if report.sources:
        yield _line(plain(words.reading(report.sources), "$quiet"))
    yield from _notes(report)


def _missing(report: Report, finding: Finding | None) -> Iterator[Widget]:
    gone = words.absent(report)
    if not gone or (finding is not None and finding is not report.root):
        return
    yield _heading("Promised, but not there")
    for expected in gone:
        text = joined(plain(expected.path, "bold"), plain(f"  {expected.state}; {words.promise(expected)}"))
        yield Link(text, expected.promised_by)


def _fix(fix: Fix) -> Iterator[Widget]:
    safe = plain("  (safe to apply)" if fix.safe else "", "$quiet")
    yield _line(joined(plain(fix.title, "$success"), safe), "indented")
    if fix.detail:
        yield _line(plain(fix.detail), "detail")
    for kind, text in words.changes(fix):
        yield _line(joined(plain(f"{kind:<13}", "$quiet"), plain(text, "$success")), "detail")
    diff = fix.script.splitlines()
    rows = [plain(row, _diff_tone(row)) for row in diff[:MOST_DIFF]]
    if len(diff) > MOST_DIFF:
        rows.append(plain(f"… and {len(diff) - MOST_DIFF} more lines", "$quiet"))
    if rows:
        yield _line(Content("\n").join(rows), "diff")


def _diff_tone(row: str) -> str:
    return "$success" if row.startswith("+") else "$error" if row.startswith("-") else "$quiet"


def _evidence(report: Report, finding: Finding) -> Iterator[Widget]:
    yield _heading("Evidence")
    raised = facts.raised_at(report)
    for place in finding.evidence[:MOST_PLACES]:
        rows = excerpt(place.text, QUOTED, 1, facts.deciding(report, place))
        where = plain(
            words.place(place) + (f" to {place.end_line}" if place.end_line > place.line > 0 else ""), "$primary"
        )
        text = joined(where, plain(f"  {rows[0]}" if rows else ""))
        yield Link(text, place)
        if place in raised:
            yield _line(plain(raised[place], "$quiet"), "detail")
    if len(finding.evidence) > MOST_PLACES:
        yield _line(plain(f"… and {len(finding.evidence) - MOST_PLACES} more places", "$quiet"), "indented")


def _facts(report: Report, finding: Finding) -> Iterator[Widget]:
    rows = [(name, words.fact(name, value)) for name, value in finding.facts.items()]
    if finding is report.root:
        rows = list(facts.table(report))
    if not rows:
        return
    yield _heading("Facts")
    width = min(28, max(len(name) for name, _ in rows))
    yield _line(
        Content("\n").join(joined(plain(f"{name[:28]:<{width}}  ", "$quiet"), plain(value)) for name, value in rows),
        "indented",
    )


def _chain(report: Report, finding: Finding) -> Iterator[Widget]:
    by_id = {other.id: other for other in report.findings}
    causes = [by_id[name] for name in finding.because if name in by_id]
    results = [other for other in report.findings if finding.id in other.because]
    heading = words.followed(report) if finding is report.root else "What followed from it"
    for title, others in (("Because of", causes), (heading, results)):
        if others:
            yield _heading(title)
        for other in others:
            text = joined(plain(f"→ {other.id}", TONES[other.severity]), plain(f"  {other.title}"))
            yield Link(text, other)


def _notes(report: Report) -> Iterator[Widget]:
    notes = words.notes(report)
    if notes:
        yield _heading("Notes")
        yield _line(Content("\n").join(plain(f"• {note}") for note in notes[:20]), "indented")


def _heading(text: str) -> Widget:
    return _line(plain(text, "bold"), "heading")


def _line(content: Content, kind: str = "") -> Widget:
    return Static(content, markup=False, classes=kind)
