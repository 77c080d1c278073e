"""What can be wrong with one rule, seen without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from forensics.rulebook.benign import corpus, example, megabytes
from forensics.rulebook.conditions import parse
from forensics.rulebook.schema import Problem, Rule, Signal
from forensics.scan import required_literals

FAMILIES = ("memory", "compile", "gpu", "comm", "host", "scheduler", "capture", "launch", "train", "setup")
MOST_PER_MB = 1.0
"""How often an anchor may stand in a megabyte of what healthy runs print."""
UNSPOKEN = frozenset({"output", "log"})
"""Speakers of lines that no parser asks for: only a rule's own anchors make the scan hand them over."""
_ID = re.compile(r"[a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)*$")


def lint(rule: Rule) -> Iterator[Problem]:
    """Yield the problems of a rule that was read with its cases."""
    if not _ID.match(rule.id) or rule.id.partition(".")[0] not in FAMILIES:
        yield Problem(
            rule.path, 0, f"id {rule.id!r} (from the path) is not family.kebab-cause of {', '.join(FAMILIES)}"
        )
    if not rule.signal:
        yield Problem(rule.path, 0, "has no [[signal]]")
    for index, signal in enumerate(rule.signal):
        for text in _signal(rule, signal):
            yield Problem(rule.path, _line_of(rule, "[[signal]]", index), text)
    for index, fix in enumerate(rule.fix):
        for condition in fix.when:
            if parse(condition) is None:
                yield Problem(rule.path, _line_of(rule, "[[fix]]", index), f"when {condition!r} is not a comparison")
    names = [c.name for c in rule.case]
    for name in {n for n in names if names.count(n) > 1}:
        yield Problem(rule.path, 0, f"two cases are called {name!r}")
    yield from _proofs(rule)


def _signal(rule: Rule, signal: Signal) -> Iterator[str]:
    if not (signal.pattern or signal.kind or signal.frames):
        yield "a signal needs a pattern, a kind or frames"
    groups: set[str] = set()
    for name in ("pattern", "frames", "unless"):
        expression = getattr(signal, name)
        try:
            groups |= set(re.compile(expression).groupindex) if name != "unless" else set()
            if name == "unless":
                re.compile(expression)
        except re.error as error:
            yield f"{name} is not a valid regular expression: {error}"
            return
    for group in {re.sub(r"__\d$", "", g) for g in groups} - set(rule.facts):
        yield f"captures {group!r}, which [facts] gives no type"
    if UNSPOKEN & set(signal.speaker) and not (signal.anchors or required_literals(signal.pattern)):
        yield "no literal of 4 or more characters can be derived from the pattern: give `anchors`"
    for condition in signal.where:
        if parse(condition) is None:
            yield f"where {condition!r} is not `sum op sum`, such as `a >= b` or `a >= b + 512`"


def noisy(rule: Rule) -> Iterator[Problem]:
    """Yield the anchors of a rule that healthy runs print all the time: each such line would be looked at in vain."""
    for index, signal in enumerate(rule.signal):
        if not UNSPOKEN & set(signal.speaker):
            continue
        for anchor in signal.anchors or required_literals(signal.pattern):
            rate = corpus().count(anchor) / megabytes()
            if rate > MOST_PER_MB:
                derived = "" if signal.anchors else ", derived from the pattern,"
                text = (
                    f"the anchor {anchor!r}{derived} stands {rate:.0f} times in a MB of healthy logs, as in "
                    f"{example(anchor)[:160]!r}: give longer `anchors`"
                )
                yield Problem(rule.path, _line_of(rule, "[[signal]]", index), text)


def _proofs(rule: Rule) -> Iterator[Problem]:
    if not any(c.fires for c in rule.case):
        yield Problem(rule.path, 0, "has no case that fires")
    if all(c.fires for c in rule.case):
        yield Problem(rule.path, 0, "has no look-alike: a case with fires = false")
    for index, case in enumerate(rule.case):
        if not (case.log or case.files):
            yield Problem(rule.path, _line_of(rule, "[[case]]", index), f"case {case.name!r} has neither log nor files")


def _line_of(rule: Rule, header: str, index: int) -> int:
    places = [n for n, line in enumerate(_lines(rule.path), 1) if line.startswith(header)]
    return places[index] if index < len(places) else 0


@cache
def _lines(path: str) -> tuple[str, ...]:
    try:
        return tuple(Path(path).read_text(encoding="utf-8", errors="replace").split("\n"))
    except OSError:
        return ()
