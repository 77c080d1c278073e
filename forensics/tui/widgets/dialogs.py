"""What lies over the screen for a moment: the keys, and the choice of a form to export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from forensics.tui.export import Form
from forensics.tui.palette import SEVERITY_SIGNS, STATE_SIGNS
from forensics.tui.plain import joined, plain

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Findings", (
        ("]  [", "next, previous finding, with its evidence"),
        ("Enter", "on evidence: go there; on a cited line: what cites it"),
        ("1 2 3 4 5", "why, timeline, plots, memory, attempts"),
        ("x", "export the report"),
        ("R", "the plan of a second try"),
    )),
    ("In the log", (
        ("g  G", "first, last line"),
        (":", "go to a line"),
        ("t", "go to a time: 12:50:06, -10m"),
        ("/  n  N", "find, next, previous; Tab in the prompt: a pattern"),
        ("e  E", "next, previous error"),
        ("f", 'show only: rank:3 level:error -speaker:nccl "words"'),
        ("m  '", "mark the line, go to the next mark"),
        ("y", "copy the line, or in Why the fix"),
        ("w", "wrap long lines; ← → look along them"),
        ("r", "show the records that a carriage return had overwritten"),
        ("a", "colours of the log: shown, stripped, spelled out"),
    )),
    ("In Why and Attempts", (
        ("← →", "choose a place, Enter goes there"),
        ("space  b", "on, back"),
    )),
    ("In the timeline", (
        ("← →  ↑ ↓", "move, choose a lane"),
        (",  .", "previous, next mark of the lane"),
        ("+  -  0", "zoom in, out, everything"),
    )),
    ("Screen", (
        ("Tab", "next part"),
        ("z", "this part alone, and back"),
        ("s", "sources and findings: show, hide"),
        ("d", "dark, light"),
        ("ctrl+p", "all commands"),
        ("?", "these keys"),
        ("q", "leave"),
    )),
)  # fmt: skip


class Help(ModalScreen[None]):
    """All keys and signs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Build the table."""
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = "Esc closes"
            yield Static(Content("\n").join(_rows()), markup=False)

    def action_scroll(self, by: int) -> None:
        """Move by a row."""
        self.query_one("#help").scroll_relative(y=by, animate=False)


def _rows() -> list[Content]:
    rows = []
    for title, keys in KEYS:
        rows.append(plain(title, "bold $primary"))
        rows += [joined(plain(f"  {key:<11}", "bold"), plain(what)) for key, what in keys]
    signs = {**{k: v for k, v in SEVERITY_SIGNS.items() if k == "root"}, **SEVERITY_SIGNS}
    rows.append(plain("Signs", "bold $primary"))
    rows.append(plain("  " + "  ".join(f"{sign} {name}" for name, sign in signs.items())))
    states = [f"{sign} {name}" for name, sign in STATE_SIGNS.items()]
    rows += [plain("  " + "  ".join(states[:5])), plain("  " + "  ".join(states[5:]))]
    rows.append(plain("  ↻9 a line of 9 records, the last one shown   ◆ your mark   › goes on"))
    return rows


class Planned(ModalScreen[None]):
    """The plan of a second try, which is shown when it is made."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,R", "dismiss", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Build the box."""
        with VerticalScroll(id="plan") as box:
            box.border_title = "Relaunch: the plan"
            box.border_subtitle = "nothing is started from here; Esc closes"
            yield Static("making the plan…", markup=False)

    def tell(self, text: str) -> None:
        """Show the plan, or why there is none."""
        self.query_one(Static).update(Content("\n").join(plain(row) for row in text.split("\n")))

    def action_scroll(self, by: int) -> None:
        """Move by a row."""
        self.query_one("#plan").scroll_relative(y=by, animate=False)


class Export(ModalScreen[Form | None]):
    """Which form to write."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", show=False)]

    def __init__(self, forms: Sequence[Form]) -> None:
        super().__init__()
        self._forms = forms

    def compose(self) -> ComposeResult:
        """Build the list."""
        options = [Option(plain(form.name)) for form in self._forms]
        yield (choice := OptionList(*options, id="export", markup=False))
        choice.border_title = "Export the report as"

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Hand over the form."""
        self.dismiss(self._forms[event.option_index])
