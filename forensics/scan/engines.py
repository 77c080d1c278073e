"""Three ways to find many literals in a block, with the same answer.

`hyperscan` is the fast one; its database costs some tens of milliseconds, so a small
run uses `python`. `ahocorasick` (the package ahocorasick_rs) stands in on machines
without hyperscan. All return where a literal *ends* and which it was; which of two
overlapping literals is reported may differ, the lines they mark do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

ENGINES = ("python", "ahocorasick", "hyperscan")

SMALL = 1 << 20
"""Below this many bytes the database of hyperscan costs more than it saves."""


class Matcher(Protocol):
    """Finds literals in a block of bytes."""

    def find(self, block: bytes) -> list[tuple[int, int]]:
        """Return (position inside the match, index of the literal), in any order."""
        ...


def matcher(literals: Sequence[bytes], engine: str = "auto", total_bytes: int = 0) -> Matcher:
    """Return a matcher for `literals`; `auto` chooses by the size of the run and what is installed.

    It is made once for the same literals. Raises ImportError when a named engine is not installed.
    """
    return _made(tuple(literals), engine, total_bytes >= SMALL)


@lru_cache(maxsize=4)
def _made(literals: tuple[bytes, ...], engine: str, large: bool) -> Matcher:  # noqa: FBT001 - the cache's key
    if engine == "auto":
        return _automatic(literals, large=large)
    if engine == "hyperscan":
        return _Hyperscan(literals)
    if engine == "ahocorasick":
        return _AhoCorasick(literals)
    return _Python(literals)


def _automatic(literals: Sequence[bytes], *, large: bool) -> Matcher:
    if large and literals:
        for build in (_Hyperscan, _AhoCorasick):
            try:
                return build(literals)
            except ImportError:
                continue
    return _Python(literals)


class _Python:
    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = tuple(enumerate(literals))

    def find(self, block: bytes) -> list[tuple[int, int]]:
        hits = []
        for index, literal in self._literals:
            at = block.find(literal)
            while at >= 0:
                hits.append((at, index))
                at = block.find(literal, at + 1)
        return hits


class _AhoCorasick:
    def __init__(self, literals: Sequence[bytes]) -> None:
        from ahocorasick_rs import BytesAhoCorasick

        self._automaton = BytesAhoCorasick(list(literals))

    def find(self, block: bytes) -> list[tuple[int, int]]:
        found = self._automaton.find_matches_as_indexes(block, overlapping=True)
        return [(start, index) for index, start, _end in found]


class _Hyperscan:
    def __init__(self, literals: Sequence[bytes]) -> None:
        import hyperscan

        self._database = hyperscan.Database()
        self._database.compile(
            expressions=list(literals),
            ids=list(range(len(literals))),
            flags=[0] * len(literals),
            literal=True,
        )

    def find(self, block: bytes) -> list[tuple[int, int]]:
        hits: list[tuple[int, int]] = []

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((end - 1, index))

        self._database.scan(block, match_event_handler=on_match)
        return hits
