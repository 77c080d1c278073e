"""A run that still goes on: which of its files have grown, and for how long nothing was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forensics.render.moments import span
from forensics.sources import Found, Input, SourceError, find

LOOK_S = 1.0
"""Seconds between two looks at the files that are known."""
SEARCH_S = 5.0
"""Seconds between two looks for new files."""
STALLED_S = 60.0
"""Seconds without a byte from which on a run is said to be silent."""
REST = 3.0
"""How many times as long as an analysis takes the next one waits."""

Mark = tuple[int, float]


@dataclass(slots=True)
class Watch:
    """What is known of the files of a run, and when they last changed, in seconds since the epoch."""

    paths: Sequence[str]
    found: Found
    last: float = 0.0
    _marks: dict[str, Mark] = field(default_factory=dict)
    _searched: float = 0.0

    def __post_init__(self) -> None:
        self._marks = _marks(self.found.inputs)
        self.last = max((mark[1] for mark in self._marks.values()), default=0.0)

    def look(self, now: float) -> tuple[list[str], int]:
        """Return the paths that changed since the last look, and how many files are new."""
        new = 0
        if now - self._searched >= SEARCH_S:
            self._searched = now
            new = self._search()
        marks = _marks(self.found.inputs)
        changed = [path for path, mark in marks.items() if self._marks.get(path) != mark]
        self._marks = marks
        if changed:
            self.last = max(self.last, *(marks[path][1] for path in changed))
        return changed, new

    def _search(self) -> int:
        known = {item.source.path for item in self.found.inputs}
        try:
            found = find(self.paths)
        except SourceError:
            return 0
        kept = {item.source.path: item for item in self.found.inputs}
        # What is open reads on through the input that it was opened with.
        inputs = [kept.get(item.source.path, item) for item in found.inputs]
        self.found = Found(inputs, found.notes, found.root)
        return sum(item.source.path not in known for item in found.inputs)

    def silence(self, now: float) -> str:
        """Return for how long nothing was written, in words; empty where that is not long."""
        quiet = now - self.last
        return f"silent for {span(quiet)}" if self.last and quiet >= STALLED_S else ""


def _marks(inputs: Sequence[Input]) -> dict[str, Mark]:
    marks = {}
    for item in inputs:
        if item.plain_path is not None:
            try:
                status = item.plain_path.stat()
            except OSError:
                continue
            marks[item.source.path] = status.st_size, status.st_mtime
    return marks
