"""Untrusted text on its way into the page: every character shows, and none acts.

The templates escape what they are given; what is here comes before that, for the characters
that need no markup to do harm (escapes, overrides of the writing direction, megabytes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from forensics.text.ansi import visible

LONGEST = 4000
"""Characters of a text that the page shows; what is too much goes from its middle, which the page says."""

_SPAN = re.compile(r"`([^`]+)`")
_WORD = r"(?<![\w.])%s(?!\w)"
_NUMBER = r"(?<![\w.:-])%s(?![\w:]|-\d)"
"""A number that is a part of no larger one, of no date and of no time of day."""


def plain(text: str, most: int = LONGEST) -> str:
    """Return text in which every control, bidirectional and zero-width character is seen; line feeds stay."""
    return visible(shortened(text, most), keep="\t\n")


def shortened(text: str, most: int) -> str:
    """Return text of about so many characters, with how many its middle has lost."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters left out … {text[-half:]}"


def finalize(value: object) -> object:
    """Make whatever a template prints harmless, before it is escaped; what is markup already stays."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return ""
    return plain(value) if isinstance(value, str) else value


def line(text: str) -> str:
    """Return text on one line, for attributes and cells."""
    return plain(" ".join(text[: 2 * LONGEST].split()) if len(text) > 2 * LONGEST else " ".join(text.split()))


def prose(text: str) -> Markup:
    """Return text of a rule with its code spans as such; whatever was filled into it is escaped."""
    parts = _SPAN.split(line(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def marked(text: str, words: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Split a line into parts, and tell which of them are the words that findings rest on."""
    spans: list[tuple[int, int]] = []
    for word in words:
        bare = word.isdecimal()
        pattern = (_NUMBER if bare else _WORD if word[:1].isalnum() else "%s") % re.escape(word)
        found = re.search(pattern, text) if 1 < len(word) <= len(text) else None
        if found and all(found.end() <= low or found.start() >= high for low, high in spans):
            spans.append(found.span())
    parts: list[tuple[str, bool]] = []
    at = 0
    for low, high in sorted(spans):
        parts += [(text[at:low], False), (text[low:high], True)]
        at = high
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])
