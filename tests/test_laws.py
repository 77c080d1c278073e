"""Laws that hold for every parser, whoever speaks."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.model import Context, Event, FileParser, LineParser, Source
from forensics.parsers import FILE_PARSERS, LINE_PARSERS
from tests.voices import CONTEXT, FRAGMENTS, records, texts

line_parsers = pytest.mark.parametrize("parser", LINE_PARSERS, ids=lambda p: type(p).__name__)
file_parsers = pytest.mark.parametrize("parser", FILE_PARSERS, ids=lambda p: type(p).__name__)


def last_of_each_stream(events: Sequence[Event]) -> set[int]:
    """Return the indexes of the events that are the last of their rank and thread."""
    last = {(e.rank, e.lane): i for i, e in enumerate(events)}
    return set(last.values())


@line_parsers
@given(lines=texts, gaps=st.frozensets(st.integers(1, 40)))
def test_no_line_parser_raises_and_its_events_are_sound(
    parser: LineParser, lines: list[str], gaps: frozenset[int]
) -> None:
    """Any text gives events that stand inside it, in order, with the words they cite."""
    events = list(parser.parse(records(lines, gaps), CONTEXT))
    assert [e.line for e in events] == sorted(e.line for e in events)
    for event in events:
        assert event.speaker == parser.speaker
        assert 1 <= event.line <= max(event.end_line, event.line) <= len(lines)
        assert event.path == "train.log"


@line_parsers
@given(lines=texts, cut=st.integers(0, 40))
def test_cutting_a_text_never_alters_what_came_before(parser: LineParser, lines: list[str], cut: int) -> None:
    """A cut may drop or shorten the last event of a stream, no other."""
    whole = list(parser.parse(records(lines), CONTEXT))
    part = list(parser.parse(records(lines[:cut]), CONTEXT))
    open_ = last_of_each_stream(part)
    for index, event in enumerate(part):
        if index not in open_:
            assert event in whole


@line_parsers
@given(lines=texts)
def test_the_same_text_gives_the_same_events(parser: LineParser, lines: list[str]) -> None:
    """A parser keeps nothing from one text to the next."""
    assert list(parser.parse(records(lines), CONTEXT)) == list(parser.parse(records(lines), CONTEXT))


@line_parsers
@given(lines=texts)
def test_a_parser_hears_enough(parser: LineParser, lines: list[str]) -> None:
    """One that hears lines says the same of those with its triggers alone, and one that hears blocks needs a trigger."""
    heard = [record for record in records(lines) if any(trigger in record.raw for trigger in parser.triggers)]
    if parser.hears == "lines":
        assert list(parser.parse(heard, CONTEXT)) == list(parser.parse(records(lines), CONTEXT))
    elif parser.hears == "blocks" and not heard:
        assert list(parser.parse(records(lines), CONTEXT)) == []


@line_parsers
@pytest.mark.parametrize("line", FRAGMENTS)
def test_a_number_of_thousands_of_digits_is_no_reason_to_raise(parser: LineParser, line: str) -> None:
    """Python refuses to read such a number, and any field may be torn into one."""
    for number in re.finditer(r"\d+", line):
        torn = line[: number.start()] + "7" * (sys.int_info.default_max_str_digits + 1) + line[number.end() :]
        list(parser.parse(records([torn]), CONTEXT))


@file_parsers
@settings(max_examples=60)
@given(data=st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_no_file_parser_raises(parser: FileParser, data: bytes) -> None:
    """Any bytes give events or none."""
    for kind in parser.kinds:
        source = Source("artefact", kind, len(data))
        for event in parser.parse(data, Context(source, 2026)):
            assert event.path == "artefact"


def test_every_parser_file_is_registered() -> None:
    """A parser that nobody calls would be a lie of the folder."""
    import pkgutil

    import forensics.parsers as package

    names = {m.name for m in pkgutil.iter_modules(package.__path__)}
    used = {type(p).__module__.removeprefix("forensics.parsers.").split(".")[0] for p in (*LINE_PARSERS, *FILE_PARSERS)}
    assert names - used <= {"nvidia_smi_csv", "nvidia_smi_query", "nvidia_smi_table"}
