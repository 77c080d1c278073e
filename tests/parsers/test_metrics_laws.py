"""Laws that hold for any text: nothing is raised, time is linear, NaN stays NaN."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Line, Record, Source
from forensics.parsers.metrics import LIFE, SETTINGS, STEP_HINT, complete, parse_step
from tests.effort import undisturbed

CONTEXT = Context(Source("train.log", "training-log", 0))
PIECES = st.sampled_from(
    [
        "step ", "loss: ", "=", "nan", "inf", "1e999", "12/30", "%|", " [00:01<00:02, 1.0it/s", "]", "{'", "':", '{"', "}",
        "epoch ", "━━━━ ", "[=>..] - ", "| ", "\t", "checkpoint ", "saved ", "resuming ", "torch.Size([", "(1, 2, 3)", "-",
        "batch_size=", "Training complete", "iteration", "[batch=1/2]:", "9" * 400, "0" * 400, ",", ".", "\x00", "\ud7ff", "é",
        "version 2.1.0", "tok/s", "lr=[", "learn: ", "GiB", "MaxMemAllocated=", "restart_count=", "²",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map("".join))


def record(text: str) -> Record:
    return Record(Line(1, 0, 0, text), text, text)


def told(text: str) -> list[Event]:
    return [*LIFE.parse([record(text)], CONTEXT), *SETTINGS.parse([record(text)], CONTEXT)]


@given(TEXTS)
def test_no_text_raises(text: str) -> None:
    """Any text gives a step or None, and any number of events."""
    step = parse_step(record(text), "train.log")
    if step is not None:
        assert step.series in {"train", "eval", "final", "other"}
        assert complete(step, [step]) in {True, False}
        assert step.step is None or step.step >= 0
        assert step.memory_bytes is None or step.memory_bytes >= 0
    for event in told(text):
        assert event.speaker == "progress"


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 10**12))
def test_numbers_survive(loss: float, step: int) -> None:
    """Whatever Python prints as a loss is read back as that number."""
    read = parse_step(record(f"step {step} | loss {loss} | lr 0.1"), "train.log")
    assert read is not None
    assert read.step == step
    assert read.loss == pytest.approx(loss, nan_ok=True)


@given(st.binary(max_size=400))
def test_the_hint_stays_in_its_record(data: bytes) -> None:
    """No hit reaches over the end of a line or of a carriage-return record."""
    assert all(b"\n" not in hit[0] and b"\r" not in hit[0] for hit in STEP_HINT.finditer(data))


def _work(text: str) -> int:
    """Count the lines of Python that run: a measure of effort that no busy machine disturbs."""
    count = 0

    def tracer(*_: object) -> object:
        nonlocal count
        count += 1
        return tracer

    parse_step(record(text), "train.log")  # compiles the patterns, which is work of the first time only
    told(text)
    with undisturbed():
        before = sys.gettrace()
        sys.settrace(tracer)  # type: ignore[arg-type]
        try:
            parse_step(record(text), "train.log")
            told(text)
        finally:
            sys.settrace(before)
    return count


@pytest.mark.parametrize("seed", ["loss 1 ", "a=1 ", "0/0 ", "| x ", "{'loss': 1, ", "1/2 [00:01<00:01, 1it/s] "])
def test_work_is_bounded_by_the_caps(seed: str) -> None:
    """A line of a megabyte costs no more than one at the cap."""
    assert _work(seed * (1_000_000 // len(seed))) <= 2 * _work(seed * (20_000 // len(seed))) + 1000


def test_no_pattern_nests_unbounded_repeats() -> None:
    """No regular expression repeats an unbounded repeat, which is what makes one explode."""
    nested = re.compile(r"[+*][^()]{0,40}\)(?:[*]|\+(?!\+))")
    checked = 0
    for name, module in sys.modules.items():
        if name.startswith("forensics.parsers.metrics"):
            for value in vars(module).values():
                pattern = getattr(value, "pattern", None)
                if isinstance(pattern, str):
                    checked += 1
                    assert not nested.search(pattern), pattern
    assert checked
