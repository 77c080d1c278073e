"""The report for a person at a terminal: the answer first, then what proves it.

Whatever came out of a file is put into `Text`, never read as markup, and its control
characters are shown instead of obeyed.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from forensics.model import Evidence, Finding, Fix, Report, Source, Value
from forensics.render import facts, words
from forensics.render.cards import Card, cards, drawing
from forensics.render.excerpt import crop, cut, excerpt, shown
from forensics.text.sizes import format_size

NARROWEST = 40
PROSE = 100
"""Columns past which lines of prose are hard to follow; evidence uses the whole width."""

ROOT_PLACES, ROOT_ROWS = 4, 6
OTHER_ROWS = 1
NAME, KIND = 28, 16
MOST_FINDINGS, MOST_SOURCES, MOST_NOTES, MOST_DIFF = 12, 16, 20, 40

COLOURS = {"failed": "red", "degraded": "yellow", "healthy": "green", "unknown": "magenta"}
TONES = {"request": "red", "others": "magenta", "allocated": "blue", "reserved": "yellow", "free": "green"}
SEVERITIES = {"error": "red", "warning": "yellow", "info": "cyan"}


def render(report: Report, width: int = 80, *, color: bool = False, height: int = 0) -> str:
    """Return the report as text for a screen so many columns wide, with ANSI colours or none.

    Where a `height` in rows is given and the report is longer, it ends in a recap, since the
    end is what a screen shows.
    """
    width = max(width, NARROWEST)
    text = _printed(document(report, width), width, color=color)
    if not 0 < height <= text.count("\n"):
        return text
    return text + _printed(Group(*_recap(report, width)), width, color=color)


def _printed(body: RenderableType, width: int, *, color: bool) -> str:
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(body)
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def document(report: Report, width: int) -> Group:
    """Return the report as something rich can print on any console so many columns wide."""
    return Group(*_blocks(report, width))


def _blocks(report: Report, width: int) -> Iterator[RenderableType]:
    quoted: set[Evidence] = set()
    yield from _headline(report, width)
    yield from _evidence(report, width, quoted)
    yield from _memory(report, width)
    yield from _fixes(report, width)
    yield from _chain(report, width, quoted)
    yield from _facts(report)
    yield from _absent(report, width, quoted)
    yield from _beside(report, width, quoted)
    yield from _sources(report, width)
    yield from _notes(report)


def _headline(report: Report, width: int) -> Iterator[RenderableType]:
    root = report.root
    yield _verdict(report)
    if root is not None:
        yield _prose(words.about(report, root), style=COLOURS[report.verdict])
    if came := words.progress(report):
        yield _prose(came, style="dim")
    if root is not None and (product := facts.arithmetic(root)):
        yield _prose(product, style="bold")
    told = facts.explanation(root, 3) if root is not None else ""
    for text in (words.why(report), told):
        if text:
            yield Text()
            yield _prose(text, width=width)


def _verdict(report: Report) -> Text:
    line = Text.assemble((report.verdict.upper(), f"bold {COLOURS[report.verdict]}"), "  ")
    if report.root is not None:
        return line.append(shown(report.root.title), style="bold")
    return line.append(shown(words.name(report.run)))


def _recap(report: Report, width: int) -> Iterator[RenderableType]:
    """Yield the answer once more, in three rows."""
    root = report.root
    line = _verdict(report)
    line.truncate(width, overflow="ellipsis")
    yield Group(Text("─" * min(width, PROSE), style="dim"), line)
    if root is None:
        if why := words.why(report):
            yield Text(crop(shown(why), width), no_wrap=True)
        return
    where = f"{root.id} · {words.place(root.evidence[0])}"
    yield Text(cut(shown(where), width), style="cyan", no_wrap=True)
    if root.fixes:
        yield Text(crop(shown(f"Fix: {root.fixes[0].title}"), width), style="green", no_wrap=True)


def _evidence(report: Report, width: int, quoted: set[Evidence]) -> Iterator[RenderableType]:
    root = report.root
    if root is None:
        return
    yield _heading("Evidence")
    raised = facts.raised_at(report)
    for evidence in root.evidence[:ROOT_PLACES]:
        yield _place(evidence, 2)
        yield from _quote(evidence, width, ROOT_ROWS, 2, facts.deciding(report, evidence))
        quoted.add(evidence)
        if evidence in raised:
            yield _prose(raised[evidence], indent=2, style="dim")
    if (left := len(root.evidence) - ROOT_PLACES) and left > 0:
        yield _prose(f"… and {words.count(left, 'more place')}; --format json lists them all", style="dim")


def _memory(report: Report, width: int) -> Iterator[RenderableType]:
    """Draw the request of the failure beside its card, where the message told of both."""
    drawn = next((card for card in cards(report) if card.parts and card.finding in _failure(report)), None)
    if drawn is None:
        return
    yield _heading("Memory")
    yield from memory(drawn, width)


def memory(card: Card, width: int) -> Iterator[RenderableType]:
    """Yield the drawing of a request beside its card, with the reason why it was refused."""
    yield _prose(card.verdict, indent=2)
    for row in drawing(card, min(width, PROSE) - 2):
        line = Text("  ")
        for text, tone in row:
            line.append(text, style=TONES.get(tone, ""))
        yield line


def _failure(report: Report) -> list[Finding]:
    return [finding for _, finding in words.chain(report)]


def _chain(report: Report, width: int, quoted: set[Evidence]) -> Iterator[RenderableType]:
    followed = [(depth, finding) for depth, finding in words.chain(report) if depth]
    if not followed or report.root is None:
        return
    yield _heading(words.followed(report))
    told = facts.headline(report)
    for depth, finding in followed[:MOST_FINDINGS]:
        yield from _finding(report, finding, width, 2 * min(depth, 6), "→", quoted, told)
    yield from _left_out(len(followed) - MOST_FINDINGS, "findings")


def _beside(report: Report, width: int, quoted: set[Evidence]) -> Iterator[RenderableType]:
    others = words.beside(report)
    if hazards := words.hazards(report):
        yield Text()
        yield _prose(hazards)
    if not others:
        return
    yield _heading("Also seen" if report.root is not None else "Seen")
    for finding in others[:MOST_FINDINGS]:
        yield from _finding(report, finding, width, 2, "•", quoted)
    yield from _left_out(len(others) - MOST_FINDINGS, "findings")


def _finding(
    report: Report,
    finding: Finding,
    width: int,
    indent: int,
    mark: str,
    quoted: set[Evidence],
    told: dict[str, Value] | None = None,
) -> Iterator[RenderableType]:
    line = Text.assemble((shown(finding.id), SEVERITIES[finding.severity]), "  ", shown(finding.title))
    for aside in (words.ranks(finding.ranks), facts.standing(finding)):
        if aside:
            line.append(f"  ({aside})", style="dim")
    table = Table.grid(padding=(0, 1))
    table.add_row(mark, line)
    yield Padding(table, (0, 0, 0, indent))
    if product := facts.arithmetic(finding):
        yield _prose(product, style="bold", indent=indent + 2)
    if told is not None and (some := facts.telling(finding, told)):
        yield _prose(some, style="dim", indent=indent + 2)
    for evidence in finding.evidence[:1]:
        yield _place(evidence, indent + 2)
        if evidence not in quoted:
            yield from _quote(evidence, width, OTHER_ROWS, indent + 2, facts.deciding(report, evidence))
            quoted.add(evidence)


def _facts(report: Report) -> Iterator[RenderableType]:
    rows = list(facts.table(report))
    if not rows:
        return
    yield _heading("Facts")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text("  " + cut(shown(name), NAME)), Text(shown(value), style="cyan"))
    yield table


def _fixes(report: Report, width: int) -> Iterator[RenderableType]:
    root = report.root
    fixes = root.fixes if root is not None else ()
    if fixes:
        yield _heading("Fix")
    for fix in fixes:
        yield from _fix(fix, width)
    if root is not None or report.verdict in ("failed", "degraded"):
        if not fixes:
            yield Text()
        yield _prose(words.RESTARTS[report.restart_helps], style="bold", indent=2 if fixes else 0)


def _fix(fix: Fix, width: int) -> Iterator[RenderableType]:
    line = Text.assemble((shown(fix.title), "green"))
    if fix.safe:
        line.append("  (safe to apply)", style="dim")
    yield Padding(line, (0, 0, 0, 2))
    if fix.detail:
        yield _prose(fix.detail, indent=4)
    for kind, text in words.changes(fix):
        yield Padding(Text.assemble((f"{kind:<13}", "dim"), (shown(text), "green")), (0, 0, 0, 4))
    diff = fix.script.splitlines()
    for row in diff[:MOST_DIFF]:
        style = "green" if row.startswith("+") else "red" if row.startswith("-") else "dim"
        yield Text("    " + cut(shown(row), width - 4), style=style, no_wrap=True)
    yield from _left_out(len(diff) - MOST_DIFF, "lines of the change")


def _absent(report: Report, width: int, quoted: set[Evidence]) -> Iterator[RenderableType]:
    gone = words.absent(report)
    if not gone:
        return
    yield _heading("Promised, but not there")
    for expected in gone:
        line = Text.assemble((shown(expected.path), "bold"), f"  {expected.state}; ")
        line.append(shown(words.promise(expected)))
        yield Padding(line, (0, 0, 0, 2))
        if expected.promised_by not in quoted:
            yield from _quote(expected.promised_by, width, OTHER_ROWS, 2, (expected.path,))
            quoted.add(expected.promised_by)


def _sources(report: Report, width: int) -> Iterator[RenderableType]:
    if not report.sources:
        return
    # Why: with hundreds of rank logs, the ones that are not whole are worth the room.
    odd = [source for source in report.sources if not words.is_whole(source)]
    line = Text(f"Read in {cut(shown(words.name(report.run)), width // 2)}: ", style="bold")
    yield Group(Text(), line.append(words.reading(report.sources), style="not bold"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    for source in odd[:MOST_SOURCES]:
        table.add_row(*_source(source, width))
    if odd:
        yield table
    yield from _left_out(len(odd) - MOST_SOURCES, "files")


def _source(source: Source, width: int) -> Iterator[Text]:
    yield Text("  " + cut(shown(words.path(source.path)), max(16, width * 2 // 5)))
    yield Text(cut(shown(source.kind), KIND), style="dim")
    yield Text(format_size(source.bytes))
    yield Text(words.count(source.lines, "line") if source.lines else "")
    yield Text(shown(words.condition(source)), style="yellow")


def _notes(report: Report) -> Iterator[RenderableType]:
    notes = words.notes(report)
    if not notes:
        return
    yield _heading("Notes")
    for note in notes[:MOST_NOTES]:
        yield _prose(f"• {note}", indent=2)
    yield from _left_out(len(notes) - MOST_NOTES, "notes")


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _place(evidence: Evidence, indent: int) -> RenderableType:
    line = Text(shown(words.place(evidence)), style="bold cyan")
    if evidence.end_line > evidence.line > 0:
        line.append(f" to {evidence.end_line}", style="dim")
    return Padding(line, (0, 0, 0, indent))


def _quote(
    evidence: Evidence, width: int, rows: int, indent: int, deciding: tuple[str, ...]
) -> Iterator[RenderableType]:
    for row in excerpt(evidence.text, width - indent - 2, rows, deciding):
        line = Text(" " * indent, no_wrap=True, overflow="ellipsis")
        yield line.append("│ ", style="dim").append(row)


def _prose(text: str, *, style: str = "", indent: int = 0, width: int = PROSE) -> RenderableType:
    return Padding(Text(shown(text), style=style), (0, max(0, width - PROSE), 0, indent))


def _left_out(count: int, what: str) -> Iterable[RenderableType]:
    return [Text(f"  … and {count} more {what}; --format json lists them all", style="dim")] if count > 0 else []
