"""Evidence as rows with line numbers, among the lines around it where the sources give them.

A place is quoted once; whoever cites it again gets the same anchor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from forensics.model import Evidence, Report
from forensics.render import facts, words
from forensics.render.excerpt import focus
from forensics.render.html.around import AFTER, BEFORE, Around
from forensics.render.html.display import marked, shortened
from forensics.text.ansi import strip

WIDEST = 1200
"""Characters of a line that are shown; the page says where one is longer."""
MOST_ROWS = 40


class Row(Struct, frozen=True):
    """One line: its number as an editor shows it, or a blank one, and its parts (text, is it decisive)."""

    number: str
    parts: tuple[tuple[str, bool], ...]
    cited: bool = True


class Quote(Struct, frozen=True):
    """A place with its words. `again` says that they stand further up already."""

    anchor: str
    place: str
    upto: int
    rows: tuple[Row, ...]
    raised: str = ""
    notes: tuple[str, ...] = ()
    again: bool = False


class Quotes(Struct):
    """Hands out quotes and their anchors; the same place gets the same one."""

    report: Report
    around: Around
    anchors: dict[Evidence, str] = field(default_factory=dict)

    def quote(self, evidence: Evidence, *, context: bool = False, most: int = MOST_ROWS) -> Quote:
        """Return a place with its words; with the lines around it where `context` asks for them."""
        return self.quotes((evidence,), context=context, most=most)[0]

    def quotes(self, places: Sequence[Evidence], *, context: bool = False, most: int = MOST_ROWS) -> list[Quote]:
        """Return places with their words; those that lie in each other's surroundings are one quote."""
        groups: list[list[Evidence]] = []
        for evidence in places:
            if context and groups and self._joins(groups[-1], evidence):
                groups[-1].append(evidence)
            else:
                groups.append([evidence])
        return [self._quote(group, context=context, most=most) for group in groups]

    def anchor(self, path: str, line: int) -> str:
        """Return the anchor of the quote that holds a line, or nothing."""
        for evidence, anchor in self.anchors.items():
            if evidence.path == path and evidence.line <= line <= _end(evidence):
                return anchor
        return ""

    def _joins(self, group: Sequence[Evidence], evidence: Evidence) -> bool:
        """Tell whether a place follows on a group so closely that their surroundings meet."""
        gap = evidence.line - _end(group[-1])
        near = evidence.path == group[-1].path and 0 < gap <= BEFORE + AFTER + 1
        return near and all(self._known(one) and one not in self.anchors for one in (group[-1], evidence))

    def _quote(self, group: Sequence[Evidence], *, context: bool, most: int) -> Quote:
        first, last = group[0], group[-1]
        place = ", ".join([words.place(first), *(str(evidence.line) for evidence in group[1:])])
        upto = last.end_line if last.end_line > last.line > 0 else 0
        if first in self.anchors:
            return Quote(self.anchors[first], place, upto, (), again=True)
        anchor = f"e{len(set(self.anchors.values())) + 1}"
        lines = self.around.get(first.path, {}) if context and self._known(first) else {}
        rows: list[Row] = []
        notes: list[str] = []
        reached = first.line - BEFORE - 1
        for evidence in group:
            rows += _surrounding(lines, reached + 1, evidence.line)
            rows += _cited(evidence, facts.deciding(self.report, evidence), most, notes)
            reached = _end(evidence)
            self.anchors[evidence] = anchor
        rows += _surrounding(lines, reached + 1, reached + AFTER + 1)
        told = facts.raised_at(self.report)
        raised = next((told[evidence] for evidence in group if evidence in told), "")
        return Quote(anchor, place, upto, tuple(rows), raised, tuple(dict.fromkeys(notes)))

    def _known(self, evidence: Evidence) -> bool:
        """Tell whether the source still says there what the evidence quotes."""
        return _agree(self.around.get(evidence.path, {}).get(evidence.line), evidence.text)


def _end(evidence: Evidence) -> int:
    return max(evidence.line, evidence.end_line)


def _surrounding(lines: Mapping[int, str], first: int, end: int) -> list[Row]:
    return [_context(number, lines[number]) for number in range(first, end) if number in lines]


def _agree(line: str | None, text: str) -> bool:
    if line is None:
        return False
    said, quoted = strip(line).strip(), strip(text[: 2 * len(line) + 8].split("\n", 1)[0]).strip()
    return bool(said and quoted) and (quoted[:200] in said or said[:200] in quoted)


def _context(number: int, line: str) -> Row:
    """Return a line as a terminal left it: the last of the records that rewrote one another."""
    records = [record for record in line.split("\r") if record.strip()]
    text = strip(records[-1] if records else "")
    return Row(str(number), ((shortened(text, WIDEST), False),), cited=False)


def _cited(evidence: Evidence, deciding: Sequence[str], most: int, notes: list[str]) -> Iterator[Row]:
    lines = evidence.text.rstrip("\r\n").split("\n")
    # Why: a terminal's wrapping, or a record that rewrites a line, makes the two differ; then only the first is sure.
    exact = evidence.line and len(lines) == _end(evidence) - evidence.line + 1
    head, tail = (len(lines), len(lines)) if len(lines) <= most else (most // 2, len(lines) - (most - most // 2))
    widest = max(map(len, lines))
    if widest > WIDEST:
        notes.append(f"The longest line has {widest:,} characters; it is cut around what decides.")
    for index, line in enumerate(lines):
        if head <= index < tail:
            if index == head:
                yield Row("", ((f"… {tail - head} lines left out …", False),), cited=False)
            continue
        number = str(evidence.line + index) if exact else str(evidence.line or "") if index == 0 else ""
        text = focus(line, WIDEST, deciding) if len(line) > WIDEST else line.removesuffix("\r")
        yield Row(number, marked(text, deciding))
