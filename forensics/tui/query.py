"""What is searched for: words as they stand, or a regular expression that may not take for ever.

Lower case finds both cases, as in `less -i`; a capital letter is meant.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import regex

from forensics.text import ansi

PATIENCE_S = 2.0
"""Seconds that a pattern may take for a piece of a log before the search is given up."""
BRIEF_S = 0.05
"""Seconds that finding what to highlight may take."""
MOST_SPANS = 200
_BEYOND_A_LINE = regex.compile(r"\(\?(?![:P])|[*+?}]\+|\\[AZGzKX]|\\[nrRvs]|\[\^|\\[WDS]")
"""Parts of a pattern whose meaning can change where it is tried on many lines at once."""

ERRORS = (
    r"\b(?:ERROR|FATAL|CRITICAL|PANIC|Traceback \(most recent call last\)|Segmentation fault|Killed$|Xid|SIG[A-Z]{3,6}"
    r"|(?:[A-Z]\w*)?(?:Error|Exception):|core dumped|CUDA error|NCCL WARN)|^\[?(?:rank\d+\]:)?\[?E\d{4} "
)


class PatternError(ValueError):
    """What was typed is no regular expression; the message says why."""


class TooSlowError(Exception):
    """A pattern took too long; `offset` is where in the source."""

    def __init__(self, offset: int) -> None:
        super().__init__("the pattern takes too long here")
        self.offset = offset


@dataclass(frozen=True)
class Query:
    """Words or a pattern to look for."""

    text: str
    is_regex: bool = False

    @cached_property
    def _pattern(self) -> regex.Pattern[str]:
        return self._compile(self.text if self.is_regex else regex.escape(self.text))

    @cached_property
    def _quick(self) -> regex.Pattern[bytes] | None:
        """Return a pattern that finds all lines in question, and maybe more, in a piece of many lines."""
        if self.is_regex and (_BEYOND_A_LINE.search(self.text) or not self.text.isascii()):
            return None
        if not self.text.isascii() and self.text == self.text.lower():
            return None
        source = self.text if self.is_regex else regex.escape(self.text)
        return regex.compile(source.encode(), self._flags())

    def _flags(self) -> int:
        ignore = 0 if any(character.isupper() for character in self._letters()) else regex.IGNORECASE
        return int(regex.MULTILINE | regex.VERSION0 | ignore)

    def _letters(self) -> str:
        return regex.sub(r"\\.", "", self.text) if self.is_regex else self.text

    def _compile(self, source: str) -> regex.Pattern[str]:
        try:
            return regex.compile(source, self._flags())
        except (regex.error, OverflowError, RecursionError) as error:
            raise PatternError(str(error)) from error

    def check(self) -> None:
        """Raise PatternError where the pattern cannot be used."""
        _ = self._pattern

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where a text shown on the screen holds it, for highlighting."""
        found: list[tuple[int, int]] = []
        with contextlib.suppress(TimeoutError):
            for match in self._pattern.finditer(text, timeout=BRIEF_S):
                if match.end() > match.start():
                    found.append(match.span())
                if len(found) >= MOST_SPANS:
                    break
        return found

    def holds(self, text: str) -> bool:
        """Tell whether a line holds it. Raises TimeoutError."""
        return self._pattern.search(text, timeout=PATIENCE_S, concurrent=True) is not None

    def lines(self, block: bytes, *, last_first: bool = False) -> Iterator[int]:
        """Yield where the lines of a piece begin that hold it. Raises TimeoutError."""
        quick = self._quick
        plain = b"\x1b" not in block and b"\x08" not in block and (not self.is_regex or block.isascii())
        if quick is None or not plain:
            yield from self._each(block, last_first=last_first)
            return
        if last_first:
            yield from reversed(list(self._found(quick, block)))
        else:
            yield from self._found(quick, block)

    def _found(self, quick: regex.Pattern[bytes], block: bytes) -> Iterator[int]:
        at = 0
        while match := quick.search(block, at, timeout=PATIENCE_S, concurrent=True):
            start = block.rfind(b"\n", 0, match.start()) + 1
            end = block.find(b"\n", match.start())
            end = len(block) if end < 0 else end
            if start >= at and self.holds(text_of(block[start:end])):
                yield start
            at = end + 1
            if at >= len(block):
                return

    def _each(self, block: bytes, *, last_first: bool) -> Iterator[int]:
        starts = []
        at = 0
        while at < len(block):
            starts.append(at)
            at = block.find(b"\n", at) + 1 or len(block)
        for start in reversed(starts) if last_first else starts:
            end = block.find(b"\n", start)
            if self.holds(text_of(block[start : len(block) if end < 0 else end])):
                yield start


def text_of(line: bytes) -> str:
    """Return a line as it is searched: without escape sequences, its records side by side."""
    text = line.decode("utf-8", "replace")
    if text.isprintable():
        return text
    return ansi.strip(text.replace("\r", "\n")) if "\r" in text else ansi.strip(text)
