"""Marks that capture leaves on a text: NUL runs, a torn last line, a terminal's wraps.

All of it is judged from the text alone, by comparing lines with their siblings.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from forensics.text.lazy import lazy, lazy_bytes
from forensics.text.timestamps import leading_time

_BLOCK = 4096
_ROUND = 10_000
_NARROWEST, _WIDEST = 40, 400
_NEAR = 8
_SIBLINGS = 400
_LONG = 4000
_NUL_RUN = lazy_bytes(rb"\x00+")
_DIGITS = lazy(r"\d[\d.,:]*")
_PROGRAM = r"-?(?:ba|z|k|da)?sh|tee|tail|cat|ls|mkdir|nohup|timeout|setsid|env|ssh|srun|slurmstepd|tmux|python[\d.]*"
_START = lazy(
    r"(?:Traceback \(|  File \"|\[(?:rank|default)\d+\]:|Pane is dead|"
    r"\$ |[\w.-]{1,40}@[\w.-]{1,80}[: ][^$#%]{0,120}[$#%] |"
    # Complaints of shells and small programs, by name: another word before a colon may be the rest of a key.
    rf"(?:(?:/\S{{0,300}}/)?(?:{_PROGRAM})|\S{{1,300}}\.sh)(?::(?: line)? \d+)?: )"
)
_COLUMNS = lazy(r"\S {3,}\S.*\S {3,}\S")
_FEW, _MANY = 3, 20
_BAR = lazy(r"\|[\u2580-\u259f#=>. -]*(?:\||$)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def nul_runs(data: bytes) -> list[tuple[int, int]]:
    """Find runs of NUL bytes.

    Returns:
        `(offset, length)` of every run, in order.
    """
    return [(match.start(), match.end() - match.start()) for match in _NUL_RUN.finditer(data)]


def trailing_nuls(tail: bytes) -> int:
    """Count the NUL bytes at the very end."""
    if not tail.endswith(b"\0"):
        return 0
    if tail == bytes(len(tail)):  # a hole may have gigabytes of them, and comparing is five times as fast
        return len(tail)
    return len(tail) - len(tail.rstrip(b"\0"))


def is_limit(size: int) -> bool:
    """Tell whether a size is one that no writer chose: of whole 4096-byte blocks, or of tens of thousands of bytes.

    A cut or a full disk leaves the one, a limit that somebody set on a copy the other.
    """
    return size > 0 and (size % _BLOCK == 0 or size % _ROUND == 0)


def display_width(text: str) -> int:
    """Columns a text takes on a terminal: wide characters two, combining ones none.

    A text longer than any terminal is wide counts a column a character.
    """
    if text.isascii() or len(text) > 2 * _WIDEST:
        return len(text)
    return sum(map(_WIDTHS.__getitem__, text))


class _Widths(dict[str, int]):
    """The columns of characters, filled in as they are met."""

    def __missing__(self, character: str) -> int:
        wide = unicodedata.east_asian_width(character) in "WF"
        self[character] = width = 0 if unicodedata.combining(character) else 2 if wide else 1
        return width


_WIDTHS = _Widths()


def _head(line: str) -> str:
    """The shape of a line's first word: what lines of one kind share."""
    word = line.lstrip(" ")[:32].split(" ", 1)[0]
    return ("·" if line[:1] == " " else "") + _DIGITS.sub("0", word)


def _starts(line: str, heads: Counter[str]) -> bool:
    """Tell whether a line looks like the beginning of one, not like the rest of the one before."""
    return not line.strip() or heads[_head(line)] > 1 or _START.match(line) is not None or leading_time(line)[1] > 0


def pane_width(lines: Sequence[str], *, known: bool = False) -> int | None:
    """Find the width at which a terminal had wrapped the lines of a capture.

    A capture shows many lines of exactly that width (or one less, where the wrap fell
    on a blank, which the terminal does not keep), none wider, and behind them lines
    that do not begin like the others. Tables and fixed-width records have the first
    mark but not the last; text folded between words has lines of many widths.

    Args:
        lines: lines in order, without line ends and escapes; a few hundred are enough.
        known: whether they are known to come from a terminal, so that one wrap at a
            usual width is proof enough.

    Returns:
        The width in columns, or None where nothing was wrapped.
    """
    lines = [line.rstrip("\r\n") for line in lines]
    widths = [len(line) if line.isascii() else display_width(line) for line in lines]
    most = max(widths, default=0)
    if not _NARROWEST - 1 <= most <= _WIDEST:
        return None
    full = [i for i in range(len(lines) - 1) if widths[i] == most]
    if len(full) < (1 if known else _FEW):
        return None
    few = full[: 2 * _MANY]
    heads = Counter(_head(lines[i]) for i in few)
    if sum(not _starts(lines[i + 1], heads) for i in few) * 2 < len(few):
        return None  # a quick no for records of a fixed width
    heads = Counter(_head(lines[i]) for i in full)
    wraps = [i for i in full if not _starts(lines[i + 1], heads)]
    near = sum(most - _NEAR <= width < most - 1 for width in widths)
    if not wraps or len(wraps) * 10 < len(full) * 6:
        return None
    # One message that many ranks print ends at one column too, so lines of one shape need more proof.
    cut_a_word = any(lines[i][-1].isalnum() and lines[i + 1][0].isalnum() for i in wraps)
    varied = cut_a_word and len({_shape(lines[i]) for i in wraps}) > 1
    regular = len(wraps) >= _MANY and not near and (_round(most) or _round(most + 1))
    proven = len(wraps) >= _FEW and near <= len(wraps) and (varied or regular)
    goes_on = any(lines[i + 1][0].islower() for i in wraps)
    blank_kept = any(lines[i + 1][0] == " " and lines[i + 1][1:2].islower() for i in wraps)
    usual = ((cut_a_word or blank_kept) and _round(most)) or (goes_on and _round(most + 1))
    if not proven and not (known and usual):
        return None
    if len(wraps) < _NEAR and any(_COLUMNS.search(lines[i]) for i in wraps):
        return None
    width = most + 1 if _lost_blanks(lines, wraps, most) else most
    return width if _NARROWEST <= width <= _WIDEST else None


def _round(width: int) -> bool:
    return width % 10 == 0 or width in {132, 204, 208, 211, 238}


def _lost_blanks(lines: Sequence[str], wraps: Sequence[int], most: int) -> bool:
    """Tell whether every wrap fell on a blank, so that the pane is one wider than its text.

    Lines of one format all wrap at the same place. If that was a blank, no line shows
    the full width. A round width decides; else how the joined characters stand elsewhere.
    """
    if _round(most) or _round(most + 1):
        return not _round(most)
    text = "\n".join(lines)
    votes = 0
    for at in Counter(lines[i + 1][0] for i in wraps):
        if not at.isalnum():
            apart, together = text.count(" " + at), text.count(at) - text.count("\n" + at)
            votes += 1 if apart * 2 > together else -1
    return votes > 0


def rejoin(lines: Sequence[str], width: int) -> list[tuple[int, int, str]]:
    """Put lines together again that a terminal `width` columns wide had wrapped.

    A wrap at a blank lost that blank: a line one column short gets it back, if the
    next line does not look like a beginning.

    Returns:
        `(first, last, text)`: 0-based indexes of the physical lines, and the line.
    """
    widths = [display_width(line) for line in lines]
    heads = Counter(
        _head(line) for i, line in enumerate(lines) if line.strip() and (i == 0 or widths[i - 1] < width - 1)
    )
    joined: list[tuple[int, int, str]] = []
    at = 0
    while at < len(lines):
        parts = [lines[at]]
        last = at
        while last + 1 < len(lines) and width - 1 <= widths[last] <= width and not _starts(lines[last + 1], heads):
            if widths[last] == width - 1:
                parts.append(" ")
            last += 1
            parts.append(lines[last])
        joined.append((at, last, "".join(parts)))
        at = last + 1
    return joined


def _shape(line: str) -> str:
    """A line without what differs between records of one format: digits, blanks, the length of a bar."""
    return " ".join(_BAR.sub("|", _DIGITS.sub("0", line[:_LONG])).split())


def looks_torn(last: str, previous: Sequence[str]) -> bool:
    """Tell whether a last line without a line end breaks off, by its siblings before it.

    Args:
        last: the last line.
        previous: lines before it, in order.

    Returns:
        True where lines of the same beginning go on further, where a bracket opened
        by the first character never closes, or where a character is cut in two.
    """
    *before, last = last.split("\r")
    if not last.strip():
        return False
    if last.endswith("\ufffd"):
        return True
    closing = _PAIRS.get(last.lstrip()[0])
    if closing is not None and closing not in last:
        return True
    head = _head(last)
    shape = _shape(last)
    records = [record for line in previous[-_SIBLINGS:] for record in line.split("\r")[-_SIBLINGS:]] + before
    siblings = [_shape(record) for record in records[-_SIBLINGS:] if _head(record).startswith(head)]
    longer = sum(len(other) > len(shape) and other.startswith(shape[:-1]) for other in siblings)
    same = sum(other == shape for other in siblings)
    return longer > 0 and longer > 4 * same
