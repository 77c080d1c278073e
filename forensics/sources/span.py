"""When a log began and ended, by the times in its head and tail."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct

from forensics.model import Context, Line
from forensics.sources.input import Input, open_regular
from forensics.text.prefix import peel

_PEEKED = 1 << 16
_LINES = 400
_SOME_LEAP_YEAR = 2000


class Span(Struct, frozen=True):
    """First and last time in a log, seconds since the epoch. `dated` is false where the lines print no year."""

    first: float
    last: float
    dated: bool


def span(made: Input, year: int | None) -> Span | None:
    """Peek at a log's first and last lines for times.

    Args:
        made: the log.
        year: the year of dates that print none; without one, that of the file's
            modification, or just any: logs of one run are only compared.

    Returns:
        The span, or None where no time with a date was seen at one end.
    """
    source = made.source
    if year is None:
        year = datetime.fromtimestamp(source.mtime, UTC).year if source.mtime else _SOME_LEAP_YEAR
    head, tail = ends(made)
    first = _first(head.split("\n")[:_LINES], made, year)
    last = _first(reversed(tail.split("\n")[-_LINES:]), made, year)
    if first is None or last is None:
        return None
    return Span(first[0], max(first[0], last[0]), dated=first[1])


def ends(made: Input) -> tuple[str, str]:
    """The first and the last 64 KB of an input's content."""
    opener = partial(open_regular, made.plain_path) if made.plain_path is not None else made.sought
    if opener is not None:
        try:
            with opener() as file:
                head = file.read(_PEEKED)
                file.seek(max(0, made.source.bytes - made.source.nul_bytes - _PEEKED))
                tail = file.read(_PEEKED)
        except OSError:
            return "", ""
    else:
        head = made.read(_PEEKED)
        kept = deque(made.chunks(_PEEKED), maxlen=2) if made.measured else deque((head,))
        tail = b"".join(kept)[-_PEEKED:]
    return head.decode("utf-8", "replace"), tail.rstrip(b"\0").decode("utf-8", "replace")


def _first(lines: Iterable[str], made: Input, year: int) -> tuple[float, bool] | None:
    """The time of the first line that has one, and whether the line itself named the year."""
    for text in lines:
        if not text or text.isspace():
            continue
        line = Line(1, 0, 0, text.lstrip("\r").split("\r", 1)[0][:400])
        time = peel(line, Context(made.source, default_year=year)).time
        if time is not None:
            return time, peel(line, Context(made.source)).time is not None
    return None
