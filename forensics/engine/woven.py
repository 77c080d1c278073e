"""Records that two writers of one log cut into each other, where a program failed to read them.

    {"rank": 3, "step": 200, "loss": 2.01{"rank": 4, "step": 200, "loss": 2.06421}
    804, "grad_norm": 0.7281}

    json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 38 (char 37)

Nothing is taken for torn by its looks alone. The logs are read again only where an exception tells of
a record that did not parse, and what is found there is proven: the record fails at the very place that
the exception names, and either its rest, put back, makes it whole, or another whole record begins in it,
or any begins at that place;
or a progress line holds the very text that was no number. Source of the messages: CPython, json.decoder
and float().
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain, repeat

from msgspec import Struct

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Context, Event, Evidence, Line
from forensics.parsers.metrics import parse_step
from forensics.sources import Input, Watch
from forensics.text.lazy import lazy
from forensics.text.prefix import peel

_UNREAD = lazy(r"JSONDecodeError: [^\n]{1,120}: line 1 column \d+ \(char (?P<char>\d+)\)")
_NO_NUMBER = lazy(
    r"ValueError: (?:could not convert string to float|invalid literal for int\(\) with base 10): "
    r"(?P<quote>['\"])(?P<text>[-+]?\d[^\n]{3,400})(?P=quote)\s*(?:\n|$)"
)
_OPENING = lazy(r"\{\s{0,4}\"[^\"\\]{1,80}\":")
_LONGEST = 1 << 13
"""Bytes of a line from which on it is passed over: a rest is tried at every character of a record."""
_NUMBER = 2
"""Characters of a number, `0.`, that may stand between where a record fails and where another one begins in it."""
_REST_WITHIN = 3
"""Lines below a torn record among which its rest is looked for."""


class _Complaint(Struct, frozen=True):
    """An exception of a program that read a record: at which character it failed, or what was no number."""

    event: Event
    char: int | None = None
    text: str = ""


def woven(seen: Seen, inputs: Iterable[Input], watch: Watch) -> Iterator[Event]:
    """Yield `woven` for the first torn record on which a program failed, with the exception as further evidence."""
    complaints = [c for e in seen.said("exception", "exception", "bare") if (c := _complaint(e)) is not None]
    if not complaints:
        return
    logs = {s.path for s in seen.logs()}
    for item in inputs:
        if item.source.path not in logs or watch.stopped:
            continue
        watch.expect((item,))
        if (found := _first(item, complaints, watch)) is not None:
            place, complaint = found
            message = "another writer of the file cut this record in two, and a program failed on it"
            also = (complaint.event.place,)
            yield observed(place, "woven", message, complaint.event.fields, also, complaint.event.time)
            return


def _complaint(event: Event) -> _Complaint | None:
    if found := _UNREAD.search(event.message):
        return _Complaint(event, char=int(found["char"]))
    if found := _NO_NUMBER.search(event.message):
        return _Complaint(event, text=found["text"])
    return None


def _first(item: Input, complaints: list[_Complaint], watch: Watch) -> tuple[Evidence, _Complaint] | None:
    """Return the first line of a log that a program failed on, and how it said so."""
    window: deque[bytes] = deque(maxlen=_REST_WITHIN + 1)
    context = Context(item.source)
    number = 0
    with closing(_lines(item, watch)) as lines:
        for line in chain(lines, repeat(b"", _REST_WITHIN)):
            window.append(line)
            number += 1
            if len(window) > _REST_WITHIN and (told := _failed_on(list(window), complaints, context)):
                at = number - _REST_WITHIN
                text = window[0].decode("utf-8", "replace")
                return Evidence(item.source.path, at, at, text[:400]), told
    return None


def _lines(item: Input, watch: Watch) -> Generator[bytes, None, None]:
    """Yield the lines of a source, of those that are too long no more than shows it."""
    rest = b""
    with closing(watch.follow(item)) as pieces:
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
            rest = rest[: _LONGEST + 1]
    if rest:
        yield rest


def _failed_on(window: list[bytes], complaints: list[_Complaint], context: Context) -> _Complaint | None:
    line = window[0]
    if len(line) > _LONGEST:
        return None
    for complaint in complaints:
        if complaint.text:
            if complaint.text.encode() in line and _is_progress(line, context):
                return complaint
        elif line.count(b'{"') > 1 or (b'{"' in line and not line.rstrip().endswith(b"}")):
            texts = [part.decode("utf-8", "replace").strip() for part in window]
            if _torn_at(texts, complaint.char):
                return complaint
    return None


def _is_progress(line: bytes, context: Context) -> bool:
    text = line.decode("utf-8", "replace")
    return "Error: " not in text and parse_step(peel(Line(1, 0, 0, text), context), "") is not None


def _torn_at(texts: list[str], char: int | None) -> bool:
    """Tell whether the first line's record fails at that character, and is two writers' work."""
    opening = _OPENING.search(texts[0])
    if opening is None:
        return False
    record = texts[0][opening.start() :]
    cut = _fails_at(record)
    if cut is None or cut != char:
        return False
    again = record.find(opening[0], 1)
    if again > 0 and (_parses(record[again:]) or cut <= again <= cut + _NUMBER):
        return not _parses(record[:again])  # two whole ones only lack the line feed between them
    return any(
        _parses(record[:at] + rest)
        for rest in texts[1:]
        if rest.endswith("}") and not rest.startswith("{")
        for at in range(cut, len(record) + 1)
    )


def _fails_at(text: str) -> int | None:
    """Return the character at which a text is no JSON; None where it is, or is too deep to tell."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return None
    return None


def _parses(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (json.JSONDecodeError, RecursionError):
        return False
