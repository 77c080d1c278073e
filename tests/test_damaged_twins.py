"""What every rule finds in a whole log it finds in a damaged one, and a cut one accuses nobody else."""

from __future__ import annotations

from functools import cache

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from forensics.prove import files_of
from forensics.rulebook.groups import members
from forensics.rulebook.load import Rulebook, load
from forensics.rulebook.schema import Rule

NOT_THE_PROGRAM = ("capture.", "launch.")


@cache
def book() -> Rulebook:
    return load(cases=True)


def logs() -> list[tuple[str, bytes]]:
    """Return the first log of each rule that fires, where a log alone makes it fire."""
    found = []
    for rule in book().rules.values():
        case = next((c for c in rule.case if c.fires and c.log and not c.files and c.role in {"", "root"}), None)
        if case is not None and not rule.id.startswith(NOT_THE_PROGRAM):
            found.append((rule.id, files_of(case)["train.log"]))
    return found


LOGS = logs()
each_log = pytest.mark.parametrize(("identity", "log"), LOGS, ids=[identity for identity, _ in LOGS])


def report(log: bytes) -> Report:
    return analyze_files({"train.log": log}, book())


def active(made: Report) -> set[str]:
    return {f.id for f in made.findings if f.role != "note"}


@each_log
@pytest.mark.parametrize(
    "damage",
    [
        lambda log: log.replace(b"\n", b"\r\n"),
        lambda log: b"".join(b"\x1b[31m" + line + b"\x1b[0m\n" for line in log.splitlines()),
        lambda log: log + b"\0" * 8192,
        lambda log: log.rstrip(b"\n"),
        lambda log: b"\xc3\x28\xa0 broken bytes\n" + log,
    ],
    ids=["CRLF", "colours", "NUL tail", "no last newline", "broken bytes before"],
)  # fmt: skip
def test_a_damaged_log_tells_the_same(identity: str, log: bytes, damage: object) -> None:
    """Line ends, colours and lost ends take nothing away from a message that is there."""
    assert callable(damage)
    whole = report(log)
    # What is only a warning may give way to a lost end of the log, which is then what matters.
    if identity in active(whole) and any(f.severity == "error" for f in whole.findings):
        assert identity in active(report(damage(log)))


def related(rule: Rule, other: str) -> bool:
    """Tell whether two causes are known to go together: one explains the other."""
    ids = list(book().rules)
    theirs = book().rules[other]
    return other in members(rule.explains, ids, rule.id) or rule.id in members(theirs.explains, ids, other)


@each_log
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_log_cut_inside_its_deciding_line_accuses_nobody_else(identity: str, log: bytes, share: float) -> None:
    """Half a message may be silent or tell as much; it is never taken for another cause."""
    whole = report(log)
    if whole.root is None or whole.root.id != identity:
        return
    lines = log.splitlines(keepends=True)
    at = whole.root.evidence[0].line
    cut = b"".join(lines[: at - 1]) + lines[at - 1][: int(len(lines[at - 1]) * share)]
    root = report(cut).root
    # A fallback says no more than that something raised, which half a message shows as well.
    if (
        root is None
        or root.severity != "error"
        or root.id.startswith(NOT_THE_PROGRAM)
        or book().rules[root.id].fallback
    ):
        return
    known = {identity} | {f.id for f in whole.findings}
    assert root.id in known or related(book().rules[identity], root.id), f"{root.id} at {root.evidence[0]}"
