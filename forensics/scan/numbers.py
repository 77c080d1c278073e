"""Numbers behind a literal, of thousands of records at once."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Texts = npt.NDArray[np.uint8]

WIDTH = 40
"""Bytes of a text that are looked at: blanks, a sign, and what floating point prints at its longest."""
_CELL = np.dtype(f"V{WIDTH}")
_BLANKS = 8
_SPACE, _MINUS, _PLUS, _DOT, _ZERO = b" -+.0"
_LONG = re.compile(rb"\d{1,24}(?:\.\d{0,12})?")
_EXPONENT = re.compile(rb"[eE]([-+]?\d{1,3})")


def _bytes(value: int) -> np.uint64:
    """Return a word of eight equal bytes."""
    return np.uint64(value * 0x0101010101010101)


_WIDE = 8
"""Bytes of a word."""
_POWERS = 10.0 ** np.arange(3 * _WIDE)
_ONES, _ZEROS, _BELOW_HIGH, _HIGH, _TEN_TO_HIGH = map(_bytes, (1, _ZERO, 0x7F, 0x80, 0x80 - 10))
_PAIRS, _FOURS, _EIGHTS = map(np.uint64, (0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0xFFFFFFFF))
_1, _7, _8, _10, _16, _32, _56, _64, _100, _255 = map(np.uint64, (1, 7, 8, 10, 16, 32, 56, 64, 100, 255))
_10000 = np.uint64(10_000)
_POINT, _FIVE = map(np.uint64, (_DOT ^ _ZERO, 0xFFFFFFFFFF))
"""The point less a zero, and the five bytes that an exponent may take."""
_LOWER, _E = 0x20, ord("e")
"""The bit of small letters."""


def places(block: bytes, literal: bytes) -> Places:
    """Return where each occurrence of a literal ends, in order."""
    try:
        import stringzilla
    except ImportError:
        return np.fromiter((m.end() for m in re.finditer(re.escape(literal), block)), np.int64)
    parts = stringzilla.Str(block).split(literal)
    ends = len(literal) * np.arange(1, len(parts))
    # Where nothing stands between them there are no offsets: to ask for them ends the process.
    return ends if len(ends) * len(literal) in {0, len(block)} else _starts(parts) + ends


def _starts(parts: Any) -> Places:
    """Return where the parts of a split begin, the first left out.

    Their offsets lie in memory as Arrow has them, counted without the separators.
    """
    count = len(parts) - 1
    kind = np.dtype(np.uint64 if parts.offsets_are_large else np.uint32)
    # Not an array type of ctypes: one would be made anew for each count, which takes longer than the search.
    offsets = np.frombuffer(ctypes.string_at(parts.offsets_address, kind.itemsize * (count + 1)), kind)[1:]
    return offsets.astype(np.int64)


def texts(block: bytes, starts: Places) -> Texts:
    """Return the beginning of what stands at each place of a block: one byte less than `WIDTH`, and a zero.

    Returns:
        Shape (rows, `WIDTH`); behind the end of the block there are zeros.
    """
    end = len(block) - WIDTH
    outside = starts > end
    if not outside.any():
        found = _cells(block)[starts]
    else:
        found = np.empty(len(starts), _CELL)
        found[~outside] = _cells(block)[starts[~outside]]
        last = max(0, end)
        found[outside] = _cells(block[last:] + bytes(WIDTH))[starts[outside] - last]
    rows = found.view(np.uint8).reshape(-1, WIDTH)
    rows[:, -1] = 0
    return rows


def _cells(block: bytes) -> npt.NDArray[np.void]:
    """Return a view of the block with a cell at each byte."""
    return np.ndarray((max(0, len(block) - WIDTH + 1),), _CELL, block, strides=(1,))


def numbers(pieces: Sequence[Texts]) -> Values:
    """Read the decimal number with which each text begins, blanks before it skipped.

    Args:
        pieces: texts, each of shape (rows, `WIDTH`).

    Returns:
        Shape (all rows,). NaN where no digit stands there, so for `nan` and `inf` too. Good for
        comparing: of a fraction eight digits are read.
    """
    data = np.concatenate([*(piece.reshape(-1) for piece in pieces), np.zeros(_WIDE, np.uint8)])
    return _read(data, np.arange(0, len(data) - _WIDE, WIDTH))


def _read(data: npt.NDArray[np.uint8], starts: Places) -> Values:
    first = data[starts]
    for _ in range(_BLANKS):
        blank = first == _SPACE
        if not blank.any():
            break
        starts = starts + blank
        first = data[starts]
    signed = (first == _MINUS) | (first == _PLUS)
    if signed.any():
        starts = starts + signed
    words = np.ndarray((len(data) - _WIDE + 1,), "<u8", data, strides=(1,))
    values, taken, whole = _decimals(words[starts])
    ends = starts + taken
    more = np.flatnonzero((taken == _WIDE) & _may_go_on(data[ends]))
    if len(more):
        _go_on(data, words, more, values, whole, starts, ends)
    _scale(data, words, ends, values)
    if signed.any():
        values[first == _MINUS] *= -1
    values[whole == 0] = np.nan
    return values


def _decimals(words: Words) -> tuple[Values, Places, Places]:
    """Read the decimal numbers with which words begin.

    Returns:
        The numbers, how many bytes each takes, and how many of them stand before its point.
    """
    digits = words ^ _ZEROS
    other = _no_digits(digits)
    first = other & (~other + _1)
    before = (first >> _7) - _1
    whole = _bytes_in(before)
    dotted = (digits >> (whole * _8)) & _255 == _POINT
    if not dotted.any():
        return _joined(digits, whole), whole.astype(np.int64), whole.astype(np.int64)
    taken = _bytes_in(_below(other ^ (first * dotted)))
    # Where there is no point, this changes only what is shifted out.
    digits = np.bitwise_or(digits & before, (digits >> _8) & ~before)
    values = _joined(digits, taken - dotted)
    behind = (taken - whole - dotted).astype(np.int64)
    return values / _POWERS[behind], taken.astype(np.int64), whole.astype(np.int64)


def _may_go_on(behind: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    goes_on: npt.NDArray[np.bool_] = (behind - _ZERO < 10) | (behind == _DOT)
    return goes_on


def _no_digits(digits: Words) -> Words:
    """Set the highest bit, and no other, of each byte that is no digit; `digits` are bytes less that of a zero."""
    return (((digits & _BELOW_HIGH) + _TEN_TO_HIGH) | digits) & _HIGH


def _below(marks: Words) -> Words:
    """Set all bits of the bytes below the first one that is marked."""
    return ((marks & (~marks + _1)) >> _7) - _1


def _bytes_in(mask: Words) -> Words:
    """Count the bytes of a mask."""
    return ((mask & _ONES) * _ONES) >> _56


def _joined(digits: Words, count: Words) -> Values:
    """Make one number of the first `count` digits of each word.

    What follows them is shifted out at the upper end, so that zeros lead; then neighbours are joined to pairs, to
    fours, and to eight digits.
    """
    digits = digits << (_64 - count * _8)
    digits = (digits * _10 + (digits >> _8)) & _PAIRS
    digits = (digits * _100 + (digits >> _16)) & _FOURS
    return ((digits * _10000 + (digits >> _32)) & _EIGHTS).astype(np.float64)


def _go_on(
    data: npt.NDArray[np.uint8],
    words: Words,
    rows: Places,
    values: Values,
    whole: Places,
    starts: Places,
    ends: Places,
) -> None:
    """Read on where a number fills a word: another one behind its point, as a whole if that was not reached."""
    for row in rows[whole[rows] == _WIDE]:
        if found := _LONG.match(data.data, int(starts[row])):
            values[row], ends[row] = float(found[0]), found.end()
    rows = rows[(whole[rows] < _WIDE) & (whole[rows] > 0)]
    scale = _WIDE - 1 - whole[rows]
    for turn in range(WIDTH // _WIDE):
        digits = words[ends[rows]] ^ _ZEROS
        count = _bytes_in(_below(_no_digits(digits)))
        if not turn:
            values[rows] += _joined(digits, count) / _POWERS[scale + count.astype(np.int64)]
        ends[rows] += count.astype(np.int64)
        rows = rows[count == _WIDE]
        if not len(rows):
            break


def _scale(data: Texts, words: Words, ends: Places, values: Values) -> None:
    """Apply the exponents of numbers such as 1.05E+01, whose mantissa ends at `ends`; they are few."""
    rows = np.flatnonzero(data[ends] | _LOWER == _E)
    forms = words[ends[rows]] & _FIVE
    while len(rows):
        alike = forms == forms[0]
        with np.errstate(over="ignore", invalid="ignore"):
            values[rows[alike]] *= _factor(int(forms[0]))
        rows, forms = rows[~alike], forms[~alike]


def _factor(form: int) -> float:
    """Return the power of ten that an exponent means, 1 where it is none."""
    found = _EXPONENT.match(form.to_bytes(_WIDE, "little"))
    return float(b"1e" + found[1]) if found else 1.0
