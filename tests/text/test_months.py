"""Clocks of machines that speak another language."""

from __future__ import annotations

import pytest

from forensics.model import Context, Line, Source
from forensics.text.months import in_english
from forensics.text.prefix import peel

CONTEXT = Context(Source("kern.log", "kernel-log", 1), default_year=2026)


@pytest.mark.parametrize("month", [" 2月", "févr.", "fev", "февр.", "lut", "feb"])
def test_a_line_of_syslog_begins_with_a_month_of_the_locale(month: str) -> None:
    """The time is that of the same line in English, and the message what stands behind the host."""
    text = f"{month} 15 02:47:31 node7 kernel: NVRM: Xid (PCI:0000:01:00): 109, pid=77956"
    other = peel(Line(1, 0, 0, text), CONTEXT)
    english = peel(Line(1, 0, 0, text.replace(month, "Feb")), CONTEXT)
    assert (other.time, other.text, other.host) == (english.time, english.text, english.host)
    assert other.raw == text


@pytest.mark.parametrize(
    "text",
    [
        "mar 3 files were read",
        "set 4 5:6",
        "out 12 of 15",
        "mai 15 02:47",
        "2月 15",
        "may 1 10:00:00",
        "Mar 15 02:47:31 a b",
    ],
)
def test_other_words_stay_what_they_are(text: str) -> None:
    """A month counts only before a day and a whole clock."""
    assert in_english(text) == text
