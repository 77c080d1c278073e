"""Rules prove themselves: every case is a small run, analysed for real.

A rule is refused when a case says it fires and it does not (or the other way round), when
one of its signals is exercised by no case, and when two rules claim the same event of a
case with nothing in `explains` between them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from forensics.analyze import analyze_files, trace_files
from forensics.engine.match import Match
from forensics.model import Report, Value
from forensics.rulebook.groups import members
from forensics.rulebook.load import Rulebook, RulebookError, load
from forensics.rulebook.schema import Case, Problem, Rule

CLOSE = 0.006
"""Relative difference at which two sizes read from rounded text are the same."""


def prove(book: Rulebook, only: str | None = None) -> list[Problem]:
    """Return what the cases of the rules disprove; `only` is one rule's id, or a family."""
    problems: list[Problem] = []
    for rule in book.rules.values():
        if only is None or rule.id == only or rule.id.startswith(f"{only}."):
            problems.extend(_prove(rule, book))
    return problems


def _prove(rule: Rule, book: Rulebook) -> Iterator[Problem]:
    used: set[int] = set()
    for index, case in enumerate(rule.case):
        line = _line(rule, index)
        files = files_of(case)
        report = analyze_files(files, book)
        for text in _check(rule, case, report):
            yield Problem(rule.path, line, f"case {case.name!r}: {text}")
        if case.fires:
            matches = trace_files(files, book)
            used |= {i for m in matches if m.rule is rule for i, s in enumerate(rule.signal) if s is m.signal}
            for text in _overlaps(rule, matches, book):
                yield Problem(rule.path, line, f"case {case.name!r}: {text}")
    for index in range(len(rule.signal)):
        if index not in used:
            yield Problem(rule.path, _line(rule, index, "[[signal]]"), "no case exercises this signal")


def files_of(case: Case) -> dict[str, bytes]:
    """Return the files of a case: name -> content, the first newline of `log` taken off."""
    files = {name: text.encode("utf-8", "surrogateescape") for name, text in case.files.items()}
    if case.log:
        files["train.log"] = case.log.removeprefix("\n").encode("utf-8", "surrogateescape")
    return files


def _check(rule: Rule, case: Case, report: Report) -> Iterator[str]:
    found = next((f for f in report.findings if f.id == rule.id), None)
    if case.fires and found is None:
        others = ", ".join(f.id for f in report.findings) or "nothing"
        yield f"does not fire (found: {others})"
        return
    if not case.fires:
        mere_note = all(s.role == "note" for s in rule.signal)  # then even a note would be one too many
        if found is not None and (found.role != "note" or mere_note):
            yield f"fires as {found.role}, at {found.evidence[0].path}:{found.evidence[0].line}"
        return
    if found is None:
        return
    if case.role and found.role != case.role:
        yield f"is {found.role}, not {case.role}"
    if not case.role and found.role == "note":
        yield 'is only a note (say so with role = "note")'
    if case.line and not any(e.line <= case.line <= e.end_line for e in found.evidence):
        yield f"cites line {found.evidence[0].line}, not {case.line}"
    for name, want in case.facts.items():
        have = found.facts.get(name)
        if not _same(tuple(want) if isinstance(want, list) else want, have):
            yield f"fact {name} is {have!r}, not {want!r}"


def _same(want: Value, have: Value) -> bool:
    if isinstance(want, (int, float)) and isinstance(have, (int, float)) and not isinstance(want, bool):
        return abs(want - have) <= CLOSE * abs(want)
    return want == have


def _overlaps(rule: Rule, matches: list[Match], book: Rulebook) -> Iterator[str]:
    """Yield the rules that claim an event of ours and are tied to us by no `explains`."""
    ours = {_event(m) for m in matches if m.rule is rule}
    explains: Mapping[str, frozenset[str]] = {i: members(r.explains, book.rules, i) for i, r in book.rules.items()}
    for other in {m.rule.id for m in matches if _event(m) in ours} - {rule.id}:
        if other not in explains[rule.id] and rule.id not in explains[other]:
            yield f"{other} claims the same line, and neither explains the other"


def _event(match: Match) -> tuple[str, int, str, str]:
    event = match.event
    return event.path, event.line, event.speaker, event.kind


def _line(rule: Rule, index: int, header: str = "[[case]]") -> int:
    lines = Path(rule.path).read_text(encoding="utf-8").split("\n")
    places = [n for n, text in enumerate(lines, 1) if text.startswith(header)]
    return places[index] if index < len(places) else 0


def main(arguments: list[str]) -> int:
    """Prove the shipped rules, or those named; print every problem; return 1 if there is one."""
    try:
        book = load(cases=True)
    except RulebookError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    names: list[str | None] = [*arguments] or [None]
    problems = [p for name in names for p in prove(book, name)]
    sys.stdout.writelines(f"{p}\n" for p in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
