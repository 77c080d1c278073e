"""Which rules fire on which events. A rule hears only the speakers it names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from forensics.engine.facts import typed
from forensics.model import Event, Source, Value
from forensics.rulebook.conditions import holds
from forensics.rulebook.load import Rulebook
from forensics.rulebook.schema import Rule, Signal
from forensics.scan import required_literals

LONGEST = 8192
"""Characters of a message that are searched, from its start; half as many from its end.

No message of a program is longer where it matters, and a pattern that is slow on a long
word cannot be made to stand still by a line of megabytes.
"""
FOREIGN_SECONDS = 0.2
"""How long a pattern of the user's own rules may search in one message."""


@dataclass(frozen=True, slots=True)
class Match:
    """One signal of a rule recognised in one event, with the facts it gives."""

    rule: Rule
    signal: Signal
    event: Event
    facts: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Matched:
    """All matches in the order of the events, and what went wrong with the user's rules."""

    matches: list[Match]
    problems: list[str]


def match(events: Sequence[Event], book: Rulebook, sources: Iterable[Source]) -> Matched:
    """Return every match; a `fallback` rule only where no other rule claims the event."""
    kinds = {s.path: s.kind for s in sources}
    heard: dict[str, list[tuple[Rule, Signal]]] = defaultdict(list)
    for rule in book.rules.values():
        for signal in rule.signal:
            for speaker in signal.speaker:
                heard[speaker].append((rule, signal))
    found: list[Match] = []
    problems: dict[str, str] = {}
    for event in events:
        claims: list[Match] = []
        for rule, signal in heard.get(event.speaker, ()):
            if any(m.rule is rule for m in claims):
                continue  # the first signal of a rule that fits decides
            try:
                facts = _facts(rule, signal, event, kinds.get(event.path, ""), foreign=rule.id in book.foreign)
            except TimeoutError:
                problems[rule.id] = f"rule {rule.id}: a pattern ran longer than {FOREIGN_SECONDS} s and was stopped"
                continue
            if facts is not None:
                claims.append(Match(rule, signal, event, facts))
        firm = [m for m in claims if not m.rule.fallback]
        found.extend(firm or claims)
    return Matched(found, list(problems.values()))


def _facts(rule: Rule, signal: Signal, event: Event, source_kind: str, *, foreign: bool) -> dict[str, Value] | None:
    """Return the facts if the signal fits the event, else None."""
    if (signal.kind and event.kind not in signal.kind) or (signal.source and source_kind not in signal.source):
        return None
    if signal.level and event.kind not in signal.level:
        return None
    captured: dict[str, str | None] = {}
    if signal.pattern:
        anchors = required_literals(signal.pattern)
        if anchors and not any(a in event.message for a in anchors):
            return None
        found = _compiled(signal.pattern, foreign)(_bounded(event.message))
        if not found:
            return None
        captured.update(found.groupdict())
    frames = str(event.fields.get("frames") or "")
    if signal.frames:
        in_frames = _compiled(signal.frames, foreign)(frames)
        if not in_frames:
            return None
        captured.update(in_frames.groupdict())
    if signal.unless:
        forbidden = _compiled(signal.unless, foreign)
        if forbidden(_bounded(event.message)) or (frames and forbidden(frames)):
            return None
    facts: dict[str, Value] = {k: v for k, v in event.fields.items() if k in rule.facts and v not in {None, ""}}
    facts |= typed(captured, rule.facts)
    facts |= signal.facts
    if signal.where and not all(holds(c, {**event.fields, **facts}) for c in signal.where):
        return None
    return facts


def _bounded(message: str) -> str:
    return message if len(message) <= LONGEST else f"{message[:LONGEST]}\n{message[-LONGEST // 2 :]}"


@cache
def _compiled(pattern: str, foreign: bool) -> Any:  # noqa: FBT001 - the cache's key
    if not foreign:
        return re.compile(pattern).search
    import regex

    expression = regex.compile(pattern)
    return lambda text: expression.search(text, timeout=FOREIGN_SECONDS)
