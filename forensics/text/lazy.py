"""Regular expressions compiled when they are first used.

A run of `analyze` on a small log uses a tenth of the patterns of all speakers, and
compiling the rest would take longer than the analysis.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands in for `re.compile(pattern, flags)`; after the first use its methods are the compiled ones."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled: re.Pattern[Any] = re.compile(*self._source)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "groupindex"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves like `re.compile(pattern, flags)` and costs nothing until it is used."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


def lazy_bytes(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Return the same for a pattern of bytes."""
    return cast("re.Pattern[bytes]", _Lazy(pattern, flags))
