"""The report as Markdown for an issue: the same answer, safe to paste into a stranger's tracker.

Nothing that a log says can close a fence, start a tag, open a table column, mention a
person or link an issue. Texts of rules keep their code spans, whatever was filled into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from forensics.model import Evidence, Finding, Fix, Report, Value
from forensics.render import facts, words
from forensics.text.ansi import visible
from forensics.text.sizes import format_size

MOST_LINES, LONGEST = 40, 2000
EXPLAINED = 12
"""Sentences of an explanation that are shown: those of a rule, and no log that was filled into it."""
MOST_PLACES, MOST_FINDINGS, MOST_SOURCES = 8, 24, 64

_ACTIVE = re.compile(r"([\\`*_{}\[\]~|$^])")
_LEADING = re.compile(r"^(\d{0,9})([#+\-=.)])")
_MENTION = re.compile(r"([@#])(?=\w)")
_SPAN = re.compile(r"`([^`]+)`")
_TICKS = re.compile(r"`+")


def render(report: Report) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    return "\n".join(_lines(report)) + "\n"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _LEADING.sub(r"\1\\\2", _inert(visible(" ".join(text.split()))))


def prose(text: str) -> str:
    """Return text of a rule, on one line: its code spans stay such, all else is shown as it is.

    Facts were filled into it, so no backtick is trusted: each span is built anew around
    whatever stands between two of them.
    """
    line = visible(" ".join(text.split()))
    parts = [code(part) if index % 2 else _inert(part) for index, part in enumerate(_SPAN.split(line))]
    return _LEADING.sub(r"\1\\\2", "".join(parts))


def _inert(line: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(character, entity)
    # Why: trackers look for mentions in whole words, and an empty comment splits the word.
    return _MENTION.sub(r"\1<!-- -->", _ACTIVE.sub(r"\\\1", line))


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
    quoted: set[Evidence] = set()
    yield f"### {report.verdict}: {prose(root.title) if root else code(words.name(report.run))}"
    yield from _headline(report)
    if root is not None:
        yield from ("", "#### Evidence")
        yield from _places(root.evidence, quoted, facts.raised_at(report))
    yield from _fixes(report)
    told = facts.headline(report)
    followed = [finding for depth, finding in words.chain(report) if depth]
    yield from _findings(words.followed(report), followed, quoted, told, causal=not words.is_capture(report))
    yield from _facts(report)
    yield from _absent(report)
    yield from _findings("Also seen" if root else "Seen", words.beside(report), quoted, None, causal=False)
    if hazards := words.hazards(report):
        yield from ("", prose(hazards))
    yield from _sources(report)
    if notes := words.notes(report):
        yield from ("", "#### Notes", "", *(f"- {escape(note)}" for note in notes))
    tool = f"dflash-forensics {report.version}, rules {report.rules_digest}"
    yield from ("", f"<sub>{escape(tool)}</sub>")


def _headline(report: Report) -> Iterator[str]:
    root = report.root
    parts = [escape(words.progress(report)), prose(words.why(report))]
    if root is not None:
        product = facts.arithmetic(root)
        parts.insert(0, escape(words.about(report, root)))
        parts += [f"**{escape(product)}**" if product else "", prose(facts.explanation(root, EXPLAINED))]
    for text in dict.fromkeys(filter(None, parts)):
        yield from ("", text)


def _facts(report: Report) -> Iterator[str]:
    rows = list(facts.table(report))
    if rows:
        yield from ("", "#### Facts", "", "| fact | value |", "| --- | --- |")
    for name, value in rows:
        yield f"| {code(name, cell=True)} | {code(value, cell=True)} |"


def _places(places: Iterable[Evidence], quoted: set[Evidence], raised: Mapping[Evidence, str]) -> Iterator[str]:
    """Yield where evidence stands with its words, which are quoted the first time only."""
    for number, evidence in enumerate(places):
        if number == MOST_PLACES:
            yield from ("", "Further places are in the JSON report.")
            return
        end = f" to {evidence.end_line}" if evidence.end_line > evidence.line > 0 else ""
        yield from ("", code(words.place(evidence) + end))
        if evidence not in quoted:
            yield from ("", *fence(evidence.text))
            quoted.add(evidence)
        if evidence in raised:
            yield from ("", escape(raised[evidence]))


def _findings(
    heading: str, findings: list[Finding], quoted: set[Evidence], told: dict[str, Value] | None, *, causal: bool
) -> Iterator[str]:
    if not findings:
        return
    yield from ("", f"#### {heading}")
    for finding in findings[:MOST_FINDINGS]:
        because = ", because of " + ", ".join(map(code, finding.because)) if finding.because and causal else ""
        asides = filter(None, (words.ranks(finding.ranks), facts.standing(finding)))
        aside = "".join(f" ({escape(text)})" for text in asides)
        yield from ("", f"**{prose(finding.title)}** {code(finding.id)}{aside}{because}")
        if product := facts.arithmetic(finding):
            yield from ("", f"**{escape(product)}**")
        if told is not None and (some := facts.telling(finding, told)):
            yield from ("", escape(some))
        yield from _places(finding.evidence[:1], quoted, {})
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
    yield from ("", f"**{prose(fix.title)}** {code(fix.id)}" + (" (safe to apply)" if fix.safe else ""))
    if fix.detail:
        yield from ("", prose(fix.detail))
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
            code(words.path(source.path), cell=True),
            escape(source.kind),
            format_size(source.bytes),
            str(source.lines or ""),
            escape(words.condition(source)),
        )
        yield f"| {' | '.join(cells)} |"
    if len(report.sources) > MOST_SOURCES:
        yield from ("", f"{len(report.sources) - MOST_SOURCES} further files are in the JSON report.")
