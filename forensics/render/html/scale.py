"""Axes: round steps, and numbers, sizes and times as labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPANS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
          3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)  # fmt: skip
_SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


class Scale(Struct, frozen=True):
    """A range of values on a range of the drawing; `log` where the values span magnitudes."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where a value is drawn, to a tenth of a unit."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        share = 0.5 if high <= low else (value - low) / (high - low)
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round values of a range, at most about so many."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * m for m in (1, 2, 2.5, 5, 10, 20) if span / (power * m) <= most)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, first + most + 2) if n * step <= high + step * 1e-9]


def whole_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round whole numbers of a range."""
    return sorted({float(round(value)) for value in ticks(low, high, most) if value == round(value)}) or [low]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten of a range, thinned to a handful."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**n for n in range(first, last + 1, max(1, (last - first) // 4))]


def size_ticks(high: float, most: int = 4) -> list[float]:
    """Return sizes in bytes that are round in the unit of the largest."""
    factor = unit_of(high)[1]
    return [tick * factor for tick in ticks(0, high / factor, most)]


def time_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return moments that are round on a clock, in seconds since the epoch."""
    span = high - low
    step = next((s for s in _SPANS if span / s <= most), math.ceil(span / most / 604_800) * 604_800)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, first + most + 2) if n * step <= high]


def unit_of(largest: float) -> tuple[str, int]:
    """Return the unit in which sizes up to that many bytes read well, and its bytes."""
    return next(((name, size) for name, size in _SIZES if abs(largest) >= size), ("bytes", 1))


def labels(values: Sequence[float], write: Callable[[float, int], str]) -> list[str]:
    """Return labels that tell the values of an axis apart, with as few digits as that takes."""
    for digits in range(3, 9):
        found = [write(value, digits) for value in values]
        if len(set(found)) == len(found):
            break
    return found if values else []


def number(value: float, digits: int = 3) -> str:
    """Return a number in few characters: `9.19`, `41k`, `2.6M`, `1e-05`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    for size, prefix in _PREFIXES:
        if abs(value) >= size and abs(value) < 1e16:
            factor = 1e3 if prefix == "k" else size
            return f"{_short(value / factor, digits)}{prefix}"
    return _short(value, digits) if abs(value) >= 1e-3 else f"{value:.{digits - 1}g}"


def size(value: float, largest: float | None = None) -> str:
    """Return bytes in the unit that suits the largest of them: `5.4 GiB`."""
    if not math.isfinite(value):
        return number(value)
    name, factor = unit_of(value if largest is None else largest)
    return f"{_short(value / factor)} {name}"


def seconds(value: float, digits: int = 3) -> str:
    """Return a duration: `51 ms`, `2.4 s`, `12 min`."""
    if not math.isfinite(value):
        return number(value)
    if 0 < abs(value) < 1:
        return f"{_short(value * 1000, digits)} ms"
    return f"{_short(value, digits)} s" if abs(value) < 600 else f"{_short(value / 60, digits)} min"


def clock(value: float, span: float) -> str:
    """Return a moment as a label, as fine as the span of its axis asks for."""
    try:
        moment = _EPOCH + timedelta(seconds=value)
    except (OverflowError, ValueError):
        return "?"
    if span > 2 * 86_400:
        return moment.strftime("%m-%d %H:%M")
    text = moment.strftime("%H:%M:%S" if span < 7200 else "%H:%M")
    return f"{text}.{moment.microsecond // 1000:03d}" if span < 3 else text


def day(low: float, high: float) -> str:
    """Return the day, or the days, that an axis of moments covers."""
    try:
        first, last = (f"{_EPOCH + timedelta(seconds=value):%Y-%m-%d}" for value in (low, high))
    except (OverflowError, ValueError):
        return "UTC"
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def spread(values: Sequence[float], *, zero: bool = False) -> tuple[float, float]:
    """Return a range that holds the values with a little air, and zero where that is asked for."""
    low, high = min(values), max(values)
    if zero:
        low, high = min(0.0, low), max(0.0, high)
    air = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return (low - air if low < 0 or low > air else 0.0), high + air


def _short(value: float, digits: int = 3) -> str:
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) < 1e15 else text
