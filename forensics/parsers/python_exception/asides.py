"""What stands above a traceback from which a program goes on: the interpreter, a compiler or a library says so.

    Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f11907c9b80>
    A matching Triton is not available, some optimizations will not be enabled
    Could not load bitsandbytes native library: /lib64/libc.so.6: version `GLIBC_2.34' not found

Sources: CPython Python/errors.c, torch/_dynamo/convert_frame.py, xformers, bitsandbytes/cextension.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from forensics.model import Record
from forensics.text.lazy import lazy

_IGNORED = "Exception ignored "
_UNCONVERTED = "WON'T CONVERT"
"""Begins torch.compile's record of an error that it suppressed: the function runs uncompiled."""
_COMPILER = lazy(r"torch[/.]_(?:dynamo|inductor|functorch|logging)\b")
_WITHOUT = lazy(
    r"\bwill not be (?:enabled|available|used)\b|\b(?:continuing|proceeding) without\b"
    r"|^(?:\S{1,60} )?Could not load bitsandbytes native library\b",
    re.IGNORECASE,
)
"""What a library says of something that it can do without."""
_CALM = frozenset({"debug", "info", "warning"})

TRIGGERS = (
    _IGNORED,
    _UNCONVERTED,
    "will not be enabled",
    "will not be available",
    "will not be used",
    "ontinuing without",
    "roceeding without",
    "Could not load bitsandbytes",
)


class Aside(NamedTuple):
    """What was said, and at which line; `without` by a library."""

    text: str
    line: int
    without: bool = False


NONE = Aside("", -9)


def read(record: Record) -> Aside | None:
    """Return what a line says of a traceback that follows, if it says that the program goes on."""
    text, number = record.text, record.line.number
    if text.startswith(_IGNORED):
        return Aside(text, number)
    if _UNCONVERTED in text:
        return Aside(text, number + 2)  # two lines before the traceback
    return Aside(text.partition(": ")[0], number, without=True) if _WITHOUT.search(text) else None


def told(record: Record, aside: Aside | None) -> str:
    """Return the words by which a traceback that begins is known to be only told, not raised; else nothing.

    Python says so in the line above, and torch.compile puts a level before each line of what it suppressed.
    """
    if record.level in _CALM and _COMPILER.search(record.raw):
        return record.raw
    return aside.text if aside and not aside.without else ""
