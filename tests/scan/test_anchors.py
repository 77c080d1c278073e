"""Anchors are sound: no match without one of them."""

from __future__ import annotations

import re

import pytest

from forensics.rulebook.load import load
from forensics.scan import required_literals


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"CUDA out of memory\. Tried to allocate (?P<n>[\d.]+)", ("CUDA out of memory. Tried to allocate ",)),
        (r"capaci?ty of", ("capac",)),
        (r"(?:loss|nope) is nan", (" is nan",)),
        (r"alpha|beta1", ("alpha", "beta1")),
        (r"alpha|x", ()),
        (r"(?i)alpha", ()),
        (r"\d+", ()),
        (r"(?:alpha)+z", ("alpha",)),
        (r"(?:alpha)?omega", ("omega",)),
    ],
)
def test_the_longest_required_literal_is_derived(pattern: str, literals: tuple[str, ...]) -> None:
    """A literal is taken only where every match must contain it."""
    assert required_literals(pattern) == literals


def test_no_case_of_the_rulebook_contradicts_an_anchor() -> None:
    """Every match of every shipped pattern, over every shipped case, holds one of its anchors."""
    book = load(cases=True)
    texts = ["\n".join([c.log, *c.files.values()]) for r in book.rules.values() for c in r.case]
    for rule in book.rules.values():
        for signal in rule.signal:
            literals = required_literals(signal.pattern)
            for found in re.finditer(signal.pattern, "\n".join(texts)) if literals else ():
                assert any(literal in found[0] for literal in literals), (rule.id, found[0])
