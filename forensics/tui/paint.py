r"""Bytes of a log as text that a screen can take: nothing in it acts, and its width is known.

Colours that a program printed are kept if asked for, and nothing else of its escape sequences:
no hidden or blinking text, no links, no titles, no cursor. What a terminal would join with its
neighbours (emoji sequences, endless combining marks) is spelled out, since terminals disagree on
the width of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from forensics.text import ansi

TAB = 8
_SGR = re.compile(r"\x1b\[([\d;:]{0,80})m")
_JOINING = re.compile(
    "[\ufe00-\ufe0f\u034f\u115f-\u11ff\u17b4\u17b5\u180b-\u180f\u3164\uffa0\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff"
    "\U000e0100-\U000e01ef]"
)
_MARKS_KEPT = 2
_EFFECTS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class Escapes(Enum):
    """What becomes of the escape sequences of a log."""

    COLOURS = "colours"
    STRIPPED = "stripped"
    SPELLED = "spelled out"

    @property
    def following(self) -> Escapes:
        """Return the next one, round and round."""
        order = list(Escapes)
        return order[(order.index(self) + 1) % len(order)]


@dataclass(frozen=True, slots=True)
class Shown:
    """Harmless text and the styles of its parts, as (start, end, style)."""

    text: str
    spans: tuple[tuple[int, int, Style], ...] = ()


def show(data: bytes, escapes: Escapes = Escapes.COLOURS) -> Shown:
    """Return what a screen shows of the bytes of a row."""
    text = data.decode("utf-8", "replace")
    if text.isascii() and text.isprintable():
        return Shown(text)
    if escapes is not Escapes.COLOURS or "\x1b" not in text:
        return Shown(_inert(text if escapes is Escapes.SPELLED else ansi.strip(text), 0))
    parts: list[str] = []
    spans: list[tuple[int, int, Style]] = []
    state: dict[str, bool | Color] = {}
    column = 0
    pieces = _SGR.split(text)
    for index, piece in enumerate(pieces):
        if index % 2:
            _obey(piece, state)
            continue
        part = _inert(ansi.strip(piece), column)
        if part and state:
            spans.append((column, column + len(part), _style(state)))
        parts.append(part)
        column += len(part)
    return Shown("".join(parts), tuple(spans))


def _inert(text: str, column: int) -> str:
    if "\t" in text:
        text = (" " * (column % TAB) + text).expandtabs(TAB)[column % TAB :]
    text = ansi.visible(text, keep="")
    if text.isascii():
        return text
    return "".join(_few_marks(_JOINING.sub(lambda found: _spelled(found[0]), text)))


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _few_marks(text: str) -> Iterator[str]:
    marks = _MARKS_KEPT  # at the very beginning there is nothing that a mark could stand on
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        yield character if marks <= _MARKS_KEPT else _spelled(character)


def _obey(parameters: str, state: dict[str, bool | Color]) -> None:
    """Take over what a `CSI ... m` says about colours and emphasis."""
    codes = [int(code) if code.isdecimal() and len(code) < 5 else 0 for code in re.split("[;:]", parameters)]
    at = 0
    while at < len(codes):
        code = codes[at]
        if code == 0:
            state.clear()
        elif code in _EFFECTS:
            state[_EFFECTS[code]] = True
        elif code in _ENDS:
            for name in _ENDS[code]:
                state.pop(name, None)
        elif code in {38, 48}:
            at += _extended("color" if code == 38 else "bgcolor", codes[at + 1 : at + 6], state)
        elif code in {39, 49}:
            state.pop("color" if code == 39 else "bgcolor", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state["color"] = Color.from_ansi(code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state["bgcolor"] = Color.from_ansi(code - 40 if code < 100 else code - 92)
        at += 1


def _extended(name: str, codes: Sequence[int], state: dict[str, bool | Color]) -> int:
    """Read `5;N` or `2;R;G;B`; return how many codes it took."""
    if codes[:1] == [5] and len(codes) > 1:
        state[name] = Color.from_ansi(codes[1] & 255)
        return 2
    if codes[:1] == [2] and len(codes) > 3:
        state[name] = Color.from_rgb(*(code & 255 for code in codes[1:4]))
        return 4
    return 0


def _style(state: dict[str, bool | Color]) -> Style:
    color, background = state.get("color"), state.get("bgcolor")
    bold, dim, italic, underline, reverse, strike = (True if name in state else None for name in _EFFECTS.values())
    style = Style(bold=bold, dim=dim, italic=italic, underline=underline, reverse=reverse, strike=strike)
    if isinstance(color, Color):
        style += Style(color=color)
    if isinstance(background, Color) and background != color:  # the same would hide the text
        style += Style(bgcolor=background)
    return style


def folds(text: str, width: int, most: int) -> list[tuple[int, int]]:
    """Return where a text is folded into parts of at most `width` cells, `most` parts at most; at least one part."""
    parts: list[tuple[int, int]] = []
    at = 0
    while at < len(text) and len(parts) < most:
        end = fit(text, at, width)
        parts.append((at, end))
        at = end
    return parts or [(0, 0)]


def fit(text: str, at: int, width: int) -> int:
    """Return the end of the longest part from `at` on that takes at most `width` cells, at least one character."""
    end = min(len(text), at + width)
    part = text[at:end]
    if part.isascii():
        return end
    cells = 0
    for index, character in enumerate(text[at:], at):
        cells += cell_len(character)
        if cells > width:
            return max(index, at + 1)
    return len(text)


def from_cell(text: str, cell: int) -> int:
    """Return the index of the character that stands at a cell."""
    if cell <= 0 or text[:cell].isascii():
        return min(cell, len(text))
    cells = 0
    for index, character in enumerate(text):
        if cells >= cell:
            return index
        cells += cell_len(character)
    return len(text)


def segments(shown: Shown, start: int, end: int, base: Style, marks: Sequence[tuple[int, int, Style]]) -> list[Segment]:
    """Return a part of a text as segments: its own styles over `base`, `marks` over all."""
    spans = [span for span in (*shown.spans, *marks) if span[0] < end and span[1] > start]
    edges = sorted({start, end, *(min(max(edge, start), end) for span in spans for edge in span[:2])})
    made = []
    for low, high in pairwise(edges):
        style = base
        for span in spans:
            if span[0] <= low and span[1] >= high:
                style += span[2]
        made.append(Segment(shown.text[low:high], style))
    return made
