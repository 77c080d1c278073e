"""Evidence, made to fit a screen: control characters visible, long lines cut around what decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from forensics.model import Context, Line, Source
from forensics.text.ansi import visible
from forensics.text.prefix import peel

MORE = "…"
LONGEST = 4000
"""Characters past which no screen shows a text whole, however it is folded."""
PEELED = 20_000
"""Characters up to which a line is asked for what stands before its message."""

NEAR = 12
"""Characters within which a cut looks for a blank."""

_Window: TypeAlias = list[tuple[int, int]]

_WARNED = re.compile(r"\A\S{1,300}:\d{1,7}: (?=\w{1,60}Warning: )")
_ANYWHERE = Context(Source("", "", 0))


def shown(text: str) -> str:
    """Return untrusted text as one line in which no character acts on a terminal."""
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + MORE + text[-LONGEST // 2 :]
    return visible(text.replace("\t", " "))


def cut(text: str, cells: int) -> str:
    """Return a line of at most so many terminal cells; what is too much goes from its middle.

    The beginning keeps twice the room of the end: messages say first what they are about.
    """
    if len(text) <= cells and cell_len(text) <= cells:
        return text
    if cells < 3:
        return MORE[:cells]
    # Why: a line can be megabytes long, and no end shown needs more than its own cells.
    tail = (cells - 1) // 3
    head = cells - 1 - tail
    end = set_cell_size(text[: -cells * 2 - 1 : -1], tail)[::-1]
    return set_cell_size(text[: cells * 2], head).rstrip() + MORE + end.lstrip()


def crop(text: str, cells: int) -> str:
    """Return a line of at most so many terminal cells; what is too much goes from its end."""
    if len(text) <= cells and cell_len(text) <= cells:
        return text
    return set_cell_size(text[: cells * 2], cells - 1).rstrip() + MORE if cells > 1 else MORE[:cells]


def excerpt(text: str, cells: int, rows: int, deciding: Sequence[str] = ()) -> list[str]:
    """Return evidence in at most so many rows of at most so many cells, a row for each line.

    A line is never broken, so that a row can be searched for in the file: where it is too
    long, it is cut so that as many of the deciding words as possible stay. Where there are
    more lines than rows, the middle ones are counted; where there is one row only, it is
    that of the last line with words, which is what a traceback ends in.
    """
    lines = text.rstrip("\r\n").split("\n")
    if rows == 1 and len(lines) > 1:
        lines = [next((line for line in reversed(lines) if any(map(str.isalnum, line))), lines[-1])]
    if len(lines) <= rows:
        return [focus(line, cells, deciding) for line in lines]
    tail = rows // 2
    head = max(1, rows - tail - 1)
    return [
        *(focus(line, cells, deciding) for line in lines[:head]),
        f"{MORE} {len(lines) - head - tail} lines",
        *(focus(line, cells, deciding) for line in lines[len(lines) - tail :]),
    ]


def focus(line: str, cells: int, deciding: Sequence[str] = ()) -> str:
    """Return one line in at most so many cells, with as many of the deciding words as fit.

    What a logger put before the message goes first, then what is far from those words.
    """
    line = line.removesuffix("\r")
    if len(line) <= cells * 4:
        whole = shown(line.expandtabs(8))
        if cell_len(whole) <= cells:
            return whole
    message = _message(line) if len(line) <= PEELED else line
    before = MORE if message and len(message) < len(line.strip()) else ""
    room = max(1, cells - len(before))
    spans = [found.span() for word in deciding if (found := _word(word).search(message))]
    best = max(_windows(message, room, spans), key=lambda window: _seen(window, spans))
    return cut(before + _laid_out(message, _snapped(message, best, spans), room), cells)


def _message(line: str) -> str:
    """Return a line without what a logger, or Python before a warning, put in front of it."""
    message = peel(Line(1, 0, 0, line), _ANYWHERE).text.lstrip()
    return _WARNED.sub("", message, count=1)


def _word(word: str) -> re.Pattern[str]:
    """Return what finds a word, and a number only where it is no part of a larger one."""
    return re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)" if word[:1].isalnum() else re.escape(word))


def _windows(message: str, room: int, spans: Sequence[tuple[int, int]]) -> Iterator[_Window]:
    """Yield which parts of a message could be shown, those that cut it most naturally first."""
    size = len(message)
    if size <= room:
        yield [(0, size)]
        return
    tail = (room - 1) // 3
    yield [(0, room - 1 - tail), (size - tail, size)]
    yield [(0, room - 1)]
    head = room // 3
    wide = max(1, room - head - 2)
    for start, end in sorted(spans):
        begin = max(head, min(start - max(0, wide - (end - start)) // 4, size - wide))
        yield [(0, begin + wide)] if begin == head else [(0, head), (begin, min(size, begin + wide))]


def _seen(window: _Window, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Return which spans a window shows; compared, the first of them counts most."""
    return [any(low <= start and end <= high for low, high in window) for start, end in spans]


def _snapped(message: str, window: _Window, spans: Sequence[tuple[int, int]]) -> _Window:
    """Return the window with its edges moved to the nearest blanks, unless that hides a span."""
    snapped = [(_edge(message, low, 1), _edge(message, high, -1)) for low, high in window]
    return snapped if _seen(snapped, spans) == _seen(window, spans) else window


def _edge(message: str, at: int, step: int) -> int:
    """Return the blank next to a place in the middle of a word, or the place itself where none is near."""
    if not 0 < at < len(message):
        return at
    near = range(at, at + step * NEAR, step)
    return next((place for place in near if 0 < place < len(message) and message[place] == " "), at)


def _laid_out(message: str, window: _Window, room: int) -> str:
    """Return the parts of a message with a mark wherever something was left out."""
    parts = [shown(message[low:high].expandtabs(8)) for low, high in window]
    if window[-1][1] < len(message):
        parts.append("")
    text = MORE.join(part.strip() if index else part.rstrip() for index, part in enumerate(parts))
    return cut(text, room)
