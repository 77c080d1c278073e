"""What a script itself prints: a word of a good end that stands in it proves only that the script got there."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.parsers.launch_script.scopes import Found, Script
from forensics.text.lazy import lazy

_PRINTS = frozenset({"echo", "printf"})
_FILLED = lazy(r"\$\([^()]*\)|\$\{[^{}]*\}|\$\w+|\$[?#@*]|`[^`]*`|[$`]")
_LEAST = 8
_MOST = 60


def says(script: Script) -> Iterator[Found]:
    """Yield what is printed as it stands: of a text with variables and commands in it, the longest part without any."""
    left = _MOST
    for _, command in script.all():
        text = " ".join(word for word in command.words[1:] if word not in {"-e", "-n", "--"})
        known = max((part.strip() for part in _FILLED.split(text)), key=len)
        if command.name in _PRINTS and len(known) >= _LEAST and left:
            left -= 1
            yield command.line, "says", {"text": known}
