"""The answer in a line: what became of the run, why, and how far the reading of it is."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from forensics.model import Report
from forensics.render import words
from forensics.render.excerpt import crop
from forensics.text.sizes import format_size
from forensics.tui.job import Progress
from forensics.tui.palette import VERDICTS
from forensics.tui.plain import joined, plain, safe


class Headline(Static):
    """One row where the screen is low, two where it is high."""

    def __init__(self, name: str) -> None:
        super().__init__(id="headline", markup=False)
        self._named = name
        self._report: Report | None = None
        self._doing = "looking for evidence"
        self._aside = ""

    def report(self, report: Report) -> None:
        """Show the answer."""
        self._report = report
        self._doing = ""
        self.draw()

    def doing(self, what: str) -> None:
        """Show what is being done, nothing when it is done."""
        self._doing = what
        self.draw()

    def progress(self, said: Progress) -> None:
        """Show how far the reading is."""
        share = min(99, said.done * 100 // max(1, said.total))
        self.doing(f"analysing {format_size(said.total)}: {share} %")

    def aside(self, text: str) -> None:
        """Show something at the right, as the silence of a run that is followed."""
        if text != self._aside:
            self._aside = text
            self.draw()

    def on_resize(self) -> None:
        """Cut anew."""
        self.draw()

    def draw(self) -> None:
        """Lay the line out in the width there is."""
        width = max(20, self.size.width or 80)
        right = " · ".join(filter(None, (self._aside, self._doing)))
        right = crop(safe(right), width // 2)
        report = self._report
        if report is None:
            left = joined(Content.styled(" … ", "bold reverse"), " ", plain(self._named, "bold"))
            second = Content("")
        else:
            root = report.root
            badge = Content.styled(f" {report.verdict.upper()} ", f"bold reverse {VERDICTS[report.verdict]}")
            left = joined(badge, " ", plain(root.title if root else words.name(report.run), "bold"))
            about = words.about(report, root) if root else words.why(report)
            second = plain(" · ".join(filter(None, (about, words.progress(report)))), "$quiet")
        room = max(8, width - cell_len(right) - (2 if right else 0))
        first = left.truncate(room, ellipsis=True).pad_right(max(0, room - left.cell_length))
        line = joined(first, "  " if right else "", Content.styled(right, "$warning"))
        self.update(Content("\n").join([line, second.truncate(width, ellipsis=True)]))
