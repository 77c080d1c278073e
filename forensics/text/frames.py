"""Frames of a Python traceback as CPython prints them (Lib/traceback.py), innermost last."""

from __future__ import annotations

from collections.abc import Iterable

from forensics.model import Value
from forensics.text.lazy import lazy

_FRAME = lazy(r'File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,9}), in (?P<function>.{1,200})')
_HELPER = lazy(r'threading\.py", line \d+, in _bootstrap|multiprocessing/process\.py", line \d+, in _bootstrap')
_LIBRARY = ("site-packages", "dist-packages", "/lib/python3", "<frozen", "<string>", "<eval_with_key>")


def innermost(lines: Iterable[str]) -> dict[str, Value]:
    """Return file, file_line and function of the innermost frame outside the libraries, else of the innermost one."""
    found = [match for match in map(_FRAME.search, lines) if match]
    own = [match for match in found if not any(mark in match["file"] for mark in _LIBRARY)]
    for match in (own or found)[-1:]:
        return {"file": match["file"], "file_line": int(match["line"]), "function": match["function"]}
    return {}


def in_helper(frames: str) -> bool:
    """Tell whether a traceback begins in a thread or a child of the program, which do not end it."""
    return _HELPER.search(frames) is not None
