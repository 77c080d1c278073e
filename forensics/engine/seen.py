"""All that was seen of a run, before anything is concluded from it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Context, Event, Expected, Line, Source, Step
from forensics.sources import Input

UNTIMED = float("-inf"), float("inf")
"""The moments between which an event lies that nothing places in time."""


class Seen(Struct):
    """Sources, events and steps of one folder; `tails` holds the last lines of each text.

    `current` is the attempt in question: logs of a lower one belong to earlier tries.
    `times` holds of each source the numbers of the lines that have a time, in order, and these times.
    `thinned` holds the sources of which only some of the progress records are here.
    `older` names further logs of earlier tries: siblings of one that was promised and is missing.
    """

    root: str
    sources: list[Source] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    tails: dict[str, Sequence[Line]] = field(default_factory=dict)
    expected: list[Expected] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    current: int = 0
    older: set[str] = field(default_factory=set)
    thinned: dict[str, tuple[Input, Context]] = field(default_factory=dict)
    times: dict[str, tuple[array[int], array[float]]] = field(default_factory=dict)
    _by_path: dict[str, Source] = field(default_factory=dict)
    _indexed: int = 0

    def ever_said(self, speaker: str, *kinds: str) -> Iterator[Event]:
        """Yield the events of a speaker, of some kinds if given, in order, earlier tries included."""
        return (e for e in self.events if e.speaker == speaker and (not kinds or e.kind in kinds))

    def said(self, speaker: str, *kinds: str) -> Iterator[Event]:
        """Yield the events of a speaker in the attempt in question: what an earlier try left says nothing of it."""
        return (e for e in self.ever_said(speaker, *kinds) if self.is_current(e.path))

    def source(self, path: str) -> Source | None:
        """Return the source of that path."""
        if self._indexed != len(self.sources):
            # Asked for every event of every source, so a search through them all would be quadratic.
            self._by_path = {s.path: s for s in reversed(self.sources)}
            self._indexed = len(self.sources)
        return self._by_path.get(path)

    def moments(self, event: Event) -> tuple[float, float]:
        """Return the moments between which an event lies: those of the lines around one that has no time."""
        if event.time is not None:
            return event.time, event.time
        if event.path not in self.times:
            return UNTIMED
        lines, times = self.times[event.path]
        at = bisect_left(lines, event.line)
        before = times[at - 1] if at else UNTIMED[0]
        after = times[at] if at < len(times) else UNTIMED[1]
        # A clock that goes back between the two lines tells nothing.
        return (before, after) if before <= after else UNTIMED

    def is_current(self, path: str) -> bool:
        """Tell whether a source belongs to the attempt in question, as artefacts do but those of an old folder."""
        source = self.source(path)
        if source is None:
            return True
        return source.attempt >= self.current and path not in self.older

    def bring_forward(self, paths: AbstractSet[str]) -> None:
        """Count sources as of the attempt in question, whatever their names said."""
        self.sources = [
            replace(s, attempt=max(s.attempt, self.current)) if s.path in paths else s for s in self.sources
        ]
        self._indexed = 0

    def logs(self) -> Sequence[Source]:
        """Return the logs of the attempt in question that hold anything."""
        return [
            s
            for s in self.sources
            if s.kind in LOG_KINDS and s.bytes and s.read != "skipped" and self.is_current(s.path)
        ]

    def current_steps(self) -> list[Step]:
        """Return the training steps of the attempt in question."""
        ours = {path for path in {s.path for s in self.steps} if self.is_current(path)}  # steps are many, paths few
        return [s for s in self.steps if s.series == "train" and s.path in ours]


LOG_KINDS = frozenset({"training-log", "slurm-log", "tmux-capture", "transcript", "text", "metrics-json"})
"""Kinds of source in which a program speaks about itself."""
