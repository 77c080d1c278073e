"""Which rows a screen of some height shows of a source, and where the cursor is. Knows no screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forensics.tui.rows import Row, Rows


@dataclass(frozen=True, slots=True)
class Place:
    """One screen line: a row, and which of its folds."""

    row: Row
    fold: int


class Viewport:
    """A window over rows. `top` and `cursor` are byte offsets; `folded` tells into how many lines a row is folded."""

    def __init__(self, rows: Rows, folded: Callable[[Row], int] = lambda _: 1) -> None:
        self.rows = rows
        self.folded = folded
        self.height = 1
        self.top = 0
        self.fold = 0
        self.cursor = 0

    def lines(self) -> list[Place]:
        """Return the screen lines from the top on, at most as many as the window is high."""
        row = self.rows.at(self.top)
        places: list[Place] = []
        fold = self.fold
        while row is not None and len(places) < self.height:
            count = self.folded(row)
            places += [Place(row, at) for at in range(min(fold, count - 1), count)]
            fold = 0
            row = self.rows.after(row)
        return places[: self.height]

    @property
    def row(self) -> Row | None:
        """Return the row of the cursor."""
        return self.rows.at(self.cursor)

    def step(self, by: int) -> None:
        """Move the cursor by so many rows, and the window as far as it takes to see it."""
        row = self.row
        for _ in range(abs(by)):
            following = None if row is None else self.rows.after(row) if by > 0 else self.rows.before(row)
            if following is None:
                break
            row = following
        if row is not None:
            self.cursor = row.offset
            self.reveal()

    def scroll(self, by: int) -> None:
        """Move the window by so many screen lines; the cursor stays within it."""
        row = self.rows.at(self.top)
        if row is None:
            return
        fold = self.fold
        left = abs(by)
        while left and by > 0:
            rest = self.folded(row) - 1 - fold
            if left <= rest:
                fold, left = fold + left, 0
            elif (below := self.rows.after(row)) is not None:
                row, fold, left = below, 0, left - rest - 1
            else:
                break
        while left and by < 0:
            if left <= fold:
                fold, left = fold - left, 0
            elif (above := self.rows.before(row)) is not None:
                row, left = above, left - fold - 1
                fold = self.folded(row) - 1
            else:
                fold = left = 0
        self.top, self.fold = row.offset, fold
        self._fill()
        shown = self.lines()
        if shown and not any(place.row.offset == self.cursor for place in shown):
            self.cursor = (shown[0] if self.cursor < self.top else shown[-1]).row.offset

    def page(self, by: int) -> None:
        """Move by screens, and leave two lines to find one's place by."""
        before = self.top, self.fold
        self.scroll(by * max(1, self.height - 2))
        if (self.top, self.fold) == before:
            self.end() if by > 0 else self.home()

    def home(self) -> None:
        """Go to the first row."""
        first = self.rows.first()
        if first is not None:
            self.top = self.cursor = first.offset
            self.fold = 0

    def end(self) -> None:
        """Go to the last row."""
        last = self.rows.last()
        if last is not None:
            self.cursor = last.offset
            self.reveal()

    def go(self, offset: int, *, above: int | None = None) -> None:
        """Put the cursor on the row that holds a byte, a third down the window, or `above` lines from its top."""
        row = self.rows.at(offset)
        if row is None:
            return
        self.cursor = row.offset
        if any(place.row.offset == row.offset for place in self.lines()[1:-1]) and above is None:
            return
        self._put(row, self.height // 3 if above is None else above)

    def reveal(self) -> None:
        """Move the window so that the cursor is in it."""
        row = self.row
        if row is None:
            return
        if row.offset < self.top:
            self.top, self.fold = row.offset, 0
            return
        shown = [place for place in self.lines() if place.row.offset == row.offset]
        if not shown or (shown[-1].fold < self.folded(row) - 1 and shown[0].row.offset != self.top):
            self._put(row, max(0, self.height - self.folded(row)))

    def _put(self, row: Row, down: int) -> None:
        """Make a row the screen line `down` lines below the top."""
        self.top, self.fold = row.offset, 0
        while down > 0 and (above := self.rows.before(row)) is not None:
            count = self.folded(above)
            self.top, self.fold = above.offset, max(0, count - down)
            row, down = above, down - count
        self._fill()

    def _fill(self) -> None:
        """Move the window up where rows end before it does."""
        missing = self.height - len(self.lines())
        row = self.rows.at(self.top)
        while missing > 0 and row is not None:
            if self.fold >= missing:
                self.fold -= missing
                return
            missing -= self.fold
            self.fold = 0
            row = self.rows.before(row)
            if row is not None:
                count = self.folded(row)
                self.top, self.fold = row.offset, max(0, count - missing)
                missing -= count
