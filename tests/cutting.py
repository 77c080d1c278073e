"""The laws of one line parser, checked with lines of its own voice."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.model import Context, Event, Line, LineParser, Source
from forensics.text.prefix import peel

CONTEXT = Context(Source("train.log", "training-log", 1), 2026)


def parse(parser: LineParser, text: str, kind: str = "training-log") -> list[Event]:
    """Return the events of a text whose lines are numbered from 1."""
    context = Context(Source("train.log", kind, len(text)), 2026)
    lines = text.strip("\n").split("\n")
    return list(parser.parse([peel(Line(n, 0, 0, line, n), context) for n, line in enumerate(lines, 1)], context))


def one(parser: LineParser, text: str, kind: str = "training-log") -> Event:
    """Return the one event of a text."""
    (event,) = parse(parser, text, kind)
    return event


def check_laws(parser: LineParser, voice: Sequence[str], kind: str = "training-log", examples: int = 60) -> None:
    """Check that events are in order, and that cutting the text alters no event but the last."""
    lines_of = st.lists(st.sampled_from(list(voice)) | st.text(max_size=80), max_size=25)

    @settings(max_examples=examples, deadline=None)
    @given(lines=lines_of, cut=st.integers(0, 25))
    def law(lines: list[str], cut: int) -> None:
        whole = parse(parser, "\n".join(lines), kind) if lines else []
        part = parse(parser, "\n".join(lines[:cut]), kind) if lines[:cut] else []
        assert [event.line for event in whole] == sorted(event.line for event in whole)
        assert all(event.speaker == parser.speaker and event.line >= 1 for event in whole)
        assert part[:-1] == whole[: max(len(part) - 1, 0)]

    law()


def check_hostile_lines(parser: LineParser, kind: str = "training-log") -> None:
    """Check that a line of a megabyte, however it begins, costs no more than reading it."""
    for trigger in (*parser.triggers, "x: line 3: "):
        for filling in (" ", "a", "1", ":", "/", "[", "(", "\\", "a: ", "error "):
            parse(parser, trigger + filling * (65_536 // len(filling)), kind)
            parse(parser, filling * (65_536 // len(filling)) + trigger, kind)
