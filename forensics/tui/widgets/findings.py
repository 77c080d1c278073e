"""The findings as a chain: the root first, what followed from it below, what stands beside at the end."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from forensics.model import Finding
from forensics.render import facts, words
from forensics.tui.messages import Choose
from forensics.tui.palette import SEVERITY_SIGNS
from forensics.tui.plain import joined, plain
from forensics.tui.story import Story, Told

TONES = {"error": "$error", "warning": "$warning", "info": "$primary"}
DEEPEST = 4


class Findings(OptionList):
    """One row a finding; Enter or a click tells about it and shows its evidence."""

    def __init__(self) -> None:
        super().__init__(id="findings", markup=False, compact=True)
        self.border_title = "Findings"
        self._told: list[Finding] = []

    def tell(self, story: Story) -> None:
        """Show what an analysis found."""
        kept = self.chosen
        self.clear_options()
        self._told = [one.finding for one in story.told]
        beside = False
        for index, one in enumerate(story.told):
            if one.depth is None and not beside:
                beside = True
                if index:
                    self.add_option(None)
            self.add_option(Option(_row(one), id=f"finding-{index}"))
        if not self._told:
            word = "nothing is wrong" if story.report.verdict == "healthy" else "nothing was found"
            self.add_option(Option(plain(word, "$quiet"), disabled=True))
        self.border_title = f"Findings {len(self._told)}" if self._told else "Findings"
        if kept is not None:
            same = next((f for f in self._told if f.id == kept.id), None)
            if same is not None:
                self.point(same)

    @property
    def chosen(self) -> Finding | None:
        """Return the finding under the cursor."""
        option = None if self.highlighted is None else self.get_option_at_index(self.highlighted)
        if option is None or option.id is None:
            return None
        return self._told[int(option.id.removeprefix("finding-"))]

    def point(self, finding: Finding) -> None:
        """Move the cursor to a finding, saying nothing."""
        index = next((at for at, one in enumerate(self._told) if one is finding), None)
        if index is not None:
            with self.prevent(OptionList.OptionHighlighted):
                self.highlighted = self.get_option_index(f"finding-{index}")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell about the finding, and show where it stands."""
        event.stop()
        if (finding := self.chosen) is not None:
            self.post_message(Choose(finding))


def _row(one: Told) -> Content:
    finding = one.finding
    if one.depth == 0:
        sign = Content.styled(f"{SEVERITY_SIGNS['root']} ", f"bold {TONES[finding.severity]}")
        return joined(sign, plain(finding.id, "bold"))
    indent = " " * min(one.depth or 0, DEEPEST) + "→ " if one.depth else ""
    sign = Content.styled(f"{SEVERITY_SIGNS[finding.severity]} ", TONES[finding.severity])
    aside = facts.standing(finding) or words.ranks(finding.ranks)
    return joined(indent, sign, plain(finding.id), plain(f" {aside}" if aside else "", "$quiet"))
