"""The report as Markdown for an issue: the same answer, safe to paste into a stranger's tracker.

Nothing that a log says can close a fence, start a tag, open a table column, mention a
person or link an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Evidence, Finding, Fix, Report
from forensics.render import words
from forensics.text.ansi import visible
from forensics.text.sizes import format_size

MOST_LINES, LONGEST = 40, 2000
MOST_PLACES, MOST_FINDINGS, MOST_SOURCES = 8, 24, 64

_ACTIVE = re.compile(r"([\\`*_{}\[\]~|$^])")
_LEADING = re.compile(r"^(\d{0,9})([#+\-=.)])")
_MENTION = re.compile(r"([@#])(?=\w)")
_TICKS = re.compile(r"`+")


def render(report: Report) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    return "\n".join(_lines(report)) + "\n"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    line = visible(" ".join(text.split()))
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(character, entity)
    line = _LEADING.sub(r"\1\\\2", _ACTIVE.sub(r"\\\1", line))
    # Why: trackers look for mentions in whole words, and an empty comment splits the word.
    return _MENTION.sub(r"\1<!-- -->", line)


def code(text: str, *, cell: bool = False) -> str:
    """Return text as an inline code span, fit for a table cell where it stands in one."""
    line = visible(" ".join(text.split())) or " "
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line.replace('|', chr(92) + '|') if cell else line}{pad}{ticks}"


def fence(text: str, language: str = "text") -> list[str]:
    """Return text as a fenced block that nothing in the text can close."""
    lines = [_shorten(visible(line.removesuffix("\r"))) for line in text.rstrip("\r\n").split("\n")]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines[half:-half] = [f"… {len(lines) - 2 * half} lines"]
    ticks = "`" * max(3, 1 + max(map(_longest_run, lines)))
    return [f"{ticks}{language}", *lines, ticks]


def _longest_run(line: str) -> int:
    return max(map(len, _TICKS.findall(line)), default=0)


def _shorten(line: str) -> str:
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"


def _lines(report: Report) -> Iterator[str]:
    root = report.root
    yield f"### {report.verdict}: {escape(root.title) if root else code(words.name(report.run))}"
    about = "" if root is None else escape(words.about(root))
    told = "" if root is None else escape(root.explanation)
    for text in dict.fromkeys((about, escape(words.progress(report.run)), escape(words.why(report)), told)):
        if text:
            yield from ("", text)
    if root is not None:
        yield from ("", "#### Evidence")
        yield from _places(root.evidence)
    facts = words.facts(report)
    if facts:
        yield from ("", "| fact | value |", "| --- | --- |")
    for name, value in facts.items():
        yield f"| {code(name, cell=True)} | {code(words.fact(name, value), cell=True)} |"
    yield from _findings("What followed from it", [f for depth, f in words.chain(report) if depth])
    yield from _findings("Also seen" if root else "Seen", words.beside(report))
    yield from _fixes(report)
    yield from _absent(report)
    yield from _sources(report)
    if report.notes:
        yield from ("", "#### Notes", "")
    yield from (f"- {escape(note)}" for note in report.notes)
    tool = f"dflash-forensics {report.version}, rules {report.rules_digest}"
    yield from ("", f"<sub>{escape(tool)}</sub>")


def _places(places: Iterable[Evidence]) -> Iterator[str]:
    for number, evidence in enumerate(places):
        if number == MOST_PLACES:
            yield from ("", "Further places are in the JSON report.")
            return
        end = f" to {evidence.end_line}" if evidence.end_line > evidence.line > 0 else ""
        yield from ("", code(words.place(evidence)) + end, "", *fence(evidence.text))


def _findings(heading: str, findings: list[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield from ("", f"#### {heading}")
    for finding in findings[:MOST_FINDINGS]:
        because = ", because of " + ", ".join(map(code, finding.because)) if finding.because else ""
        who = f" ({escape(words.ranks(finding.ranks))})" if finding.ranks else ""
        yield from ("", f"**{escape(finding.title)}** {code(finding.id)}{who}{because}")
        yield from _places(finding.evidence[:1])
    if len(findings) > MOST_FINDINGS:
        yield from ("", f"{len(findings) - MOST_FINDINGS} further findings are in the JSON report.")


def _fixes(report: Report) -> Iterator[str]:
    fixes = report.root.fixes if report.root is not None else ()
    if fixes:
        yield from ("", "#### Fix")
    for fix in fixes:
        yield from _fix(fix)
    if report.root is not None or report.verdict in ("failed", "degraded"):
        yield from ("", words.RESTARTS[report.restart_helps])


def _fix(fix: Fix) -> Iterator[str]:
    yield from ("", f"**{escape(fix.title)}** {code(fix.id)}" + (" (safe to apply)" if fix.safe else ""))
    if fix.detail:
        yield from ("", escape(fix.detail))
    changes = [f"- {kind}: {code(text)}" for kind, text in words.changes(fix)]
    if changes:
        yield from ("", *changes)
    if fix.script:
        yield from ("", *fence(fix.script, "diff"))


def _absent(report: Report) -> Iterator[str]:
    gone = words.absent(report)
    if gone:
        yield from ("", "#### Promised, but not there", "")
    for expected in gone:
        yield f"- {code(expected.path)} is {expected.state}; {escape(words.promise(expected))}"


def _sources(report: Report) -> Iterator[str]:
    if not report.sources:
        return
    yield from ("", "#### Read", "", "| file | kind | size | lines | state |", "| --- | --- | --: | --: | --- |")
    for source in report.sources[:MOST_SOURCES]:
        cells = (
            code(source.path, cell=True),
            escape(source.kind),
            format_size(source.bytes),
            str(source.lines or ""),
            escape(words.condition(source)),
        )
        yield f"| {' | '.join(cells)} |"
    if len(report.sources) > MOST_SOURCES:
        yield from ("", f"{len(report.sources) - MOST_SOURCES} further files are in the JSON report.")
