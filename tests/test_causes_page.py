"""The page of causes, and the vocabulary it must cover."""

from __future__ import annotations

import runpy

from forensics.rulebook.load import LITERALS, builtin_folder, load, worked_out
from tests.cli.program import ROOT


def test_the_page_of_causes_is_that_of_the_rules() -> None:
    """Whoever changes a rule writes the page again."""
    page = runpy.run_path(str(ROOT / "scripts" / "causes.py"))["page"]
    assert (ROOT / "docs" / "causes.md").read_text(encoding="utf-8") == page(load(cases=True)), "run `make causes`"


def test_the_literals_are_those_of_the_rules() -> None:
    """Literals of other rules would not be used, and each start would derive them again."""
    assert (builtin_folder() / LITERALS).read_bytes() == worked_out(), "run `make causes`"
    assert load().literals


def test_every_id_that_was_ever_promised_has_a_rule() -> None:
    """Reports, gates and baselines name causes by their ids, so none is renamed or dropped."""
    promised = set((ROOT / "tests" / "ids.txt").read_text(encoding="utf-8").split())
    assert promised - set(load().rules) == set()
