"""Write what follows from the rules: docs/causes.md, the table of all causes, and the literals of their patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from forensics.analyze import analyze_files
from forensics.prove import files_of
from forensics.render.markdown import code, escape, prose
from forensics.rulebook.load import LITERALS, Rulebook, builtin_folder, load, worked_out
from forensics.rulebook.schema import Rule
from forensics.text.sizes import format_size

TARGET = Path(__file__).parents[1] / "docs" / "causes.md"
WIDEST = 110
HEAD = """# Causes

Every cause that the rules know, what it looks like, and the first thing to do.
`dflash-forensics explain ID` tells each in full. This page is written by `make causes`.
"""


def page(book: Rulebook) -> str:
    """Return the page: a table a family, a row a cause."""
    return "\n".join((HEAD, *_tables(book)))


def _tables(book: Rulebook) -> Iterator[str]:
    rules = sorted(book.rules.values(), key=lambda rule: rule.id)
    for family, members in groupby(rules, key=lambda rule: rule.id.partition(".")[0]):
        yield f"## {family}\n"
        yield "| id | cause | looks like | first fix |\n| --- | --- | --- | --- |"
        for rule in members:
            # A fix with a condition is for some of the cases only.
            fixes = [f for f in rule.fix if not f.when] or rule.fix
            fix = prose(_plain(fixes[0].title)) if fixes else ""
            yield f"| {code(rule.id)} | {escape(_plain(rule.title))} | {_example(rule, book)} | {_cell(fix)} |"
        yield ""


def _example(rule: Rule, book: Rulebook) -> str:
    """Return the line that decides in the rule's first firing case."""
    case = next(case for case in rule.case if case.fires)
    report = analyze_files(files_of(case), book)
    place = next(f.evidence[0] for f in report.findings if f.id == rule.id)
    rows = [row.strip() for row in place.text.splitlines() if row.strip()]
    patterns = [re.compile(signal.pattern) for signal in rule.signal if signal.pattern]
    telling = [row for row in rows if any(pattern.search(row) for pattern in patterns)]
    line = (telling or rows or [""])[0]
    if not line:
        return escape(f"{place.path} of {format_size(0)}")
    return code(line if len(line) <= WIDEST else f"{line[:WIDEST].rstrip()} …", cell=True)


def _plain(text: str) -> str:
    """Return a title without the places that facts fill."""
    return " ".join(word if "{" not in word else "…" for word in text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(page(load(cases=True)), encoding="utf-8")
    table = builtin_folder() / LITERALS
    table.write_bytes(worked_out())
    print(TARGET, table, sep="\n")
