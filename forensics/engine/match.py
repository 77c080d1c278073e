"""Which rules fire on which events. A rule hears only the speakers it names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct, field

from forensics.engine.facts import typed
from forensics.model import Event, Source, Value
from forensics.rulebook.conditions import holds
from forensics.rulebook.load import Rulebook
from forensics.rulebook.schema import Rule, Signal

LONGEST = 8192
"""Characters of a message that are searched, from its start; half as many from its end.

No message of a program is longer where it matters, and a pattern that is slow on a long
word cannot be made to stand still by a line of megabytes.
"""
FOREIGN_SECONDS = 0.2
"""How long a pattern of the user's own rules may search in one message."""

REMEMBERED = 4096
"""Messages whose possible signals are remembered: a log that repeats itself asks for them again."""


class Match(Struct, frozen=True):
    """One signal of a rule recognised in one event, with the facts it gives."""

    rule: Rule
    signal: Signal
    event: Event
    facts: dict[str, Value] = field(default_factory=dict)


class Matched(Struct):
    """All matches in the order of the events, and what went wrong with the user's rules."""

    matches: list[Match]
    problems: list[str]


def match(events: Sequence[Event], book: Rulebook, sources: Iterable[Source]) -> Matched:
    """Return every match; a `fallback` rule only where no other rule claims the event."""
    kinds = {s.path: s.kind for s in sources}
    audience = _Audience(book)
    found: list[Match] = []
    problems: dict[str, str] = {}
    for event in events:
        claims: list[Match] = []
        for rule, signal in audience.of(event, kinds.get(event.path, "")):
            if any(m.rule is rule for m in claims):
                continue  # the first signal of a rule that fits decides
            try:
                facts = _facts(rule, signal, event, foreign=rule.id in book.foreign)
            except TimeoutError:
                problems[rule.id] = f"rule {rule.id}: a pattern ran longer than {FOREIGN_SECONDS} s and was stopped"
                continue
            except re.error as wrong:
                problems[rule.id] = f"rule {rule.id}: a pattern does not compile ({wrong}); `rules check` tells more"
                continue
            if facts is not None:
                claims.append(Match(rule, signal, event, facts))
        firm = [m for m in claims if not m.rule.fallback]
        found.extend(firm or claims)
    return Matched(found, list(problems.values()))


class _Listeners:
    """The signals that events of one speaker, kind and source may fit, found by the literals in their messages."""

    def __init__(self, signals: Iterable[tuple[Rule, Signal]], book: Rulebook) -> None:
        self._signals = list(signals)
        self._always: list[int] = []
        self._by_anchor: dict[str, list[int]] = defaultdict(list)
        for index, (_, signal) in enumerate(self._signals):
            anchors = book.required(signal.pattern) if signal.pattern else ()
            if not anchors:
                self._always.append(index)
            for anchor in anchors:
                self._by_anchor[anchor].append(index)

    def of(self, message: str) -> list[tuple[Rule, Signal]]:
        """Return the signals that a message may fit, in the order of the rules."""
        held = [indices for anchor, indices in self._by_anchor.items() if anchor in message]
        return [self._signals[i] for i in sorted(set(self._always).union(*held))]


class _Audience:
    """Which signals may fit an event: found once for a speaker, kind and source, then once for the same words.

    A speaker has hundreds of signals, and a log may repeat one line thousands of times.
    """

    def __init__(self, book: Rulebook) -> None:
        self._book = book
        self._signals: dict[str, list[tuple[Rule, Signal]]] = defaultdict(list)
        for rule in book.rules.values():
            for signal in rule.signal:
                for speaker in signal.speaker:
                    self._signals[speaker].append((rule, signal))
        self._listeners: dict[tuple[str, str, str], _Listeners] = {}
        self._heard: dict[tuple[str, str, str, str], list[tuple[Rule, Signal]]] = {}

    def of(self, event: Event, source_kind: str) -> list[tuple[Rule, Signal]]:
        """Return the signals that an event may fit, in the order of the rules."""
        words = (event.speaker, event.kind, source_kind, event.message)
        heard = self._heard.get(words)
        if heard is None:
            if len(self._heard) >= REMEMBERED:
                self._heard.clear()
            heard = self._heard[words] = self._listening(event, source_kind).of(event.message)
        return heard

    def _listening(self, event: Event, source_kind: str) -> _Listeners:
        place = (event.speaker, event.kind, source_kind)
        if place not in self._listeners:
            signals = [
                (rule, signal)
                for rule, signal in self._signals.get(event.speaker, ())
                if (not signal.kind or event.kind in signal.kind)
                and (not signal.level or event.kind in signal.level)
                and (not signal.source or source_kind in signal.source)
            ]
            self._listeners[place] = _Listeners(signals, self._book)
        return self._listeners[place]


def _facts(rule: Rule, signal: Signal, event: Event, *, foreign: bool) -> dict[str, Value] | None:
    """Return the facts if a signal that may fit the event does, else None."""
    captured: dict[str, str | None] = {}
    if signal.pattern:
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
