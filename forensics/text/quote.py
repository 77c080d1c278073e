"""An event that quotes lines: who spoke, from which line to which, in what words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import NO_FIELDS, Context, Event, Evidence, Record, Value


def quote(
    speaker: str,
    kind: str,
    records: Sequence[Record],
    context: Context,
    fields: Mapping[str, Value] = NO_FIELDS,
    message: str | None = None,
    time: float | None = None,
    also: tuple[Evidence, ...] = (),
) -> Event:
    """Build the event that one or more records of a source amount to.

    Args:
        speaker: The voice, as its parser names it.
        kind: What the message is within that voice.
        records: The lines of the message, in order; at least one.
        context: Where the lines stand.
        fields: Facts read out of the message. None values are left out.
        message: The peeled text, where it is not simply that of the records.
        time: Seconds since the epoch printed inside the message; it wins over the line's.
        also: Further places that decide the event.
    """
    first, last = records[0], records[-1]
    return Event(
        speaker=speaker,
        kind=kind,
        path=context.source.path,
        line=first.line.number,
        end_line=max(last.line.end, last.line.number),
        column=first.line.column,
        text="\n".join(record.raw for record in records),
        message="\n".join(record.text for record in records) if message is None else message,
        time=first.time if time is None else time,
        rank=first.rank,
        lane=first.lane,
        host=first.host,
        pid=first.pid,
        fields={name: value for name, value in fields.items() if value is not None},
        also=also,
    )


def quote_lines(
    speaker: str,
    kind: str,
    lines: Sequence[str],
    first: int,
    context: Context,
    fields: Mapping[str, Value] = NO_FIELDS,
    time: float | None = None,
    last: int | None = None,
) -> Event:
    """Build the event of lines of a file that is read as a whole, such as the rows of a table.

    Args:
        speaker: The voice, as its parser names it.
        kind: What the lines are within that voice.
        lines: The quoted lines.
        first: The number of the first of them in the file, from 1.
        context: Which file it is.
        fields: Facts read out of the lines. None values are left out.
        time: Seconds since the epoch, where the lines tell one.
        last: The number of the last line that the event is about, where not all are quoted.
    """
    text = "\n".join(lines)
    return Event(
        speaker=speaker,
        kind=kind,
        path=context.source.path,
        line=first,
        end_line=first + len(lines) - 1 if last is None else last,
        text=text,
        message=text.strip(),
        time=time,
        rank=context.source.rank,
        host=context.source.host,
        fields={name: value for name, value in fields.items() if value is not None},
    )


def place(record: Record, context: Context) -> Evidence:
    """Return where a record stands, as evidence."""
    end = max(record.line.end, record.line.number)
    return Evidence(context.source.path, record.line.number, end, record.raw, record.line.column)
