"""Terminal escapes: taken out before a line is read, made visible before it is shown."""

from __future__ import annotations

import unicodedata

from forensics.text.lazy import lazy

# Escape sequences as ECMA-48 has them. A string sequence (OSC, DCS, ...) without its end is
# cut to its introducer only: what follows may be the evidence. All repeats are possessive.
_ESCAPE = lazy(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+(?:[@-~]|\Z)"  # CSI: colours, cursor; one cut at the end must leave no digits
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*+(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*+[0-~]?"  # two-character sequences, and an introducer left alone
)
_INTRODUCERS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_CONTROL = lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BACKSPACES = lazy(r"\x08{2,}")
_BOM = "\ufeff"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def strip(text: str) -> str:
    """Remove escape sequences and control characters; tabs and line feeds stay.

    A run of backspaces, with which old progress bars rewrite a line, becomes one
    blank, so that the records on both sides stay apart.
    """
    if text.startswith(_BOM):
        text = text[1:]
    # Nearly all lines are printable, which is told more quickly than by the pattern.
    if text.isprintable() or all(map(str.isprintable, text.split("\n"))) or _CONTROL.search(text) is None:
        return text
    if any(introducer in text for introducer in _INTRODUCERS):
        text = _ESCAPE.sub("", text)
    if "\b\b" in text:
        text = _BACKSPACES.sub(" ", text)
    return _CONTROL.sub("", text)


class _Visible(dict[int, str]):
    """A translation table that is filled in as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) not in _HIDDEN:
            shown = character
        elif code < 0x20:
            shown = chr(0x2400 + code)
        elif code == 0x7F:
            shown = "\u2421"
        else:
            shown = f"\\u{code:04x}"
        self[code] = shown
        return shown


_VISIBLE = _Visible()


def visible(text: str, *, keep: str = "\t") -> str:
    r"""Show every control, escape, bidirectional and zero-width character, harmlessly.

    `\x1b` becomes `␛`, a right-to-left override `\u202e`. Characters in `keep`
    (tabs, unless told otherwise) stay as they are.
    """
    if text.isprintable():
        return text
    if not any(character in text for character in keep):
        return text.translate(_VISIBLE)
    return "".join(c if c in keep else _VISIBLE[ord(c)] for c in text)
