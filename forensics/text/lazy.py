"""Regular expressions compiled when they are first used.

A run of `analyze` on a small log uses a tenth of the patterns of all speakers, and
compiling the rest would take longer than the analysis. In a large log most lines have
nothing that a pattern needs, and looking for that is quicker than trying the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from forensics.text.anchors import quick_literals

OFTEN = 300
"""Searches after which it pays to know what a pattern needs."""


class _Lazy:
    """Stands in for `re.compile(pattern, flags)`; after the first use its methods are the compiled ones."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._source = (pattern, flags)
        self.search: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled: re.Pattern[Any] = re.compile(*self._source)
        self.search = self._counting(compiled)
        for method in ("match", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "groupindex"):
            setattr(self, method, getattr(compiled, method))
        return getattr(self, name) if name == "search" else getattr(compiled, name)

    def _counting(self, compiled: re.Pattern[Any]) -> Callable[..., Any]:
        """Return what searches, and counts how often it does."""
        left = OFTEN

        def search(text: Any, *places: int) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                self.search = self._sifting(compiled)
            return compiled.search(text, *places)

        return search

    def _sifting(self, compiled: re.Pattern[Any]) -> Callable[..., Any]:
        """Return what searches only where a text holds a literal that the pattern needs."""
        pattern, flags = self._source
        if not isinstance(pattern, str):
            return compiled.search
        literals, folded = quick_literals(pattern, flags)
        if not literals or (folded and not "".join(literals).isascii()):
            return compiled.search

        def search(text: str, *places: int) -> Any:
            # Beyond ASCII two letters may be one to a pattern that ignores case, and not in lower case.
            plain = text if not folded else text.lower() if text.isascii() else None
            if plain is not None:
                for literal in literals:
                    if literal in plain:
                        break
                else:
                    return None
            return compiled.search(text, *places)

        return search


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves like `re.compile(pattern, flags)` and costs nothing until it is used."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


def lazy_bytes(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Return the same for a pattern of bytes."""
    return cast("re.Pattern[bytes]", _Lazy(pattern, flags))


def has_any(text: str, words: Iterable[str]) -> bool:
    """Tell whether a text has one of some words, which are in small letters; it may have them in large ones."""
    folded = text.lower()
    return any(word in folded for word in words)
