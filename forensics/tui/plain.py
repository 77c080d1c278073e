"""Texts for the screen out of what a log said: never read as markup, with nothing in them that acts."""

from __future__ import annotations

from textual.content import Content

from forensics.text.ansi import visible

LONGEST = 4000


def plain(text: str, style: str = "") -> Content:
    """Return untrusted text on one line, in one style."""
    return Content.styled(safe(text), style) if style else Content(safe(text))


def safe(text: str) -> str:
    """Return untrusted text as one line in which no character acts on a terminal."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return visible(" ".join(text.split("\t")), keep="")


def joined(*parts: Content | str) -> Content:
    """Return parts side by side."""
    return Content.assemble(*parts)
