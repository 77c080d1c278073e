"""Which lines are shown: `rank:3 level:error -speaker:nccl "out of memory"`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from forensics.model import Context, Line
from forensics.text.prefix import peel
from forensics.tui.query import ERRORS, text_of

PEELED = 4096
"""Bytes at the beginning of a line in which its rank and level are looked for."""
LEVELS = {
    "err": "error", "fatal": "critical", "crit": "critical", "warn": "warning", "w": "warning", "e": "error",
    "i": "info", "d": "debug",
}  # fmt: skip
_ERROR = re.compile(ERRORS)
_WORD = re.compile(r'(-?)(?:(rank|level|speaker|text):)?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
_DIGITS = re.compile(rb"\d")


class FilterError(ValueError):
    """What was typed is no filter; the message says why."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a line may be asked for. Of one kind any will do; of each kind that is given, one must fit."""

    ranks: frozenset[int] = frozenset()
    levels: frozenset[str] = frozenset()
    speakers: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranks or self.levels or self.speakers or self.texts)


@dataclass(frozen=True, slots=True)
class Filter:
    """Lines wanted and lines not wanted; `said` is as it was typed."""

    said: str
    wanted: Terms = field(default_factory=Terms)
    unwanted: Terms = field(default_factory=Terms)

    def passes(self, line: bytes, number: int, context: Context, spoken: Mapping[str, Collection[int]]) -> bool:
        """Tell whether a line is shown; `spoken` holds the numbers of the lines that each speaker's events cite."""
        seen = _Seen(line, number, context, spoken)
        wanted, unwanted = self.wanted, self.unwanted
        # What is cheap to know is asked first.
        if wanted.speakers and not seen.speaks(wanted.speakers):
            return False
        if wanted.texts and not all(seen.says(text) for text in wanted.texts):
            return False
        if any(seen.says(text) for text in unwanted.texts):
            return False
        if unwanted.speakers and seen.speaks(unwanted.speakers):
            return False
        if wanted.ranks and seen.rank not in wanted.ranks:
            return False
        if unwanted.ranks and seen.rank in unwanted.ranks:
            return False
        if wanted.levels and seen.level not in wanted.levels:
            return False
        return not (unwanted.levels and seen.level in unwanted.levels)


class _Seen:
    """One line, read no further than is asked for."""

    def __init__(self, line: bytes, number: int, context: Context, spoken: Mapping[str, Collection[int]]) -> None:
        self._line = line
        self._number = number
        self._context = context
        self._spoken = spoken
        self._text: str | None = None

    def says(self, text: str) -> bool:
        if self._text is None:
            self._text = text_of(self._line)
        return text in self._text if text != text.lower() else text in self._text.lower()

    def speaks(self, speakers: Collection[str]) -> bool:
        return any(self._number in self._spoken.get(speaker, ()) for speaker in speakers)

    @property
    def rank(self) -> int | None:
        hint = self._context.source.rank
        if hint is None and not _DIGITS.search(self._line[:PEELED]):
            return None
        rank = who(self._line, self._number, self._context)[0]
        return hint if rank is None else rank

    @property
    def level(self) -> str | None:
        return who(self._line, self._number, self._context)[1]


def who(line: bytes, number: int, context: Context) -> tuple[int | None, str | None, float | None]:
    """Return the rank, the level and the time of a line, as far as it tells them.

    A line without a level of its own that tells of an error is one.
    """
    if len(line) > PEELED:
        line = line.rstrip(b"\r").rpartition(b"\r")[2][:PEELED]
    elif b"\r" in line:
        line = line.rstrip(b"\r").rpartition(b"\r")[2]
    text = line.decode("utf-8", "replace")
    record = peel(Line(number, 0, 0, text), context)
    level = record.level
    if level is None:
        level = "error" if _ERROR.search(record.text) else "warning" if "Warning: " in text else None
    return record.rank, level, record.time


def parse(said: str, ranks: Collection[int] = (), speakers: Collection[str] = ()) -> Filter | None:
    """Return the filter that was typed, None for none.

    Args:
        said: words to hold, `rank:`, `level:`, `speaker:` with values and commas; `-` before one turns it round.
        ranks: those there are, for a message; empty where that is not known.
        speakers: those there are, as well.

    Raises:
        FilterError: a rank is no number, or nothing is of that rank or speaker.
    """
    chosen: tuple[dict[str, set[str]], dict[str, set[str]]] = ({}, {})
    texts: tuple[list[str], list[str]] = ([], [])
    for match in _WORD.finditer(said):
        out, kind, quoted, bare = match.groups()
        value = quoted if quoted is not None else bare
        if not kind or kind.lower() == "text":
            texts[bool(out)].append(value)
            continue
        parts = {part.lower() for part in value.split(",") if part}
        chosen[bool(out)].setdefault(kind.lower(), set()).update(parts)
    for terms in chosen:
        _check("rank", terms.get("rank", ()), {str(rank) for rank in ranks})
        _check("speaker", terms.get("speaker", ()), speakers)
    wanted, unwanted = (_terms(*both) for both in zip(chosen, texts, strict=True))
    return Filter(said.strip(), wanted, unwanted) if wanted or unwanted else None


def _check(kind: str, given: Collection[str], known: Collection[str]) -> None:
    for value in given:
        if kind == "rank" and not (value.isdecimal() and len(value) < 8):
            raise FilterError(f"a rank is a number, not {value}")
        if known and value not in known:
            there = ", ".join(sorted(known, key=lambda name: (len(name), name))[:12])
            raise FilterError(f"there is no {kind} {value}; there is {there}")


def _terms(chosen: Mapping[str, set[str]], texts: list[str]) -> Terms:
    levels = {LEVELS.get(level, level) for level in chosen.get("level", ())}
    if "error" in levels:
        levels.add("critical")
    return Terms(
        frozenset(int(rank) for rank in chosen.get("rank", ())),
        frozenset(levels),
        frozenset(chosen.get("speaker", ())),
        tuple(text for text in texts if text),
    )
