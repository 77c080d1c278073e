"""What a script itself prints: a word of a good end that stands in it proves only that the script got there."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.parsers.launch_script.scopes import Found, Script

_PRINTS = frozenset({"echo", "printf"})
_LEAST = 8
_MOST = 60


def says(script: Script) -> Iterator[Found]:
    """Yield what is printed as it stands, up to the first variable."""
    left = _MOST
    for _, command in script.all():
        text = " ".join(word for word in command.words[1:] if word not in {"-e", "-n", "--"})
        known = text.partition("$")[0].partition("`")[0].strip()
        if command.name in _PRINTS and len(known) >= _LEAST and left:
            left -= 1
            yield command.line, "says", {"text": known}
