"""Addresses of files elsewhere: which paths are one, and how one is shown without its secrets."""

from __future__ import annotations

import re

from forensics.text.lazy import lazy

_URL = lazy(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SECRETS = lazy(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?(?P<rest>[^?#]*)(?:[?#].*)?", re.DOTALL)


def scheme(path: str) -> str:
    """Return the scheme of an address in lower case, `s3` of `s3://bucket/run`; empty for a path on this machine."""
    found = _URL.match(path)
    return found[1].lower() if found else ""


def redacted(path: str) -> str:
    """Return an address without a user and password, and without its query, where signatures stand."""
    found = _SECRETS.fullmatch(path)
    return found["scheme"] + found["rest"] if found else path
