"""The comparisons a rule may ask for: `sum op sum`, where a sum is names and numbers joined by `+`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from forensics.model import Value

_TERM = r"(?:-?\d+(?:\.\d+)?|\w+)"
_SUM = rf"{_TERM}(?:\s*\+\s*{_TERM})*"
_CONDITION = re.compile(rf"\s*(?P<left>{_SUM})\s*(?P<op>>=|<=|==|!=|>|<)\s*(?P<right>{_SUM})\s*$")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}

Terms: TypeAlias = tuple[float | str, ...]


@lru_cache(maxsize=1024)
def parse(condition: str) -> tuple[Terms, str, Terms] | None:
    """Return (terms, operator, terms), each term a name or a number, or None if it is not a condition."""
    found = _CONDITION.match(condition)
    return (_terms(found["left"]), found["op"], _terms(found["right"])) if found else None


def _terms(text: str) -> Terms:
    parts = [part.strip() for part in text.split("+")]
    return tuple(float(p) if p.lstrip("-").replace(".", "", 1).isdigit() else p for p in parts)


def holds(condition: str, facts: Mapping[str, Value]) -> bool:
    """Tell whether the condition is true of the facts; an absent or odd fact makes it false.

    A lone name on the right that is no fact stands for itself: `state == TIMEOUT`.
    """
    parsed = parse(condition)
    if parsed is None:
        return False
    terms, name, others = parsed
    left, right = _sum(terms, facts), _sum(others, facts)
    if right is None and len(others) == 1 and isinstance(others[0], str) and others[0] not in facts:
        right = others[0]
    if isinstance(left, str) != isinstance(right, str) or left is None or right is None:
        return False
    try:
        return _OPERATORS[name](left, right)
    except TypeError:
        return False


def _sum(terms: Terms, facts: Mapping[str, Value]) -> Value:
    """Return the sum of the terms, the fact itself where there is one term, None where a fact is absent or odd."""
    values = [facts.get(t) if isinstance(t, str) else t for t in terms]
    if len(values) == 1:
        return values[0]
    total = 0.0
    for value in values:
        if not isinstance(value, (int, float)):
            return None
        total += value
    return total
