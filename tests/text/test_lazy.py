"""A pattern that is often asked answers as it did at first."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from forensics.text import lazy
from forensics.text.lazy import lazy as lazy_pattern

PATTERNS = (
    (r"\b(?:saved|wrote|written)\b.{0,8}?\bmodel\b|is ready now", re.IGNORECASE),
    (r"(?:torch|Torch)[ =]{1,2}(\d)", 0),
    (r"(?i:step) \d", 0),
    (r"\d+|error", 0),
    (r"(?<=x)loss", re.IGNORECASE),
)
TEXTS = st.lists(
    st.sampled_from(["saved", "WRITTEN", "\u017faved", "Model", "model", " is ready now", "torch", " ", "=", "2", "STEP", "xlo\u017fs", "xLOSS", "\n", "\u0130"]),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.sampled_from(PATTERNS), st.lists(TEXTS, min_size=1, max_size=12))
def test_a_sifted_pattern_finds_what_the_pattern_finds(source: tuple[str, int], texts: list[str]) -> None:
    """Whether case is ignored, whatever the letters, and before and after it knows what it needs."""
    pattern, plain = lazy_pattern(*source), re.compile(*source)
    for text in texts * (lazy.OFTEN // len(texts) + 2):
        found, wanted = pattern.search(text), plain.search(text)
        assert (found and found.span()) == (wanted and wanted.span())
    assert (pattern.search(texts[0], 1) is None) == (plain.search(texts[0], 1) is None)
