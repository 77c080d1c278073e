"""The sources with their state, the promised ones that are not there, and the ranks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from forensics.model import Expected, Source
from forensics.render import words
from forensics.text.sizes import format_size
from forensics.tui.messages import Goto
from forensics.tui.palette import HUES, STATE_SIGNS
from forensics.tui.plain import joined, plain, safe

MOST = 2000


class Sources(OptionList):
    """One row a source; Enter or a click shows it."""

    class Opening(Message):
        """Show a source."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class Ranked(Message):
        """Show only what one rank says."""

        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank = rank

    def __init__(self) -> None:
        super().__init__(id="sources", markup=False, compact=True)
        self.border_title = "Sources"
        self._sources: list[Source] = []
        self._missing: list[Expected] = []
        self._ranks: list[int] = []
        self._earlier: Collection[str] = ()

    def on_mount(self) -> None:
        """Take other hues for the ranks when dark and light change."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._again())

    def _again(self) -> None:
        if self._sources:
            self.tell(self._sources, self._missing, self._ranks, self._earlier)

    def tell(
        self,
        sources: Sequence[Source],
        missing: Sequence[Expected] = (),
        ranks: Sequence[int] = (),
        earlier: Collection[str] = (),
    ) -> None:
        """Show what there is; `earlier` are the paths of what an earlier try left."""
        at = self.highlighted
        self.clear_options()
        self._sources = sorted(sources, key=lambda source: source.path in earlier)[:MOST]
        self._missing, self._ranks, self._earlier = list(missing), list(ranks), earlier
        for index, expected in enumerate(self._missing):
            sign = Content.styled(f"{STATE_SIGNS.get(expected.state, '✗')} ", "bold $error")
            name = plain(_end(expected.path), "$error")
            self.add_option(Option(joined(sign, name, plain(f" {expected.state}", "$quiet")), id=f"missing-{index}"))
        if self._missing and self._sources:
            self.add_option(None)
        for index, source in enumerate(self._sources):
            self.add_option(Option(_row(source, earlier=source.path in earlier), id=f"source-{index}"))
        if len(sources) > MOST:
            self.add_option(Option(plain(f"… and {len(sources) - MOST} more", "$quiet"), disabled=True))
        if len(self._ranks) > 1:
            self.add_option(None)
            hues = HUES[self.app.current_theme.dark]
            for rank in self._ranks[:MOST]:
                row = joined(Content.styled(f"r{rank} ", hues[rank % len(hues)]), f"rank {rank}")
                self.add_option(Option(row, id=f"rank-{rank}"))
        self.border_title = f"Sources {len(sources)}"
        if at is not None and self.option_count:
            self.highlighted = min(at, self.option_count - 1)

    def point(self, path: str) -> None:
        """Move the cursor to a source, saying nothing."""
        index = next((at for at, source in enumerate(self._sources) if source.path == path), None)
        if index is not None:
            self.highlighted = self.get_option_index(f"source-{index}")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show the source, the line that promised a missing one, or a rank."""
        event.stop()
        kind, _, number = (event.option_id or "").partition("-")
        if kind == "source":
            self.post_message(self.Opening(self._sources[int(number)].path))
        elif kind == "missing":
            self.post_message(Goto(self._missing[int(number)].promised_by))
        elif kind == "rank":
            self.post_message(self.Ranked(int(number)))


def _row(source: Source, *, earlier: bool) -> Content:
    state = "skipped" if source.read == "skipped" else source.state
    whole = words.is_whole(source)
    sign = Content.styled(f"{STATE_SIGNS[state]} ", "$success" if whole else "bold $warning")
    about = format_size(source.bytes) if whole else state
    name = plain(words.path(source.path), "$quiet" if earlier else "")
    tail = f" {about}{', earlier try' if earlier else ''}"
    return joined(sign, name, plain(tail, "$quiet"))


def _end(path: str) -> str:
    """Return the end of a path that has no room: the name says most."""
    return safe(path).rpartition("/")[2] or safe(path)
