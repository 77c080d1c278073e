"""The reader of evidence: the log view, the line above it that says where one is, and all ways to get elsewhere."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Mapping
from threading import Event as Flag

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from forensics.model import Evidence
from forensics.render import words
from forensics.sources import Input
from forensics.text.ansi import strip
from forensics.text.sizes import format_size
from forensics.tui import filters, hunt
from forensics.tui.background import beside, post
from forensics.tui.messages import Hunted, Indexed, Moved
from forensics.tui.opened import Opened, Shelf
from forensics.tui.plain import joined, plain
from forensics.tui.query import ERRORS, PatternError, Query, TooSlowError
from forensics.tui.story import Story
from forensics.tui.widgets.log_view import LogView

TELL_S = 0.1
COPIED = 1 << 16


class Reader(Vertical):
    """Shows one source at a time."""

    def __init__(self, offset_s: float) -> None:
        super().__init__(id="reader")
        self.inputs: Mapping[str, Input] = {}
        self.story: Story | None = None
        self._offset_s = offset_s
        self._shelf = Shelf()
        self._hunting = Flag()
        self.busy = ""

    def compose(self) -> ComposeResult:
        """Build the line and the view."""
        yield Static(markup=False, id="where")
        yield LogView()

    @property
    def view(self) -> LogView:
        """Return the view."""
        return self.query_one(LogView)

    @property
    def opened(self) -> Opened | None:
        """Return the source that is shown."""
        return self.view.opened

    def tell(self, story: Story) -> None:
        """Take over an analysis."""
        self.story = story
        self.view.tell(story)
        self.draw()

    def on_unmount(self) -> None:
        """End all work beside the screen."""
        self._hunting.set()
        self._shelf.close()

    # going places

    def open(self, path: str) -> Opened | None:
        """Show a source; what was open of it stays as it was left."""
        made = self.inputs.get(path)
        if made is None:
            self.warn(f"{words.path(path)} is not among the files that were found")
            return None
        if self.opened is not None and self.opened.path == path:
            return self.opened
        opened = self._shelf.take(path)
        if opened is None:
            opened = Opened(made, self._offset_s, self.view.folded)
            beside(lambda: self._index(opened))
        self._shelf.put(opened)
        self._hunting.set()
        self.busy = ""
        self.view.open(opened)
        self.draw()
        return opened

    def goto(self, place: Evidence) -> None:
        """Show a place of the evidence."""
        opened = self.open(place.path)
        if opened is not None and place.line:
            self.line(place.line, column=place.column)

    def line(self, number: int, *, column: int = 0) -> None:
        """Go to a line. One that the index does not reach yet is found beside the screen."""
        opened = self.opened
        if opened is None:
            return
        if number <= opened.pages.ends or opened.pages.complete:
            offset = opened.pages.offset_of(number)
            if offset is None:
                self.warn(f"there is no line {number}; the last one is {opened.pages.lines or 0}")
            else:
                self._arrive(opened, offset, column)
            return

        def find(_: Flag) -> None:
            offset = opened.pages.offset_of(number)
            hit = None if offset is None else hunt.Hit(opened.rows.in_column(offset, column))
            post(self, Hunted(opened, hit, f"line {number}", highlight=False))

        self._hunt(f"going to line {number}", find)

    def _arrive(self, opened: Opened, offset: int, column: int = 0) -> None:
        if column and not opened.rows.unfolded:
            opened.rows.unfolded = True
        at = opened.rows.in_column(offset, column)
        if opened.rows.only is not None:
            row = opened.rows.at(at)
            if row is None or row.offset != offset:
                opened.only(None, None)
                self.app.notify("The filter was taken off: it hides that line.", markup=False)
        self.view.go(at)
        self.draw()

    def time(self, said: str) -> None:
        """Go to a time."""
        opened = self.opened
        if opened is None:
            return

        def find(flag: Flag) -> None:
            try:
                opened.edges = opened.edges or hunt.edges(opened.pages, opened.context)
                wanted = hunt.moment(said, *opened.edges, self._offset_s)
            except ValueError as error:
                post(self, Hunted(opened, None, said, str(error), highlight=False))
                return
            at = hunt.at_time(opened.pages, opened.context, wanted, flag)
            problem = "" if at is not None else f"no line of {words.path(opened.path)} tells a time"
            post(self, Hunted(opened, None if at is None else hunt.Hit(at), said, problem, highlight=False))

        self._hunt(f"going to {said}", find)

    def search(self, query: Query, *, back: bool = False) -> None:
        """Find words, and highlight them from now on."""
        try:
            query.check()
        except PatternError as error:
            self.warn(f"no pattern: {error}")
            return
        self.view.sought = query
        self.view.redraw()
        self._seek(query, query.text, back=back)

    def again(self, *, back: bool) -> None:
        """Find the same once more."""
        if self.view.sought is None:
            self.warn("nothing was searched for yet: / searches")
        else:
            self._seek(self.view.sought, self.view.sought.text, back=back)

    def error(self, *, back: bool) -> None:
        """Go to the next line that tells of an error."""
        self._seek(Query(ERRORS, is_regex=True), "error", back=back)

    def _seek(self, query: Query, what: str, *, back: bool) -> None:
        opened = self.opened
        row = opened.view.row if opened is not None else None
        if opened is None or row is None:
            return

        def find(flag: Flag) -> None:
            problem, hit = "", None
            try:
                hit = hunt.search(opened.pages, query, row.offset, back=back, stop=flag, among=opened.rows.only)
            except TooSlowError as slow:
                number = opened.pages.line_of(slow.offset)
                problem = f"given up: the pattern takes too long near line {number or '?'}"
            if not flag.is_set():
                post(self, Hunted(opened, hit, what, problem))

        self._hunt(f"searching {what}", find)

    def _hunt(self, what: str, find: Callable[[Flag], None]) -> None:
        self._hunting.set()
        self._hunting = Flag()
        self.busy = what
        self.draw()
        flag = self._hunting
        beside(lambda: find(flag))

    def on_hunted(self, event: Hunted) -> None:
        """Go where the search came to."""
        event.stop()
        self.busy = ""
        self.draw()
        if event.problem:
            self.warn(event.problem)
        elif event.hit is None:
            self.warn(f"not found: {event.what}")
        elif event.opened is self.opened:
            self._arrive(event.opened, event.hit.offset)
            if event.hit.around:
                self.app.notify("The search began anew at the other end.", timeout=2, markup=False)

    # filters, marks, looks

    def filter(self, said: str) -> None:
        """Show only some lines, all of them where nothing is said."""
        opened = self.opened
        if opened is None:
            return
        spoken = self.story.speakers(opened.path) if self.story else {}
        ranks = self.story.ranks if self.story else []
        try:
            chosen = filters.parse(said, ranks, list(spoken))
        except filters.FilterError as error:
            self.warn(str(error))
            return
        if chosen is None:
            opened.only(None, None)
            self.view.go(opened.view.cursor)
            self.draw()
            return
        out = array("Q")
        opened.only(chosen, out)
        self.choose(opened)
        self.view.redraw()
        self.draw()

    def choose(self, opened: Opened) -> None:
        """Go on choosing lines for the filter of a source, from where that stopped."""
        chosen, out = opened.filter, opened.rows.only
        if chosen is None or out is None:
            return
        spoken = self.story.speakers(opened.path) if self.story else {}
        stop = opened.walking
        told = 0.0

        def tell(at: int) -> None:
            nonlocal told
            if opened.rows.only is out:
                opened.filtered_to = at
            if (now := time.monotonic()) - told > TELL_S:
                told = now
                post(self, Indexed(opened))

        def walk() -> None:
            with opened.turn:  # a walk for what was written later begins where the one before it ended
                if opened.rows.only is not out:
                    return
                end = hunt.choose(opened.pages, chosen, opened.context, spoken, out, stop, tell, opened.filtered_from)
                if opened.rows.only is out:
                    opened.filtered_from = end
            post(self, Indexed(opened))

        beside(walk)

    def mark(self) -> None:
        """Mark the line, or take its mark off."""
        opened = self.opened
        row = opened.view.row if opened is not None else None
        if opened is not None and row is not None:
            opened.marks ^= {row.offset}
            self.view.redraw()

    def next_mark(self) -> None:
        """Go to the next marked line."""
        opened = self.opened
        if opened is None or not opened.marks:
            self.warn("no line is marked: m marks one")
            return
        later = sorted(at for at in opened.marks if at > opened.view.cursor)
        self.view.go(later[0] if later else min(opened.marks))

    def unfold(self) -> None:
        r"""Show each record that `\r` had overwritten, or only the last one of each line."""
        opened = self.opened
        if opened is not None:
            opened.rows.unfolded = not opened.rows.unfolded
            self.view.go(opened.view.cursor)
            self.draw()

    def wrap(self) -> None:
        """Fold long lines, or cut them."""
        self.view.wrap = not self.view.wrap
        self.view.shift = 0
        self._redrawn()

    def colours(self) -> None:
        """Show the colours of the log, none, or its escape sequences spelled out."""
        self.view.escapes = self.view.escapes.following
        self._redrawn()

    def _redrawn(self) -> None:
        self.view.forget()
        if self.opened is not None:
            self.opened.view.fold = 0
            self.opened.view.reveal()
        self.draw()

    @property
    def text(self) -> str:
        """Return the words of the line under the cursor, without what would act where they are pasted."""
        row = self.opened.view.row if self.opened else None
        return strip(row.data[:COPIED].decode("utf-8", "replace")) if row is not None else ""

    # beside the screen

    def _index(self, opened: Opened) -> None:
        told = time.monotonic()
        while opened.pages.advance():
            if (now := time.monotonic()) - told > TELL_S:
                told = now
                post(self, Indexed(opened))
        post(self, Indexed(opened))

    def on_indexed(self, event: Indexed) -> None:
        """Show line numbers and chosen lines as they become known."""
        event.stop()
        if event.opened is not self.opened:
            return
        if event.opened.at_end and event.opened.rows.only is not None:
            event.opened.view.end()  # who reads at the end of a run that goes on stays there
            self.view.moved()
        self.view.redraw()
        self.draw()

    def on_moved(self, _: Moved) -> None:
        """Say where the reader is."""
        self.draw()

    def grown(self) -> None:
        """Take in what was written to the files that are open since they were looked at."""
        for opened in self._shelf:
            last = opened.rows.last()
            opened.at_end = last is not None and opened.view.cursor >= last.offset
            change = opened.pages.refresh()
            if change == "same":
                continue
            if change == "new":
                opened.view.home()
                opened.only(None, None)
            opened.edges = None
            beside(lambda opened=opened: self._index(opened))  # type: ignore[misc]
            self.choose(opened)
            if opened.at_end:
                opened.view.end()
            if opened is self.opened:
                self.view.forget()
                self.view.moved()

    # words

    def warn(self, text: str) -> None:
        """Tell the user why nothing happened."""
        self.app.notify(plain(text).plain, severity="warning", timeout=4, markup=False)

    def draw(self) -> None:
        """Write the line above the view."""
        opened = self.opened
        if opened is None:
            return
        pages = opened.pages
        row = opened.view.row
        total = pages.lines
        number = "…" if row is None or row.number is None else f"{row.number}"
        share = f"{min(100, row.offset * 100 // max(1, pages.size))} %" if row is not None else ""
        parts = [f"{number}/{total if total is not None else '…'}", share, format_size(pages.size)]
        source = opened.made.source
        if not words.is_whole(source):
            parts.append(words.condition(source).partition(":")[0])
        if not pages.complete:
            parts.append(f"indexing {pages.indexed * 100 // max(1, pages.size)} %")
        if opened.filter is not None:
            count = len(opened.rows.only or ())
            done = (
                "" if opened.filtered_to >= pages.size else f", {opened.filtered_to * 100 // max(1, pages.size)} % read"
            )
            capped = ", the rest is not shown" if count >= hunt.MOST_CHOSEN else ""
            parts.append(f"only {opened.filter.said} ({words.count(count, 'line')}{done}{capped})")
        parts += [name for name, on in (("wrapped", self.view.wrap), ("records", opened.rows.unfolded)) if on]
        if self.view.escapes.value != "colours":
            parts.append(f"escapes {self.view.escapes.value}")
        parts += [part for part in (pages.note, self.busy) if part]
        text = joined(plain(words.path(opened.path), "bold"), plain("  " + " · ".join(filter(None, parts)), "$quiet"))
        self.query_one("#where", Static).update(text)
