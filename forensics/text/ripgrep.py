"""Literals as patterns of ripgrep, one a line, for `rg -f`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$#&~-])")

_ENDS = {"\n": "$", "\r": r"\r"}
"""A pattern cannot hold the line feed with which a literal ends."""


def patterns(literals: Iterable[bytes]) -> str:
    """Return patterns that match these literals and nothing else.

    What Python's `re.escape` puts a backslash before besides, such as a blank, ripgrep refuses.
    """
    return "".join(map(_pattern, literals))


def _pattern(literal: bytes) -> str:
    text = literal.decode()
    return _SPECIAL.sub(r"\\\1", text.rstrip("\r\n")) + _ENDS.get(text[-1], "") + "\n"
