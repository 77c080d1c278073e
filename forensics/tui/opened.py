"""A source that is open: its pages, its rows, what is filtered, where the reader is and what is marked."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from threading import Event as Flag
from threading import Lock

from forensics.model import Context
from forensics.sources import Input
from forensics.sources.pages import Pages
from forensics.tui.filters import Filter
from forensics.tui.rows import Row, Rows
from forensics.tui.viewport import Viewport

MOST_OPEN = 8
"""Sources kept open: each has an index, and some an unpacked copy."""


class Opened:
    """One source and the reader's place in it."""

    def __init__(self, made: Input, offset_s: float, folded: Callable[[Row], int]) -> None:
        self.made = made
        self.pages = Pages(made)
        self.rows = Rows(self.pages)
        self.view = Viewport(self.rows, folded)
        self.marks: set[int] = set()
        self.filter: Filter | None = None
        self.filtered_to = 0
        self.filtered_from = (0, 1)
        self.walking = Flag()
        self.turn = Lock()
        self.at_end = False
        mtime = made.source.mtime
        year = datetime.fromtimestamp(mtime, UTC).year if mtime else None
        self.context = Context(made.source, default_year=year, utc_offset_s=offset_s)
        self.edges: tuple[float | None, float | None] | None = None

    @property
    def path(self) -> str:
        """Return the path as the report has it."""
        return self.made.source.path

    def only(self, chosen: Filter | None, out: array[int] | None) -> None:
        """Show only the lines whose offsets are put into `out`, all where that is None; a walk under way ends."""
        self.walking.set()
        self.walking = Flag()
        self.filter = chosen
        self.filtered_to, self.filtered_from = 0, (0, 1)
        self.rows.only = out

    def close(self) -> None:
        """End what walks through it."""
        self.walking.set()
        self.pages.close()


class Shelf:
    """The sources that are open, the one used last at the end; those used long ago are closed."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Opened] = OrderedDict()

    def take(self, path: str) -> Opened | None:
        """Return a source that is open."""
        found = self._open.get(path)
        if found is not None:
            self._open.move_to_end(path)
        return found

    def put(self, opened: Opened) -> None:
        """Keep one open."""
        self._open[opened.path] = opened
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)[1].close()

    def __iter__(self) -> Iterator[Opened]:
        return iter(list(self._open.values()))

    def close(self) -> None:
        """Close all."""
        while self._open:
            self._open.popitem()[1].close()
