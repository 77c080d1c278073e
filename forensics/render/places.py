"""Where evidence lies for a reader who is not in the run's folder: a CI server, an editor."""

from __future__ import annotations

import posixpath
from urllib.parse import quote

from forensics.model import Check, Evidence


def path(base: str, place: Evidence) -> str:
    """Return the path of a source below the folder that was read; `base` is "" for the working directory."""
    if place.path == "-":
        return "stdin"
    return posixpath.normpath(posixpath.join(base, place.path))


def uri(base: str, place: Evidence) -> str:
    """Return the path as a relative URI reference, or a file URI where it is absolute."""
    found = path(base, place)
    quoted = quote(found.encode("utf-8", "surrogateescape"), safe="/!$&'()*+,;=@-._~")
    return f"file://{quoted}" if found.startswith("/") else quoted


def first(check: Check) -> Evidence | None:
    """Return the place that decides a check."""
    return check.evidence[0] if check.evidence else None
