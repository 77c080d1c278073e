"""Literals that a regular expression cannot match without.

A pattern is searched only in lines that hold one of its anchors, so an anchor set is
sound when every match contains at least one of its members, and good when its
shortest member is long. Both are read off the parse tree of the `re` module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _constants as _c  # type: ignore[attr-defined]
from re import _parser as _p  # type: ignore[attr-defined]
from typing import Any

SHORTEST = 4
"""An anchor shorter than this hits too much of a log to be of use."""

FEW = 12
"""More literals than this take longer to look for than many a pattern to try."""

_Anchors = frozenset[str] | None


@lru_cache(maxsize=4096)
def required_literals(pattern: str) -> tuple[str, ...]:
    """Return literals of which every match of `pattern` contains at least one.

    Empty when none can be derived: the pattern ignores case, or one of its branches
    has no literal of at least `SHORTEST` characters.
    """
    tree = _p.parse(pattern)
    if tree.state.flags & re.IGNORECASE:
        return ()
    found = _best(tree)
    if found is None or min(map(len, found)) < SHORTEST:
        return ()
    return tuple(sorted(found))


def quick_literals(pattern: str, flags: int) -> tuple[tuple[str, ...], bool]:
    """Return a few literals of which every match has one, and whether they are in lower case because case is ignored.

    Shorter ones will do than those that are looked for in a whole log.
    """
    tree = _p.parse(pattern, flags)
    folded = bool(tree.state.flags & re.IGNORECASE)
    found = _best(tree)
    if found is None or len(found) > FEW or min(map(len, found)) < SHORTEST - 1:
        return (), folded
    return tuple(sorted(literal.lower() if folded else literal for literal in found)), folded


def _best(sequence: Iterable[tuple[Any, Any]]) -> _Anchors:
    """Return the best anchor set of a sequence: any one of its parts will do."""
    candidates: list[frozenset[str]] = []
    run = ""
    for operator, argument in sequence:
        if operator is _c.LITERAL and chr(argument) not in "\n\r":
            run += chr(argument)
            continue
        if operator is _c.AT:
            continue
        if run:
            candidates.append(frozenset({run}))
            run = ""
        inner = _inside(operator, argument)
        if inner:
            candidates.append(inner)
    if run:
        candidates.append(frozenset({run}))
    return max(candidates, key=_worth, default=None)


def _inside(operator: Any, argument: Any) -> _Anchors:
    if operator is _c.SUBPATTERN:
        flags = argument[1]
        return None if flags & re.IGNORECASE else _best(argument[3])
    if operator is _c.ATOMIC_GROUP:
        return _best(argument)
    if operator in {_c.MAX_REPEAT, _c.MIN_REPEAT, _c.POSSESSIVE_REPEAT}:
        low, _high, body = argument
        return _best(body) if low > 0 else None
    if operator is _c.BRANCH:
        return _union(argument[1])
    return None


def _union(branches: Sequence[Any]) -> _Anchors:
    sets = [_best(branch) for branch in branches]
    if any(s is None for s in sets):
        return None
    return frozenset(literal for s in sets if s for literal in s)


def _worth(literals: frozenset[str]) -> tuple[int, int]:
    return min(map(len, literals)), -len(literals)
