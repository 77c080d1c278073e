"""What is read of all records at once is what reading each of them gives."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forensics.engine.losses import loss_key
from forensics.parsers.metrics import STEP_HINT
from forensics.scan import Key, Plan, Scan
from forensics.scan.columns import MOST_BREAKS
from forensics.scan.numbers import numbers, places, texts

NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.6f}"),
    st.floats(1e-6, 1e6).map(lambda x: f"{x:.6E}"),
    st.integers(-999, 99_999).map(str),
    st.integers(0, 10**23).map(str),
    st.floats(0, 1e9).map(repr),
    st.sampled_from(["nan", "NaN", "inf", "-inf", "", "x", "-", ".", "1.", "+2.5", "  3.25"]),
)


def one(text: str) -> float:
    found = re.match(r" {0,7}([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)", text)
    return float(found[1]) if found else math.nan


@given(st.lists(NUMBERS, max_size=30))
def test_numbers_are_read_as_they_are_printed(printed: list[str]) -> None:
    """Signs, blanks, points and exponents; what is no number is NaN, also where the block ends with it."""
    block = "".join(f"loss:{text}\n" for text in printed).encode()
    found = numbers([texts(block, places(block, b"loss:"))])
    assert found.tolist() == pytest.approx([one(text) for text in printed], rel=1e-12, nan_ok=True)


@given(
    st.lists(st.from_regex(r"[ +-]{0,9}[0-9]{0,90}\.?[0-9]{0,90}([eE][+-]?[0-9]{0,5})?", fullmatch=True), max_size=9)
)
def test_no_number_is_too_long_to_be_passed_over(printed: list[str]) -> None:
    """Whatever stands there, one number of floating point, or none, is what it is taken for."""
    block = "".join(f"loss:{text}\n" for text in printed).encode()
    assert len(numbers([texts(block, places(block, b"loss:"))])) == len(printed)


@example(b"", b"a")
@example(b"a", b"a")
@example(b"abab", b"ab")
@given(st.binary(max_size=200), st.sampled_from([b"a", b"ab", b"\n", b"loss:"]))
def test_places_are_those_of_each_occurrence(block: bytes, literal: bytes) -> None:
    """The quick search finds what a plain one finds."""
    block = block.replace(b"\0", b"ab\nloss:")
    assert places(block, literal).tolist() == [m.end() for m in re.finditer(re.escape(literal), block)]


@pytest.mark.parametrize(
    ("record", "key"),
    [
        (b" [2026-03-01 00:00:03.7] iteration 3/ 500 | learning rate: 2.8E-04 | lm loss: 1.004678E+01 |", b"4 | lm loss:"),
        (b"[rank8]:[titan] 2026-03-01 00:00:01,234 - root - INFO - step:     1  loss: 10.0422  grad_norm:  0.9909", b"  loss:"),
        (b"{'loss': 10.0374, 'grad_norm': 0.691401, 'learning_rate': 3.38424270e-05, 'epoch': 0.00}", b"{'loss':"),
        (b"  0%|x         | 4/10000 [00:04<16:40,  9.53it/s, loss=10.010]", b"it/s, loss="),
    ],
)  # fmt: skip
def test_what_stands_before_a_loss_is_learned(record: bytes, key: bytes) -> None:
    """Of each format as it is printed."""
    found = loss_key(record)
    assert found is not None
    assert key.endswith(found.literal)
    assert bool(found.reach) == record.startswith(b"[rank")


def test_what_has_no_loss_teaches_nothing() -> None:
    """Neither a line without numbers nor a loss that is none."""
    for record in (b"step 3", b"hello", b"step 7 loss: nan", b"", b"\xff\xfe"):
        assert loss_key(record) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.integers(1, 9999), st.just(-1))), min_size=1, max_size=300))
def test_each_rank_keeps_its_first_last_lowest_and_highest_record(rows: list[tuple[int, int]]) -> None:
    """And all at which its loss ceases or begins to be a number, however many lines the other ranks print."""
    lines = [f"[rank{r}]: step {i} loss: {'nan' if v < 0 else v / 100}" for i, (r, v) in enumerate(rows)]
    plan = Plan({}, STEP_HINT, lambda _: Key(b" loss:", 64), engine="python")
    scan = Scan(plan, plan.matcher(), budget=8, size=1 << 24)
    list(scan.over(["".join(f"{line}\n" for line in lines).encode()]))
    kept = {line.text for _, line in scan.remarkable}
    for rank in {r for r, _ in rows}:
        own = [(v, lines[i]) for i, (r, v) in enumerate(rows) if r == rank]
        known = [v for v, _ in own if v >= 0]
        assert {own[0][1], own[-1][1]} <= kept
        for extreme in {min(known), max(known)} if known else ():
            assert any(v == extreme and line in kept for v, line in own)
        breaks = [
            b
            for (a, _), (b, line) in zip([(0, ""), *own], own, strict=False)
            if (a < 0) != (b < 0) and line not in kept
        ]
        assert not breaks
    assert len(rows) < MOST_BREAKS
