"""Events that quote lines."""

from __future__ import annotations

from forensics.model import Context, Line, Record, Source
from forensics.text.quote import place, quote

CONTEXT = Context(Source("a.log", "training-log", 1))


def record(number: int, text: str, **more: object) -> Record:
    return Record(Line(number, 3, 0, "raw " + text, number + 1), text, "raw " + text, **more)  # type: ignore[arg-type]


def test_an_event_spans_its_records() -> None:
    """Line and end, raw words as text, peeled words as message, who and when from the first record."""
    event = quote(
        "kernel", "xid", [record(4, "one", time=7.0, rank=2), record(9, "two")], CONTEXT, {"xid": 48, "pid": None}
    )
    assert (event.line, event.end_line, event.column) == (4, 10, 3)
    assert (event.text, event.message) == ("raw one\nraw two", "one\ntwo")
    assert (event.time, event.rank, event.fields) == (7.0, 2, {"xid": 48})


def test_a_time_inside_the_message_wins() -> None:
    """The time that the speaker prints is better than that of the line."""
    assert quote("slurm", "cancelled", [record(1, "x", time=7.0)], CONTEXT, time=5.0).time == 5.0


def test_a_place_is_evidence() -> None:
    """The raw line, with its numbers."""
    assert (place(record(4, "one"), CONTEXT).line, place(record(4, "one"), CONTEXT).text) == (4, "raw one")
