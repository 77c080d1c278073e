"""What the parts of the screen tell one another."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from forensics.model import Evidence, Finding
from forensics.sources import Found
from forensics.tui.hunt import Hit
from forensics.tui.job import Said
from forensics.tui.opened import Opened
from forensics.tui.rows import Row


@dataclass
class Gathered(Message):
    """The files of the run were found, or `problem` says why not."""

    found: Found | None
    problem: str = ""


@dataclass
class Spoken(Message):
    """The analysis says something: how far it is, why it failed, or its result."""

    said: Said
    run: int


@dataclass
class Goto(Message):
    """Show a place of the evidence. `keep` leaves the keys where they are."""

    place: Evidence
    keep: bool = True


@dataclass
class Choose(Message):
    """Tell about a finding; `go` shows its first evidence as well."""

    finding: Finding
    go: bool = True


@dataclass
class Moved(Message):
    """The reader is at a row of a source, written at `moment` as far as it tells."""

    opened: Opened
    row: Row
    moment: float | None


@dataclass
class Indexed(Message):
    """More of a source can be addressed, or more of it passed the filter."""

    opened: Opened


@dataclass
class Hunted(Message):
    """A search came to its end: at a place, at none, or at one where it is too slow."""

    opened: Opened
    hit: Hit | None
    what: str
    problem: str = ""
    highlight: bool = True


@dataclass
class Grown(Message):
    """Files of a run that is followed have changed; `new` are the paths of new ones."""

    changed: tuple[str, ...]
    new: int


@dataclass
class Laid(Message):
    """The plan of a second try, or why there is none."""

    text: str
