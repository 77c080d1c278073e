"""Findings, and the answer at the top of the page, in the words and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from forensics.model import Finding, Fix, Report, Value
from forensics.render import facts, words
from forensics.render.excerpt import focus
from forensics.render.html.display import marked
from forensics.render.html.evidence import Quote, Quotes

MOST = 40
"""Findings of a kind that the page shows."""
MOST_PLACES, OTHER_PLACES, OTHER_ROWS = 6, 1, 6
MOST_DIFF, MOST_CHANGES, MOST_FACTS = 200, 24, 40
BRIEF, ONE_LINE, MOST_LINES = 3, 150, 60
LED = 3
"""Consequences that the first screen names."""
TOLD = 40
"""Sentences of an explanation that are shown."""


class Mend(Struct, frozen=True):
    """A fix, with its changes as (kind, lines) and its diff as (what a line does, line)."""

    id: str
    title: str
    detail: str
    safe: bool
    changes: tuple[tuple[str, tuple[str, ...]], ...]
    diff: tuple[tuple[str, str], ...]
    diff_left: int


class Shown(Struct, frozen=True):
    """A finding, ready to be written; `depth` is how far down the chain it stands."""

    id: str
    title: str
    severity: str
    confidence: str
    depth: int
    asides: tuple[str, ...]
    product: str
    telling: str
    explanation: str
    facts: tuple[tuple[str, str], ...]
    quotes: tuple[Quote, ...]
    places_left: int
    fixes: tuple[Mend, ...]
    because: tuple[str, ...]


class Answer(Struct, frozen=True):
    """What the first screen says: what died, why, and what to do."""

    title: str
    about: str
    progress: tuple[str, ...]
    product: str
    led: tuple[str, ...]
    why: str
    told: str
    proof: tuple[tuple[str, str, tuple[tuple[str, bool], ...]], ...]
    fix: Mend | None
    more: int


def answer(report: Report, quotes: Quotes, title: str) -> Answer:
    """Return what the first screen says. `title` says what died in a line."""
    root = report.root
    progress = tuple(part for part in words.progress(report).split(" · ") if part)
    decided = words.why(report).removeprefix("Why: ")
    # Why: a sentence begins with a capital, the name of a file keeps its own.
    why = decided[:1].upper() + decided[1:] if decided.partition(" ")[0].isalpha() else decided
    if root is None:
        return Answer(title, words.name(report.run), progress, "", (), why, "", (), None, 0)
    return Answer(
        title=title,
        about=words.about(report, root),
        progress=progress,
        product=next((product for _, f in words.chain(report) if (product := facts.arithmetic(f))), ""),
        led=tuple(f.title for depth, f in words.chain(report) if depth and f.severity == "error")[:LED],
        why=why,
        told=facts.explanation(root, BRIEF),
        proof=tuple(_proof(report, root, quotes)),
        fix=_mend(root.fixes[0]) if root.fixes else None,
        more=max(0, len(root.fixes) - 1),
    )


def _proof(report: Report, root: Finding, quotes: Quotes) -> Iterator[tuple[str, str, tuple[tuple[str, bool], ...]]]:
    """Yield the first places of the root, a line each, as (anchor, place, parts)."""
    for evidence in root.evidence[:2]:
        deciding = facts.deciding(report, evidence)
        lines = [text for text in evidence.text.split("\n")[-MOST_LINES:] if any(map(str.isalnum, text))]
        told = [marked(focus(text.strip(), ONE_LINE, deciding), deciding) for text in lines]
        # The line with most of the words that decide; of equals the last, which is what a traceback ends in.
        best = max(reversed(told), key=lambda parts: sum(decisive for _, decisive in parts), default=())
        yield quotes.quote(evidence).anchor, words.place(evidence), best


def show(
    finding: Finding, quotes: Quotes, depth: int = 0, told: dict[str, Value] | None = None, *, root: bool = False
) -> Shown:
    """Return a finding for the page; `told` holds the facts that need no second telling."""
    most = MOST_PLACES if root else OTHER_PLACES
    rows = {} if root else {"most": OTHER_ROWS}
    asides = (words.ranks(finding.ranks), facts.standing(finding))
    return Shown(
        id=finding.id,
        title=finding.title,
        severity=finding.severity,
        confidence=finding.confidence,
        depth=depth,
        asides=tuple(filter(None, asides)),
        product=facts.arithmetic(finding),
        telling=facts.telling(finding, told) if told is not None else "",
        explanation=facts.explanation(finding, TOLD),
        facts=() if root else tuple((n, words.fact(n, v)) for n, v in finding.facts.items())[:MOST_FACTS],
        quotes=tuple(quotes.quotes(finding.evidence[:most], context=root or depth > 0, **rows)),
        places_left=max(0, len(finding.evidence) - most),
        fixes=tuple(_mend(fix) for fix in finding.fixes),
        because=finding.because,
    )


def _mend(fix: Fix) -> Mend:
    changes: dict[str, list[str]] = {}
    for kind, text in words.changes(fix):
        changes.setdefault(kind, []).append(text)
    diff = fix.script.splitlines()
    return Mend(
        id=fix.id,
        title=fix.title,
        detail=fix.detail,
        safe=fix.safe,
        changes=tuple((kind, tuple(texts[:MOST_CHANGES])) for kind, texts in changes.items()),
        diff=tuple((_does(row), row) for row in diff[:MOST_DIFF]),
        diff_left=max(0, len(diff) - MOST_DIFF),
    )


def _does(row: str) -> str:
    """Return what a line of a diff does: `file`, `hunk`, `add`, `del` or `same`."""
    if row.startswith(("---", "+++")):
        return "file"
    return {"@": "hunk", "+": "add", "-": "del"}.get(row[:1], "same")
