"""Captured text to typed values."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping

from forensics.model import Value
from forensics.text.lazy import lazy
from forensics.text.sizes import parse_size

_FOREIGN = lazy(r"\bProcess \d{1,10} has (\d[\d.]{0,12} [KMGT]?i?B) memory in use")
_SUFFIX = lazy(r"__\d$")
"""A pattern may capture one fact in several places: `port__2` is the fact `port`."""


def _int(text: str) -> int | None:
    digits = text.replace(",", "").replace("_", "").strip()
    return int(digits) if digits.lstrip("-").isdigit() and len(digits) < 19 else None


def _float(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _hex(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _kib(text: str) -> int | None:
    number = _int(text)
    return None if number is None else number * 1024


def _signal(text: str) -> int | None:
    number = _int(text)
    if number is not None:
        return abs(number)
    name = text.strip().upper()
    name = name if name.startswith("SIG") else f"SIG{name}"
    return int(signal.Signals[name]) if name in signal.Signals.__members__ else None


def _list(text: str) -> tuple[Value, ...]:
    parts = [p.strip(" '\"") for p in re.split(r"[,\s]+", text.strip("[]() ")) if p.strip(" '\"")]
    return tuple(n if (n := _int(p)) is not None else p for p in parts[:64])


_CONVERT: dict[str, Callable[[str], Value]] = {
    "str": lambda text: text.strip(),
    "path": lambda text: text.strip().strip("'\""),
    "int": _int,
    "float": _float,
    "size": parse_size,
    "kib": _kib,
    "hex": _hex,
    "ms": _int,
    "s": _float,
    "signal": _signal,
    "list": _list,
}


def derived(facts: Mapping[str, Value], message: str) -> dict[str, Value]:
    """Return what follows from the facts: of an allocation, what others hold and what is unused; which limit it is."""
    found: dict[str, Value] = {}
    if "failed_node" in facts:
        found["node"] = facts["failed_node"]  # not one of those on which the scheduler says so
    if "open_files" in facts:
        found["limit"] = facts["open_files"]
    others = [parse_size(m[1]) for m in _FOREIGN.finditer(message)]
    if "foreign_bytes" in facts and len(others) > 1:
        found["foreign_bytes"] = sum(n for n in others if n is not None)
    reserved, allocated = facts.get("reserved_bytes"), facts.get("allocated_bytes")
    if "reserved_unallocated_bytes" not in facts and isinstance(reserved, int) and isinstance(allocated, int):
        # Up to PyTorch 2.0 the message has the two numbers, from 2.1 on their difference.
        found["reserved_unallocated_bytes"] = max(0, reserved - allocated)
    return found


def typed(captured: Mapping[str, str | None], types: Mapping[str, str]) -> dict[str, Value]:
    """Return the facts of a match; what cannot be converted is left out."""
    facts: dict[str, Value] = {}
    for group, text in captured.items():
        name = _SUFFIX.sub("", group)
        if text is None or name not in types or types[name] not in _CONVERT:
            continue
        value = _CONVERT[types[name]](text)
        if value is not None:
            facts.setdefault(name, value)
    return facts
