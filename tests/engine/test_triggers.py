"""What a parser hears in a small log it hears in a large one: of that only lines with its triggers are handed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from forensics.analyze import analyze_files
from forensics.engine.reader import Reader
from forensics.model import Record
from forensics.parsers import LINE_PARSERS
from forensics.prove import files_of
from forensics.rulebook.load import load

CONFIGURED = "progress"
"""The speaker of settings and steps, who are looked for at the beginning of a log and by hints of their own."""


def unheard(batch: Sequence[Record], reader: Reader) -> Iterator[tuple[str, str, str]]:
    """Yield the events near which none of their parser's triggers stands."""
    by_line = {record.line.number: record for record in batch}
    for parser in LINE_PARSERS:
        if parser.speaker == CONFIGURED:
            continue
        for event in parser.parse(batch, reader._context):
            lines = range(event.line - max(parser.follow, 1), max(event.end_line, event.line) + 1)
            near = [by_line[number].raw + "\n" for number in lines if number in by_line]
            if not any(trigger in text for text in near for trigger in parser.triggers):
                yield parser.speaker, event.kind, event.text


@pytest.mark.slow
def test_no_parser_hears_a_line_that_would_not_be_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all cases of the rules."""
    found: list[tuple[str, str, str]] = []
    parse = Reader._parse

    def watched(self: Reader, batch: Sequence[Record]) -> None:
        found.extend(unheard(batch, self))
        parse(self, batch)

    monkeypatch.setattr(Reader, "_parse", watched)
    book = load(cases=True)
    cases = [case for rule in book.rules.values() for case in rule.case]
    for case in cases:
        analyze_files(files_of(case), book)
    assert len(cases) > 1000
    assert found == []
