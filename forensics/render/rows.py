"""The timeline for a person: one row a line, never wider than the screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from forensics.render.excerpt import crop, cut, shown
from forensics.render.words import path
from forensics.text.sizes import format_size

HEADS = ("TIME", "WHERE", "WHAT", "RANK", "STEP", "MESSAGE")
LONGEST = 120
"""Characters of a message where no screen says how many there is room for."""
WHERE, WHAT = 16, 12
"""Cells that a place keeps on any screen, and that who spoke may take on one."""

_MEMORY = re.compile(r"memory_bytes \S+")
_STEP = re.compile(r"\Astep \S+ (?=\S)")

_Row = Mapping[str, Any]


def render(rows: Iterable[_Row], width: int = 0) -> str:
    """Return rows of the timeline as aligned text, for a screen so many columns wide or for none.

    On a screen the words of the message need the room: a date that all rows share moves to
    the heading, and columns without a value go.
    """
    kept = list(rows)
    days = {row["time"][:10] for row in kept if row["time"]}
    day = next(iter(days)) if width and len(days) == 1 else ""
    heads = (f"{day} UTC", *HEADS[1:]) if day else HEADS
    lines = [heads, *_cells(kept, width, date=not day)]
    if width and kept:
        filled = [c for c in range(len(HEADS)) if any(line[c] for line in lines[1:]) or c == len(HEADS) - 1]
        lines = [tuple(line[c] for c in filled) for line in lines]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    return "".join(f"{_line(line, widths[:-1], width)}\n" for line in lines)


def _cells(rows: Iterable[_Row], width: int, *, date: bool) -> Iterator[tuple[str, ...]]:
    for row in rows:
        where = shown(f"{path(row['path'])}:{row['line']}")
        time = row["time"] or ""
        yield (
            time if not width else _short(time) if date else time[11:].rstrip("Z"),
            cut(where, max(WHERE, width // 5)) if width else where,
            crop(_who(row), WHAT) if width else shown(f"{row['speaker']} {row['kind']}"),
            "" if row["rank"] is None else str(row["rank"]),
            "" if row["step"] is None else str(row["step"]),
            _message(row, width or LONGEST, short=bool(width)),
        )


def _short(time: str) -> str:
    return time[5:19].replace("T", " ")


def _who(row: _Row) -> str:
    """Return who spoke, in a word: the kind of a step says more than that it is progress."""
    return shown(row["kind"] if row["speaker"] in {"progress", "observed"} else row["speaker"])


def _message(row: _Row, room: int, *, short: bool) -> str:
    text = shown(row["message"] or "")
    if row["memory_bytes"] is not None:
        text = _MEMORY.sub(lambda _: f"memory {format_size(row['memory_bytes'])}", text)
    if short and row["step"] is not None:
        text = _STEP.sub("", text, count=1)
    return crop(text, room)


def _line(cells: Sequence[str], widths: Sequence[int], width: int) -> str:
    padded = (cell + " " * (wide - cell_len(cell)) for cell, wide in zip(cells, widths, strict=False))
    line = "  ".join([*padded, cells[-1]]).rstrip()
    return crop(line, width) if width else line
