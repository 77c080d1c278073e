"""What the reader asks of all lines at once is what it would be told of each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.engine.reader import holding
from forensics.model import Line, Record

LINES = st.lists(st.text(st.sampled_from("abc: é"), max_size=8), max_size=12)
LITERALS = st.lists(st.text(st.sampled_from("abc: é"), min_size=1, max_size=3), max_size=5)


@given(LINES, LITERALS)
def test_lines_that_hold_a_literal_are_found_in_order(lines: list[str], literals: list[str]) -> None:
    """None twice, and no literal is found where one line ends and the next begins."""
    records = [Record(Line(number, 0, 0, text, number), text, text) for number, text in enumerate(lines, 1)]
    assert holding(records, literals) == [record for record in records if any(a in record.raw for a in literals)]
