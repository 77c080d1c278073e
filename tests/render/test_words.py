"""The words that text formats share."""

from __future__ import annotations

from typing import Any

import pytest

from forensics.render import words
from forensics.render.moments import iso, span


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ((), ""),
        ((3,), "rank 3"),
        ((0, 1, 2, 5), "ranks 0-2, 5"),
        ((3, 0, 1, 2, 4), "rank 3 first, then 0-2, 4"),
    ],
)
def test_ranks_are_ranges_and_the_first_leads(order: tuple[int, ...], said: Any) -> None:
    """Ranks are joined to ranges; one that failed before lower ones is named first."""
    assert words.ranks(order) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("requested_bytes", 512, "512"),
        ("requested_bytes", 2048, "2.00 KiB (2048 bytes)"),
        ("timeout_ms", 1_800_000, "30 min 00 s (1800000 ms)"),
        ("seq", 2048, "2048"),
        ("loss", float("nan"), "nan"),
        ("retried", True, "yes"),
        ("shape", (1, 2), "1, 2"),
        ("node", None, ""),
    ],
)
def test_facts_keep_their_exact_value(name: str, value: Any, said: Any) -> None:
    """Sizes and time-outs gain a unit for people; every fact keeps its exact value."""
    assert words.fact(name, value) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1.25, "1970-01-01T00:00:01.25Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1e18, None),
        (float("nan"), None),
        (None, None),
    ],
)
def test_times_are_iso_or_nothing(seconds: float, said: Any) -> None:
    """A time is ISO in UTC, and None where no calendar holds it."""
    assert iso(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(41, "41 s"), (61, "1 min 01 s"), (7_500, "2 h 05 min"), (200_000, "2 days 7 h")]
)
def test_spans_have_two_units(seconds: float, said: Any) -> None:
    """A duration is told in its two largest units."""
    assert span(seconds) == said


def test_sentences_are_counted_not_cut() -> None:
    """A text is shortened between sentences, not inside a number or a name."""
    text = "It asked for 276.0 GiB in flex.attention.\nThe card has less. Restarting repeats it."
    assert words.sentences(text, 2) == "It asked for 276.0 GiB in flex.attention. The card has less."
