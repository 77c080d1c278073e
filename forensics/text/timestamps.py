"""The time a line begins with, in the forms that logs print.

A form is tried only when the first character allows it. A bare number is never a
time, whatever its value; a time of day without a date, and the kernel's seconds
since boot, are taken off the line but give no time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from msgspec import Struct

from forensics.text.lazy import lazy

_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
_MONTH = rf"(?P<mon>{'|'.join(_MONTHS)})"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.?,?"
_CLOCK = r"(?P<H>[01]?\d|2[0-3]):(?P<M>[0-5]\d):(?P<S>[0-5]\d|60)(?:[.,](?P<frac>\d{1,9}+))?+(?!\d|:\d)"
_ZONE = r"(?P<zone>\ ?Z\b|\ ?[+-](?:0\d|1[0-4]):?[0-5]\d(?![\d.:])|[+-](?:0\d|1[0-4])(?![\d.:])|\ (?:UTC|GMT)\b)?"
_ISO = rf"(?P<Y>19[7-9]\d|20\d\d|21\d\d)(?P<sep>[-/.])(?P<m>\d\d)(?P=sep)(?P<d>\d\d)[T ,_-]{{1,2}}{_CLOCK}{_ZONE}"


class _Form(Struct, frozen=True):
    """One way of writing a time, and which parts of it the form has."""

    match: Callable[[str, int], re.Match[str] | None]
    parts: frozenset[str]


_NUMERIC: tuple[str, ...] = (
    _ISO,
    rf"(?P<m>\d\d?)/(?P<d>\d\d?)/(?P<Y>20\d\d|\d\d)[ ,T]\ ?{_CLOCK}(?P<half>\ [AaPp][Mm]\b)?{_ZONE}",
    rf"(?P<m>\d\d)[-/](?P<d>\d\d)\ {_CLOCK}",
    rf"(?P<Y>20\d\d)(?P<m>\d\d)(?P<d>\d\d)[ T_-]{_CLOCK}",
    rf"(?P<d>\d\d)[/-]{_MONTH}[/-](?P<Y>20\d\d)[: ]{_CLOCK}{_ZONE}",
    r"(?P<H>[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d{1,9}+)?+(?=[]\s|:,-]|$)(?!:\d)",
)
_GLOG: tuple[str, ...] = (
    rf"[IWEFDVC](?P<Y>20\d\d)(?P<m>\d\d)(?P<d>\d\d)\ {_CLOCK}",
    rf"[IWEFDVC](?P<m>\d\d?)(?P<d>\d\d)\ {_CLOCK}",
    r"[IWEF]0000\ 00:00:(?P<epoch>[1-3]\d{9}\.\d{6})(?!\d)",  # Abseil before its log is set up
)
_WORDY: tuple[str, ...] = (
    (  # ctime and date(1), with or without a zone or a half day
        rf"{_WEEKDAY}\ +{_MONTH}\ +(?P<d>\d\d?)\ {_CLOCK}(?P<half>\ [AP]M)?\ (?:(?P<tz>[A-Z]{{2,5}})\ )?"
        r"(?P<Y>\d{4})(?!\d)"
    ),
    rf"{_WEEKDAY}\ +(?P<d>\d\d?)\ {_MONTH}\ (?P<Y>\d{{4}})\ {_CLOCK}(?P<half>\ [AP]M)?{_ZONE}",
    rf"{_WEEKDAY}\ {_ISO}",  # journalctl -o short-full
    rf"{_MONTH}\ +(?P<d>\d\d?)\ {_CLOCK}(?=\ )",  # syslog
)
_LEVEL = lazy(r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\s{1,5}(?=\d\d)")
_KERNEL = lazy(r"\[\ {0,8}\d{1,9}\.\d{6}(?:\]|(?:,\d{1,3})?@\d{1,4}\])")
_TAIL = lazy(r"(?:\ (?:stdout|stderr)\ [FP](?:\ |$)|\ (?:[-|]|>>)(?:\ |$)|:(?:\ |$)|\ )?")
_IN_BRACKET = lazy(r"[^][]{0,80}\]")

_CAPITALS = frozenset("MTWFSJAOND")
_GLOG_LETTERS = frozenset("IWEFDVC")
_LEVEL_LETTERS = frozenset("DIWECF")
_ANY_YEAR = 2000  # has every day that a year can have


@lru_cache(maxsize=256)
def _day(year: int, month: int, day: int) -> int | None:
    """Seconds from the epoch to the start of a day, or None where there is no such day."""
    try:
        return (date(year, month, day).toordinal() - _EPOCH) * 86_400
    except ValueError:
        return None


def _offset(zone: str) -> float:
    """Seconds east of UTC of `Z`, ` UTC`, `+02:00`, `-0330`, `+05`."""
    zone = zone.strip()
    if zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return float(-seconds if zone[0] == "-" else seconds)


def _written_day(match: re.Match[str], parts: frozenset[str], year: int | None) -> tuple[int | None, bool]:
    """Where the day of a match begins (None if no year is known), and whether there is such a day."""
    day = int(match["d"])
    month = _MONTHS[match["mon"]] if "mon" in parts else int(match["m"])
    if month > 12 >= day and "sep" not in parts:
        month, day = day, month  # day first: 23/09/2026
    if "Y" in parts:
        year = int(match["Y"])
        start = _day(year if year > 99 else year + 2000, month, day)
        return start, start is not None
    return None if year is None else _day(year, month, day), _day(_ANY_YEAR, month, day) is not None


def _seconds(
    match: re.Match[str], parts: frozenset[str], year: int | None, utc_offset_s: float
) -> tuple[float | None, bool]:
    """The time of a match as seconds since the epoch, and whether it is possible at all."""
    if "epoch" in parts:
        return float(match["epoch"]), True
    if "d" not in parts:  # a time of day
        return None, True
    start, possible = _written_day(match, parts, year)
    if start is None:
        return None, possible
    hour = int(match["H"])
    if "half" in parts and (half := match["half"]):
        hour = hour % 12 + (12 if half[1] in "Pp" else 0)
    seconds: float = start + hour * 3600 + int(match["M"]) * 60 + int(match["S"])
    fraction = match["frac"]
    if fraction:
        seconds += float("0." + fraction)
    if "zone" in parts and (zone := match["zone"]):
        return seconds - _offset(zone), True
    if "tz" in parts and match["tz"] in {"UTC", "GMT"}:
        return seconds, True
    return seconds - utc_offset_s, True


@lru_cache(maxsize=256)
def _forms(first: str) -> tuple[_Form, ...]:
    """The forms that begin with a character; compiled when one does, because most logs show few."""
    if first.isdecimal():
        patterns = _NUMERIC
    else:
        patterns = (_WORDY if first in _CAPITALS else ()) + (_GLOG if first in _GLOG_LETTERS else ())
    compiled = [lazy(pattern) for pattern in patterns]
    return tuple(_Form(form.match, frozenset(form.groupindex)) for form in compiled)


def leading_time(text: str, *, year: int | None = None, utc_offset_s: float = 0.0) -> tuple[float | None, int]:
    """Find the time at the very start of a line.

    Args:
        text: one line, without escape sequences.
        year: the year of dates that print none (glog, syslog, vLLM).
        utc_offset_s: seconds east of UTC of times that name no zone.

    Returns:
        Seconds since the epoch (None where the form tells no date, or no year is
        known), and how many characters belong to the time: its brackets and one
        separator (a blank, ` - `, ` | `, `: `, a container's ` stdout F `) included.
        `(None, 0)` where the line does not begin with a time.
    """
    at = 0
    first = text[:1]
    if first in _LEVEL_LETTERS and (level := _LEVEL.match(text)):
        at = level.end()
        first = text[at]
    bracket = first == "["
    if bracket:
        kernel = _KERNEL.match(text)
        if kernel:
            return None, _closed(text, kernel.end())
        at += 1
        first = text[at : at + 1]
    if not first:
        return None, 0
    for form in _forms(first):
        match = form.match(text, at)
        if match is None:
            continue
        seconds, possible = _seconds(match, form.parts, year, utc_offset_s)
        if not possible:
            continue
        end = match.end()
        if bracket:
            closing = _IN_BRACKET.match(text, end)
            if closing is None or (text[end] != "]" and "d" not in form.parts):
                continue  # `[00:12:33, 3.4it/s]` measures a duration
            end = closing.end()
        return seconds, _closed(text, end)
    return None, 0


def _closed(text: str, end: int) -> int:
    tail = _TAIL.match(text, end)
    return tail.end() if tail else end
