"""Numbers behind a literal, of all records of a block at once."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

WIDTH = 16
"""Bytes of a number that are read; no trainer prints a longer mantissa."""
_MARGIN = 48
"""Bytes that must stand behind a number, so that none is read beyond the end of a block."""
_LINE_FEED = ord("\n")
_BLANKS = 8
_SPACE, _MINUS, _PLUS, _DOT, _ZERO = b" -+.0"
_GROUPS = 64


def line_ends(block: bytes) -> int:
    """Count the line ends of a block."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == _LINE_FEED))


def places(block: bytes, literal: bytes) -> Places:
    """Return where each occurrence of a literal ends, in order."""
    try:
        import stringzilla
    except ImportError:
        return np.fromiter((m.end() for m in re.finditer(re.escape(literal), block)), np.int64)
    return _starts(stringzilla.Str(block).split(literal), len(literal))


def _starts(parts: Any, width: int) -> Places:
    """Return where the parts of a split begin, the first left out.

    Their offsets lie in memory as Arrow has them, counted without the separators.
    """
    count = len(parts) - 1
    if count < 1:
        return np.empty(0, np.int64)
    kind = np.dtype(np.uint64 if parts.offsets_are_large else np.uint32)
    # Not an array type of ctypes: one would be made anew for each count, which takes longer than the search.
    offsets = np.frombuffer(ctypes.string_at(parts.offsets_address, kind.itemsize * (count + 1)), kind)[1:]
    return offsets.astype(np.int64) + width * np.arange(1, count + 1)


def numbers(block: bytes, starts: Places) -> Values:
    """Read the decimal number at each place of a block, blanks before it skipped.

    Args:
        block: the bytes.
        starts: shape (rows,), where the numbers begin, in order.

    Returns:
        Shape (rows,). NaN where no digit stands there, so for `nan` and `inf` too. Good for
        comparing: the last digit may be off.
    """
    if not len(starts):
        return np.empty(0)
    safe = len(block) - _MARGIN
    if starts[-1] < safe:
        return _read(block, starts)
    inside = starts[starts < safe]
    cut = max(0, safe)
    rest = _read(block[cut:] + bytes(_MARGIN), starts[len(inside) :] - cut)
    return np.concatenate((_read(block, inside), rest)) if len(inside) else rest


def _read(block: bytes, starts: Places) -> Values:
    data = np.frombuffer(block, np.uint8)
    first = data[starts]
    if (first == _SPACE).any():
        starts = starts + np.argmax(_windows(block, starts, _BLANKS) != _SPACE, axis=1)
        first = data[starts]
    signed = (first == _MINUS) | (first == _PLUS)
    if signed.any():
        starts = starts + signed
    text = _windows(block, starts, WIDTH)
    digits = text - _ZERO  # wraps below, so that one comparison is enough
    is_dot = text == _DOT
    end = np.argmin((digits < 10) | is_dot, axis=1)
    dot = np.argmax(is_dot, axis=1)
    dot = np.where((dot < end) & is_dot[np.arange(len(dot)), dot], dot, end)
    values = _scaled(data, starts + end, _mantissas(digits, dot, end))
    if signed.any():
        values[first == _MINUS] *= -1
    values[(end == 0) | (digits[:, 0] > 9)] = np.nan
    return values


def _windows(block: bytes, starts: Places, width: int) -> npt.NDArray[np.uint8]:
    """Return the `width` bytes from each place on, shape (rows, width)."""
    every = np.ndarray((len(block) - width + 1, width), np.uint8, block, strides=(1, 1))
    return every[starts]


def _mantissas(digits: npt.NDArray[np.uint8], dot: Places, end: Places) -> Values:
    """Sum digits by their weight; the records of one format have their point at one place, so groups are few."""
    form = dot * (WIDTH + 1) + end
    values = np.full(len(form), np.nan)
    for key in np.flatnonzero(np.bincount(form))[:_GROUPS]:
        point, stop = divmod(int(key), WIDTH + 1)
        rows = slice(None) if form[0] == key and (form == key).all() else form == key
        used = [c for c in range(stop) if c != point]
        weights = 10.0 ** np.array([point - 1 - c if c < point else point - c for c in used])
        values[rows] = digits[rows][:, used] @ weights
    return values


def _scaled(data: npt.NDArray[np.uint8], ends: Places, values: Values) -> Values:
    """Apply the exponents of numbers such as 1.05E+01, whose mantissa ends at `ends`."""
    exponents = (data[ends] | 0x20) == ord("e")
    if not exponents.any():
        return values
    at = ends[exponents] + 1
    sign = data[at]
    at = at + ((sign == _MINUS) | (sign == _PLUS))
    digits = data[at[:, None] + np.arange(3)] - _ZERO
    power = np.zeros(len(at), np.int64)
    going = np.ones(len(at), bool)
    for column in range(3):
        going &= digits[:, column] < 10
        power = np.where(going, power * 10 + digits[:, column], power)
    scaled = values.copy()
    scaled[exponents] *= 10.0 ** np.where(sign == _MINUS, -power, power)
    return scaled
