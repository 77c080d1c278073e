"""The comparisons a rule may ask for: `name op name` or `name op number`, nothing more."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from forensics.model import Value

_CONDITION = re.compile(r"\s*(?P<left>\w+)\s*(?P<op>>=|<=|==|!=|>|<)\s*(?P<right>-?\d+(?:\.\d+)?|\w+)\s*$")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@lru_cache(maxsize=1024)
def parse(condition: str) -> tuple[str, str, float | str] | None:
    """Return (name, operator, name or number), or None if it is not a condition."""
    found = _CONDITION.match(condition)
    if not found:
        return None
    right = found["right"]
    number = right.lstrip("-").replace(".", "", 1).isdigit()
    return found["left"], found["op"], float(right) if number else right


def holds(condition: str, facts: Mapping[str, Value]) -> bool:
    """Tell whether the condition is true of the facts; an absent or odd fact makes it false."""
    parsed = parse(condition)
    if parsed is None:
        return False
    name, op, other = parsed
    left = facts.get(name)
    right: Value = facts[other] if isinstance(other, str) and other in facts else other
    if isinstance(left, str) != isinstance(right, str) or left is None or right is None:
        return False
    try:
        return _OPERATORS[op](left, right)
    except TypeError:
        return False
