"""Long walks through a source: for words, for a filter, for a time. They run in threads and stop when told to."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event as Flag

from forensics.model import Context
from forensics.sources.pages import Pages
from forensics.tui.filters import Filter, who
from forensics.tui.query import Query, TooSlowError

MOST_CHOSEN = 4_000_000
"""Lines that a filter keeps; what is beyond is told."""
LOOKED = 1 << 22
"""Bytes without a time that are looked through for one."""
_AGO = re.compile(r"([-+])\s*(\d+(?:\.\d+)?)\s*([smhd]?)")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Hit:
    """Where something was found; `around` says that the search had come to the end and begun anew."""

    offset: int
    around: bool = False


def search(
    pages: Pages,
    query: Query,
    start: int,
    *,
    back: bool = False,
    stop: Flag | None = None,
    among: Sequence[int] | None = None,
) -> Hit | None:
    """Find the next line that holds what is asked for, behind the line at `start` or before it.

    Args:
        pages: the source.
        query: what is asked for.
        start: where the line begins from which the search goes out.
        back: towards the beginning.
        stop: ends the search.
        among: the offsets of the lines to look at, in order; all lines where it is None.

    Raises:
        TooSlowError: the pattern takes too long.
    """
    flag = stop or Flag()
    end = pages.line_end(start)
    behind = pages.size if end is None else end + 1
    ways = ((start, 0), (pages.size, start)) if back else ((behind, pages.size), (0, behind))
    for around, (first, last) in enumerate(ways):
        found = (_backward if back else _forward)(pages, query, first, last, flag, among)
        if found is not None:
            return Hit(found, around=bool(around))
    return None


def _forward(pages: Pages, query: Query, start: int, end: int, flag: Flag, among: Sequence[int] | None) -> int | None:
    for offset, block in pages.forward(start, end if end < pages.size else None):
        for at in _lines(query, offset, block):
            if flag.is_set():
                return None
            if _is_among(offset + at, among):
                return offset + at
        if flag.is_set():
            return None
    return None


def _backward(pages: Pages, query: Query, end: int, start: int, flag: Flag, among: Sequence[int] | None) -> int | None:
    for offset, block in pages.backward(end):
        for at in _lines(query, offset, block, last_first=True):
            if flag.is_set() or offset + at < start:
                return None
            if _is_among(offset + at, among):
                return offset + at
        if flag.is_set() or offset <= start:
            return None
    return None


def _is_among(offset: int, among: Sequence[int] | None) -> bool:
    if among is None:
        return True
    at = bisect_left(among, offset)
    return at < len(among) and among[at] == offset


def _lines(query: Query, offset: int, block: bytes, *, last_first: bool = False) -> Iterator[int]:
    """Yield where the lines of a piece begin that hold it."""
    try:
        yield from query.lines(block, last_first=last_first)
    except TimeoutError as error:
        raise TooSlowError(offset) from error


def choose(
    pages: Pages,
    chosen: Filter,
    context: Context,
    spoken: Mapping[str, Collection[int]],
    out: array[int],
    stop: Flag,
    tell: Callable[[int], None] = lambda _: None,
    start: tuple[int, int] = (0, 1),
) -> tuple[int, int]:
    """Put the offsets of the lines that pass a filter into `out`, in order.

    Args:
        pages: the source.
        chosen: the filter.
        context: how its lines are read.
        spoken: see `Filter.passes`.
        out: grows while the walk goes on.
        stop: ends the walk.
        tell: is told from time to time up to which byte the source is done.
        start: where to begin: an offset and the number of the line there.

    Returns:
        The offset and the number of the line at which the walk ended.
    """
    at, number = start
    while len(out) and out[-1] >= at:
        out.pop()  # a last line without an end, which may have grown
    for offset, block in pages.forward(at):
        place = 0
        while place < len(block):
            end = block.find(b"\n", place)
            end = len(block) if end < 0 else end
            if chosen.passes(block[place:end], number, context, spoken):
                out.append(offset + place)
            place = end + 1
            number += 1
            if number % 512 == 0 and stop.is_set():
                return offset + place, number
        at = offset + len(block)
        if not block.endswith(b"\n") and at >= pages.size:
            at, number = offset + block.rfind(b"\n") + 1, number - 1
        tell(offset + len(block))
        if stop.is_set() or len(out) >= MOST_CHOSEN:
            break
    return at, number


def moment(said: str, first: float | None, last: float | None, offset_s: float = 0.0) -> float:
    """Return the time that was typed, in seconds since the epoch.

    Args:
        said: `12:50:06`, `2026-11-29T12:50:06`, `-10m` before the end or `+10m` after the beginning.
        first: when the source begins, as far as known.
        last: when it ends.
        offset_s: of local times that name no zone.

    Raises:
        ValueError: that is no time, or counts from an end that nothing tells; the message says which.
    """
    text = said.strip()
    if ago := _AGO.fullmatch(text):
        base = last if ago[1] == "-" else first
        if base is None:
            raise ValueError("no line here tells a time to count from")
        return base + (-1 if ago[1] == "-" else 1) * float(ago[2]) * _SECONDS[ago[3]]
    if clock := _CLOCK.fullmatch(text):
        if first is None:
            raise ValueError("no line here tells a time; give a date as well")
        seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3] or 0)
        day = (first + offset_s) // 86400 * 86400 - offset_s
        wanted = day + seconds
        beyond = last is not None and wanted + 86400 <= last
        return wanted + 86400 if wanted < first - 60 and beyond else wanted
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"no time: {text}; write 12:50:06, 2026-11-29T12:50:06 or -10m") from error
    return parsed.timestamp() if parsed.tzinfo else parsed.replace(tzinfo=UTC).timestamp() - offset_s


def at_time(pages: Pages, context: Context, wanted: float, stop: Flag | None = None) -> int | None:
    """Return where the first line at or after a time begins; the last one with a time if all are earlier.

    Takes the times of a log to rise, as nearly all do. None where no line tells a time.
    """
    flag = stop or Flag()
    low, high = 0, pages.size
    best: int | None = None
    while high - low > 1 and not flag.is_set():
        middle = (low + high) // 2
        start = pages.line_start(middle)
        found = None if start is None else _timed(pages, context, max(start, low), high)
        if found is None:
            high = middle
        elif found[1] < wanted:
            best = found[0]
            low = max(found[2], low + 1)
        else:
            high = min(middle, found[0])
    found = _timed(pages, context, low, min(pages.size, low + LOOKED))
    return found[0] if found is not None else best


def edges(pages: Pages, context: Context) -> tuple[float | None, float | None]:
    """Return the first and the last time of a source."""
    first = _timed(pages, context, 0, min(pages.size, LOOKED))
    for offset, block in pages.backward(pages.size):
        for line in reversed(block[-(1 << 18) :].split(b"\n")):
            if (time := who(line, 0, context)[2]) is not None:
                return (first[1] if first else None), time
        if pages.size - offset > LOOKED:
            break
    return (first[1] if first else None), None


def _timed(pages: Pages, context: Context, start: int, end: int) -> tuple[int, float, int] | None:
    """Return the first line with a time from `start` on: where it begins, its time, and where the next one begins."""
    for offset, block in pages.forward(start, min(end, start + LOOKED)):
        place = 0
        while place < len(block):
            stop = block.find(b"\n", place)
            stop = len(block) if stop < 0 else stop
            time = who(block[place:stop], 0, context)[2]
            if time is not None:
                return offset + place, time, offset + stop + 1
            place = stop + 1
    return None
