"""Evidence, made to fit a screen: control characters visible, long lines cut in the middle."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from forensics.text.ansi import visible

MORE = "…"
LONGEST = 4000
"""Characters past which no screen shows a text whole, however it is folded."""


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


def excerpt(text: str, cells: int, rows: int) -> list[str]:
    """Return evidence in at most so many rows of at most so many cells.

    A single line is broken at spaces and, where it needs more than the rows, cut in the
    middle. Of several lines each keeps a row, and the middle ones are counted; where there
    is one row only, it is that of the last line with words, which is what a traceback ends in.
    """
    lines = text.rstrip("\r\n").split("\n")
    if len(lines) == 1:
        return _fold(_printable(lines[0], cells * rows), cells, rows)
    if rows == 1:
        lines = [next((line for line in reversed(lines) if any(map(str.isalnum, line))), lines[-1])]
    if len(lines) > rows:
        tail = rows // 2
        head = max(1, rows - tail - 1)
        left_out = f"{MORE} {len(lines) - head - tail} lines"
        return [
            *(cut(_printable(line, cells), cells) for line in lines[:head]),
            left_out,
            *(cut(_printable(line, cells), cells) for line in lines[len(lines) - tail :]),
        ]
    return [cut(_printable(line, cells), cells) for line in lines]


def _printable(line: str, cells: int) -> str:
    """Escape a line, its tabs laid out; of a huge one only the ends, which are all that can be shown."""
    line = line.removesuffix("\r")
    if len(line) > 4 * cells:
        return shown(line[: 2 * cells]) + MORE + shown(line[-2 * cells :])
    return shown(line.expandtabs(8))


def _fold(line: str, cells: int, rows: int) -> list[str]:
    room = cells * rows
    folded = _break(cut(line, room), cells)
    while len(folded) > rows:
        room -= max(1, cells // 4)
        folded = _break(cut(line, room), cells)
    return folded


def _break(line: str, cells: int) -> list[str]:
    rows = []
    while cell_len(line) > cells:
        row = set_cell_size(line, cells).rstrip()
        space = row.rfind(" ", len(row) - cells // 4)
        end = space + 1 if space > 0 else len(row) or cells
        rows.append(line[:end].rstrip())
        line = line[end:]
    return [*rows, line]
