"""The shape of one rule file. The format is described for authors in docs/rules.md."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

FactType: TypeAlias = Literal[
    "str", "int", "float", "size", "kib", "hex", "ms", "s", "list", "path", "signal", "bool", "count", "text"
]


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to recognise the cause: who must speak, and what must be said.

    `speaker`, `kind`, `level` and `source` restrict the events looked at; `pattern` is
    searched in the event's message, `frames` in the traceback of an exception,
    `unless` must match neither. `where` lists comparisons of facts, such as
    `reserved_unallocated_bytes >= requested_bytes`; all must hold, and a fact that is
    absent makes one fail. `facts` are constants added on a match. `anchors` replaces
    the literals derived from `pattern`. `title` and `why` replace the rule's where this signal decides.
    `explains` adds to what the rule explains, and wins over a cause that explains this one in turn.
    """

    speaker: tuple[str, ...]
    kind: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    pattern: str = ""
    frames: str = ""
    unless: str = ""
    where: tuple[str, ...] = ()
    role: Literal["cause", "consequence", "note"] = "cause"
    severity: Literal["", "error", "warning", "info"] = ""
    confidence: Literal["", "high", "medium", "low"] = ""
    facts: dict[str, str | int | float | bool] = {}
    anchors: tuple[str, ...] = ()
    title: str = ""
    why: str = ""
    explains: tuple[str, ...] = ()


class FixSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to change; `{fact}` in the texts is filled from the finding's facts.

    `when` lists comparisons as a signal's `where` does: the fix is offered where all hold.
    """

    id: str
    title: str
    detail: str = ""
    safe: bool = False
    env: dict[str, str] = {}
    args: dict[str, str] = {}
    when: tuple[str, ...] = ()


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proof: a small run, and whether the rule fires on it.

    `log` is shorthand for one file `train.log`; `files` names several. `version` says
    which release prints that wording. `role` and `line` are checked where given.
    """

    name: str
    fires: bool
    log: str = ""
    files: dict[str, str] = {}
    version: str = ""
    role: Literal["", "root", "cause", "consequence", "note"] = ""
    line: int = 0
    facts: dict[str, str | int | float | bool | list[str | int | float]] = {}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cause. `explains` lists the ids (or `family.*`) that this cause accounts for.

    A `fallback` rule yields when any other rule claims the same event. `restart` says
    whether running the same thing again can help. `order` breaks ties between
    unexplained causes that no time or position can order: lower is looked at first.
    `verdict` tells what is known of the run where this is its root although the capture is
    broken: a program that was never started has failed, a log that is missing says nothing.
    """

    title: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["high", "medium", "low"]
    restart: Literal["no", "maybe", "yes"]
    why: str
    signal: tuple[Signal, ...]
    explains: tuple[str, ...] = ()
    fallback: bool = False
    order: int = 50
    verdict: Literal["", "failed"] = ""
    references: tuple[str, ...] = ()
    facts: dict[str, FactType] = {}
    fix: tuple[FixSpec, ...] = ()
    case: tuple[Case, ...] = ()
    id: str = ""
    path: str = ""


class Problem(msgspec.Struct, frozen=True):
    """One reason to refuse a rule. `line` 0 means the file as a whole."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        """Return `file:line: text`, as compilers print it."""
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"
