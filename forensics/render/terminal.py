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

from forensics.model import Evidence, Finding, Fix, Report, Source
from forensics.render import words
from forensics.render.excerpt import cut, excerpt, shown
from forensics.text.sizes import format_size

NARROWEST = 40
PROSE = 100
"""Columns past which lines of prose are hard to follow; evidence uses the whole width."""

ROOT_PLACES, ROOT_ROWS = 4, 6
OTHER_ROWS = 1
NAME, KIND = 28, 16
MOST_FINDINGS, MOST_SOURCES, MOST_NOTES, MOST_DIFF = 12, 16, 20, 40

COLOURS = {"failed": "red", "degraded": "yellow", "healthy": "green", "unknown": "magenta"}
SEVERITIES = {"error": "red", "warning": "yellow", "info": "cyan"}


def render(report: Report, width: int = 80, *, color: bool = False) -> str:
    """Return the report as text for a screen so many columns wide, with ANSI colours or none."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=max(width, NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(document(report, console.width))
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def document(report: Report, width: int) -> Group:
    """Return the report as something rich can print on any console so many columns wide."""
    return Group(*_blocks(report, width))


def _blocks(report: Report, width: int) -> Iterator[RenderableType]:
    yield from _headline(report, width)
    if report.root is not None:
        yield from _evidence(report.root, width)
    yield from _chain(report, width)
    yield from _facts(report)
    yield from _fixes(report, width)
    yield from _absent(report, width)
    yield from _beside(report, width)
    yield from _sources(report, width)
    yield from _notes(report)


def _headline(report: Report, width: int) -> Iterator[RenderableType]:
    colour = COLOURS[report.verdict]
    root = report.root
    line = Text.assemble((report.verdict.upper(), f"bold {colour}"), "  ")
    if root is not None:
        line.append(shown(root.title), style="bold")
        yield line
        yield _prose(words.about(root), style=colour)
    else:
        line.append(shown(words.name(report.run)))
        yield line
    if came := words.progress(report.run):
        yield _prose(came, style="dim")
    told = words.sentences(root.explanation, 3) if root is not None else ""
    for text in (words.why(report), told):
        if text:
            yield Text()
            yield _prose(text, width=width)


def _evidence(root: Finding, width: int) -> Iterator[RenderableType]:
    yield _heading("Evidence")
    for evidence in root.evidence[:ROOT_PLACES]:
        yield _place(evidence, 2)
        yield from _quote(evidence, width, ROOT_ROWS, 2)
    if (left := len(root.evidence) - ROOT_PLACES) and left > 0:
        yield _prose(f"… and {left} more places; --format json lists them all", style="dim")


def _chain(report: Report, width: int) -> Iterator[RenderableType]:
    followed = [(depth, finding) for depth, finding in words.chain(report) if depth]
    if not followed:
        return
    yield _heading("What followed from it")
    quoted = set(report.root.evidence[:ROOT_PLACES]) if report.root is not None else set()
    for depth, finding in followed[:MOST_FINDINGS]:
        yield from _finding(finding, width, 2 * min(depth, 6), "→", quoted)
    yield from _left_out(len(followed) - MOST_FINDINGS, "findings")


def _beside(report: Report, width: int) -> Iterator[RenderableType]:
    others = words.beside(report)
    if not others:
        return
    yield _heading("Also seen" if report.root is not None else "Seen")
    for finding in others[:MOST_FINDINGS]:
        yield from _finding(finding, width, 2, "•", set())
    yield from _left_out(len(others) - MOST_FINDINGS, "findings")


def _finding(finding: Finding, width: int, indent: int, mark: str, quoted: set[Evidence]) -> Iterator[RenderableType]:
    line = Text.assemble((shown(finding.id), SEVERITIES[finding.severity]), "  ", shown(finding.title))
    if who := words.ranks(finding.ranks):
        line.append(f"  ({who})", style="dim")
    table = Table.grid(padding=(0, 1))
    table.add_row(mark, line)
    yield Padding(table, (0, 0, 0, indent))
    for evidence in finding.evidence[:1]:
        yield _place(evidence, indent + 2)
        if evidence not in quoted:
            yield from _quote(evidence, width, OTHER_ROWS, indent + 2)
            quoted.add(evidence)


def _facts(report: Report) -> Iterator[RenderableType]:
    facts = words.facts(report)
    if not facts:
        return
    yield _heading("Facts")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(Text("  " + cut(shown(name), NAME)), Text(shown(words.fact(name, value)), style="cyan"))
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


def _absent(report: Report, width: int) -> Iterator[RenderableType]:
    gone = words.absent(report)
    if not gone:
        return
    yield _heading("Promised, but not there")
    for expected in gone:
        line = Text.assemble((shown(expected.path), "bold"), f"  {expected.state}; ")
        line.append(shown(words.promise(expected)))
        yield Padding(line, (0, 0, 0, 2))
        yield from _quote(expected.promised_by, width, OTHER_ROWS, 2)


def _sources(report: Report, width: int) -> Iterator[RenderableType]:
    if not report.sources:
        return
    yield _heading(cut(f"Read in {shown(words.name(report.run))}", width))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    # Why: with hundreds of rank logs, the ones that are not whole are worth the room.
    order = sorted(report.sources, key=lambda source: source.state == "whole" and source.read == "all")
    shown_sources = report.sources if len(order) <= MOST_SOURCES else order[:MOST_SOURCES]
    for source in shown_sources:
        table.add_row(*_source(source, width))
    yield table
    yield from _left_out(len(order) - MOST_SOURCES, "files")


def _source(source: Source, width: int) -> Iterator[Text]:
    whole = source.state == "whole" and source.read == "all"
    yield Text("  " + cut(shown(source.path), max(16, width * 2 // 5)))
    yield Text(cut(shown(source.kind), KIND), style="dim")
    yield Text(format_size(source.bytes))
    yield Text(words.count(source.lines, "line") if source.lines else "")
    yield Text(shown(words.condition(source)), style="dim" if whole else "yellow")


def _notes(report: Report) -> Iterator[RenderableType]:
    if not report.notes:
        return
    yield _heading("Notes")
    for note in report.notes[:MOST_NOTES]:
        yield _prose(f"• {note}", indent=2)
    yield from _left_out(len(report.notes) - MOST_NOTES, "notes")


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _place(evidence: Evidence, indent: int) -> RenderableType:
    line = Text(shown(words.place(evidence)), style="bold cyan")
    if evidence.end_line > evidence.line > 0:
        line.append(f" to {evidence.end_line}", style="dim")
    return Padding(line, (0, 0, 0, indent))


def _quote(evidence: Evidence, width: int, rows: int, indent: int) -> Iterator[RenderableType]:
    for row in excerpt(evidence.text, width - indent - 2, rows):
        line = Text(" " * indent, no_wrap=True, overflow="ellipsis")
        yield line.append("│ ", style="dim").append(row)


def _prose(text: str, *, style: str = "", indent: int = 0, width: int = PROSE) -> RenderableType:
    return Padding(Text(shown(text), style=style), (0, max(0, width - PROSE), 0, indent))


def _left_out(count: int, what: str) -> Iterable[RenderableType]:
    return [Text(f"  … and {count} more {what}; --format json lists them all", style="dim")] if count > 0 else []
