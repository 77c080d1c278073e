"""The words that text formats share."""

from __future__ import annotations

from typing import Any

import pytest

from forensics.model import Evidence, Finding, Report, Run, Value
from forensics.render import facts, words
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


@pytest.mark.parametrize(
    ("code", "signal", "ids", "said"),
    [
        (0, None, (), "exit code 0"),
        (0, None, ("capture.pipe-status-masked",), "exit code 0 (of the last command of a pipeline)"),
        (124, None, (), "exit code 124 (a time limit)"),
        (137, 9, (), "exit code 137 (signal 9)"),
        (139, None, (), "exit code 139 (signal 11)"),
        (-6, 6, (), "exit code -6 (signal 6)"),
        (1, 9, (), "exit code 1 · signal 9"),
        (255, None, (), "exit code 255"),
    ],
)
def test_exit_codes_say_what_they_mean(code: int, signal: int | None, ids: tuple[str, ...], said: str) -> None:
    """A status that stands for a time limit, a signal or another command says so, and a signal is said once."""
    findings = tuple(Finding(name, "t", "warning", "high", "note", (Evidence("a", 1, 1, "a"),)) for name in ids)
    report = Report(Run("r", exit_code=code, signal=signal), "failed", "no", (), findings=findings)
    assert words.progress(report) == said


@pytest.mark.parametrize(("lasted", "said"), [(3600.0, "2026-11-29T12:50:06Z"), (41.0, "2026-11-29T12:50:06.426Z")])
def test_times_are_as_fine_as_the_run_is_short(lasted: float, said: str) -> None:
    """Seconds are enough for a long run; in one of less than a minute milliseconds tell the order."""
    time = 1_795_956_606.42621
    root = Finding("a.b", "t", "error", "high", "root", (Evidence("a", 1, 1, "a"),), time=time)
    report = Report(Run("r", started=time, ended=time + lasted), "failed", "no", (), findings=(root,))
    assert words.about(report, root).endswith(said)


def test_standard_input_has_a_name() -> None:
    """Standard input is shown by a name that no file has, in places and in the reason."""
    source = Evidence("-", 4, 4, "x")
    assert words.place(source) == "<stdin>:4"
    assert words.path("-!a.log") == "<stdin>!a.log"
    assert words.path("-odd.log") == "-odd.log"
    report = Report(Run("-"), "healthy", "no", (), reason="-:4 says that it finished, --x is 1-:2")
    assert words.why(report) == "Why: <stdin>:4 says that it finished, --x is 1-:2"


def test_a_reason_that_repeats_the_title_is_left_out() -> None:
    """The line of the reason adds something, or is not there."""
    root = Finding("a.b", "It broke", "warning", "high", "root", (Evidence("a", 1, 1, "a"),))
    assert words.why(Report(Run("r"), "failed", "no", (), findings=(root,), reason="It broke")) == ""


@pytest.mark.parametrize(
    ("explanation", "said"),
    [
        ("This belongs to an earlier attempt. Why.", "earlier attempt"),
        ("The run went on after this. Why.", "recovered"),
        ("By its time this lies outside the run. Why.", "another time"),
        ("Why.", ""),
    ],
)
def test_standing(explanation: str, said: str) -> None:
    """What is no part of the failure is told by how its explanation begins, which is then left out."""
    finding = Finding("a.b", "t", "error", "high", "note", (Evidence("a", 1, 1, "a"),), explanation=explanation)
    assert facts.standing(finding) == said
    assert facts.explanation(finding, 3) == "Why."


def test_a_consequence_tells_its_own_few_facts() -> None:
    """Sizes and numbers come first, four at most; what was told above is not told again."""
    values: dict[str, Value] = {
        "device": 3,
        "total_bytes": 2048,
        "requested_bytes": 1024,
        "shape": (1,),
        "seq": 7,
        "pid": 9,
        "op": "x",
    }
    finding = Finding("a.b", "t", "error", "high", "cause", (Evidence("a", 1, 1, "a"),), facts=values)
    told: dict[str, Value] = {"device": 3}
    assert facts.telling(finding, told) == "requested 1.00 KiB · pid 9 · seq 7 · total 2.00 KiB"
    assert facts.telling(finding, told) == ""
