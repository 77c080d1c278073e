"""What the page draws: curves that keep what matters, moments in their place, memory to scale."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.analyze import Analysis
from forensics.model import Event, Evidence, Finding, Source
from forensics.render.html import scale
from forensics.render.html.clock import Clock
from forensics.render.html.evidence import Quotes
from forensics.render.html.memory import Memory, memory
from forensics.render.html.plots import LEFT, RIGHT, Moments, Plot, plot
from forensics.render.html.series import BUCKETS, Figure, Point, breaks, figures, strokes
from forensics.render.html.timeline import MOST_LANES, MOST_MARKS, Timeline, timeline
from tests.render.analyses import DIED, START, analysis, hostile, snapshot, steps
from tests.render.reports import DEGRADED, FAILED, HEALTHY

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=300)


def figure(made: Analysis, key: str) -> Figure:
    return next(f for f in figures(made) if f.key == key)


def drawn(made: Analysis, key: str, moments: Moments | None = None) -> Plot:
    return plot(figure(made, key), moments or Moments())


def points(values: list[float]) -> list[Point]:
    return [Point(float(n), y, "a.log", n + 1) for n, y in enumerate(values)]


@given(VALUES, st.integers(1, 40))
def test_a_thinned_curve_keeps_its_extremes(values: list[float], buckets: int) -> None:
    """However few points are drawn, the first, the last, the smallest and the largest finite one are among them."""
    made = strokes(points(values), buckets)
    kept = [p.y for stroke in made for p in stroke]
    finite = [y for y in values if math.isfinite(y)]
    assert len(kept) <= 8 * buckets
    assert [p.x for stroke in made for p in stroke] == sorted(p.x for stroke in made for p in stroke)
    if finite:
        assert (min(kept), max(kept), kept[0], kept[-1]) == (min(finite), max(finite), finite[0], finite[-1])


@given(VALUES)
def test_no_line_is_drawn_across_what_is_no_number(values: list[float]) -> None:
    """The values between two ends of a stroke are all numbers."""
    for stroke in strokes(points(values)):
        assert all(math.isfinite(values[int(p.x)]) for p in stroke)
        assert all(math.isfinite(y) for y in values[int(stroke[0].x) : int(stroke[-1].x) + 1]) or len(stroke) == 1


def test_a_spike_among_many_values_is_drawn() -> None:
    """One value of a hundred thousand is enough."""
    values = [1.0] * 100_000
    values[77_777] = 900.0
    kept = [p for stroke in strokes(points(values)) for p in stroke]
    assert len(kept) <= 8 * BUCKETS
    assert any((p.x, p.y) == (77_777, 900.0) for p in kept)


def test_a_silence_is_a_gap() -> None:
    """Where nothing was told for long, the curve has a hole; where a counter begins anew, too."""
    there = [Point(float(x), 1.0, "a.log", n) for n, x in enumerate([*range(10), *range(500, 510), *range(5)])]
    assert [len(stroke) for stroke in strokes(there)] == [10, 10, 5]


def test_the_first_nan_is_exact() -> None:
    """It has a mark at its own step, whatever else is left out, and the plot says so in words."""
    made = drawn(analysis(FAILED, tuple(steps(50_000, first_nan=31_417))), "loss")
    assert [(m.label, m.kind) for m in made.marks] == [("NaN from step 31417", "nan")]
    assert "no number from step 31417 on" in made.summary
    assert any(row[1:3] == ("step 31417", "NaN") for row in made.rows)
    assert made.broken[0][0] == pytest.approx(LEFT + (RIGHT - LEFT) * 31_417 / 49_999, abs=0.1)
    assert len(json.loads(made.points)) < 4000
    assert "values are drawn" in " ".join(made.notes)


def test_a_nan_that_passes_is_a_stretch_of_its_own() -> None:
    """Two records without a number in the middle are one stretch."""
    values = points([1.0, math.nan, math.inf, 2.0, math.nan])
    assert [(first.x, last.x) for first, last in breaks(values)] == [(1, 2), (4, 4)]


def test_the_failure_is_marked_where_it_happened() -> None:
    """On an axis of steps by its step, on one of time by its time."""
    moments = Moments(((5.0, "failure", "failure"),), ((START + 2, "failure", "failure"),))
    assert drawn(DIED, "loss", moments).marks[0].x == RIGHT
    assert drawn(DIED, "gpu-memory", moments).marks[0].x == pytest.approx(LEFT + (RIGHT - LEFT) * 0.4)


def test_each_rank_and_each_card_has_a_curve() -> None:
    """Up to eight are drawn, those of the failing rank among them, and the others are counted."""
    told = tuple(step for rank in range(12) for step in steps(30, rank=rank))
    cards = tuple(snapshot(START + n, tuple(range(12)), (0,) * 12) for n in range(3))
    made = list(figures(analysis(FAILED, told, cards), first=(11,)))
    loss = next(f for f in made if f.key == "loss")
    assert [curve.label for curve in loss.curves] == [*(f"rank {n}" for n in range(7)), "rank 11"]
    assert loss.left_out == 4
    assert next(f for f in made if f.key == "gpu-memory").left_out == 4
    assert "4 further curves not drawn." in plot(loss, Moments()).notes


def test_steps_without_numbers_are_drawn_in_their_order() -> None:
    """Where no record has a step or a time, the axis counts records."""
    told = tuple(replace(step, step=None, time=None) for step in steps(9))
    assert figure(analysis(HEALTHY, told), "loss").along == "record"


def test_the_time_of_a_step_follows_from_the_clock() -> None:
    """Where no record tells it, it is the time between steps, unless the clock is too coarse for that."""
    fine = tuple(replace(s, step_time_s=None, time=START + (s.step or 0) * 0.25) for s in steps(9))
    assert {p.y for p in figure(analysis(HEALTHY, fine), "step-time").curves[0].points} == {0.25}
    coarse = tuple(replace(s, time=float(int(s.time or 0))) for s in fine)
    assert not [f for f in figures(analysis(HEALTHY, coarse)) if f.key == "step-time"]


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_ticks_lie_within_their_axis(low: float, span: float) -> None:
    """They are few, they rise, and none lies outside."""
    high = low + span
    for found in (scale.ticks(low, high), scale.time_ticks(low, high)):
        assert len(found) <= 8
        assert found == sorted(found)
        assert all(low - span * 1e-6 <= tick <= high + span * 1e-6 for tick in found)


def test_labels_of_an_axis_differ() -> None:
    """Speeds that are nearly the same get as many digits as they need."""
    assert scale.labels([41_000, 41_005, 41_010], scale.number) == ["41k", "41.005k", "41.01k"]


def lanes(made: Analysis) -> Timeline | None:
    quotes = Quotes(made.report, {})
    for finding in made.report.findings:
        quotes.quotes(finding.evidence)
    return timeline(made, quotes, Clock(made), START + 20)


def test_the_timeline_has_a_lane_for_each_rank_and_speaker() -> None:
    """Ranks stand first; each mark leads to the evidence, or to its row."""
    made = lanes(DIED)
    assert made is not None
    assert [lane.name for lane in made.lanes] == ["rank 0", "rank 3", "nvidia-smi", "warning"]
    spots = {spot.label.split("\n")[1]: spot for lane in made.lanes for spot in lane.spots}
    assert spots["Watchdog caught collective operation timeout"].href == "e3"
    assert spots["in math_attention"].weight == "root"
    assert spots["6 times nvidia-smi snapshot"].weight == "routine"
    assert made.failure is not None


def test_a_line_without_a_time_lies_between_its_neighbours() -> None:
    """What stands half-way between two lines is drawn half-way, and marked; what comes last is only later."""
    events = (
        Event("a", "x", "t.log", 10, "x", time=100.0),
        Event("a", "x", "t.log", 20, "x"),
        Event("a", "x", "t.log", 30, "x", time=200.0),
        Event("a", "x", "t.log", 31, "x"),
    )
    clock = Clock(analysis(HEALTHY, (), events))
    found = [clock.of(event) for event in events]
    assert [(m.time, m.mark) for m in found if m] == [(100, ""), (150, "≈"), (200, ""), (200, "≥")]
    assert clock.at("other.log", 3) is None


def test_the_end_of_a_log_bounds_what_has_no_time() -> None:
    """A source knows the last time in it, so an exception in its last line is not before that."""
    report = replace(HEALTHY, sources=(Source("t.log", "training-log", 9, 50, started=90.0, ended=300.0),))
    clock = Clock(analysis(report, (), (Event("a", "x", "t.log", 10, "x", time=100.0),)))
    last = clock.at("t.log", 50)
    assert last is not None
    assert (last.time, last.mark) == (300.0, "≥")


def test_without_times_the_lines_are_the_axis() -> None:
    """A log that names no time still has an order."""
    told = tuple(replace(step, time=None) for step in steps(9))
    made = lanes(analysis(FAILED, told))
    assert made is not None
    assert not made.axis.clock
    assert made.caption == "Lines of train.log"
    assert lanes(analysis(HEALTHY)) is None


def test_a_timeline_is_bounded() -> None:
    """Thousands of ranks and events become a drawing of a size, which says what it left out."""
    events = tuple(
        Event("nccl", "warn", "t.log", n + 1, f"message {n}", rank=n % 500, time=START + n) for n in range(20_000)
    )
    made = lanes(analysis(FAILED, (), events))
    assert made is not None
    assert len(made.lanes) == MOST_LANES
    assert sum(len(lane.spots) for lane in made.lanes) <= MOST_MARKS
    assert any("of 500 lanes" in note for note in made.notes)


def test_what_lies_far_from_the_run_does_not_squeeze_it() -> None:
    """A kernel log of the month before leaves the run its room, and is counted."""
    old = Event("kernel", "boot", "dmesg", 1, "booted", time=START - 30 * 86_400)
    made = lanes(analysis(FAILED, tuple(steps(9)), (old,)))
    assert made is not None
    assert made.axis.low > START - 86_400
    assert any("1 event long before or after the run" in note for note in made.notes)


def test_a_hostile_log_draws_without_harm() -> None:
    """Names and times of no sense break nothing."""
    events = tuple(Event("a", "x", "t.log", n, "x", time=t) for n, t in enumerate([math.nan, math.inf, -1e300, 1e300]))
    made = lanes(analysis(FAILED, (), events))
    assert made is None or made.axis.low < made.axis.high
    assert lanes(hostile(50)) is not None


def oom(**sizes: int) -> Memory | None:
    facts = {"requested_bytes": 6 << 30, "total_bytes": 80 << 30, "free_bytes": 2 << 30, "device": 1, **sizes}
    found = Finding(
        "memory.gpu-oom", "x", "error", "high", "root", (Evidence("a.log", 5, 5, "OutOfMemoryError"),), facts=facts
    )
    return memory(replace(FAILED, findings=(found,)))


def test_memory_is_drawn_to_scale() -> None:
    """The parts fill the card, and what of the request does not fit reaches over its edge."""
    made = oom(allocated_bytes=70 << 30, reserved_unallocated_bytes=5 << 30)
    assert made is not None
    assert {part.kind: part.bytes >> 30 for part in made.parts} == {
        "allocated": 70, "reserved": 5, "unknown": 3, "free": 2,
    }  # fmt: skip
    assert sum(part.width for part in made.parts) == pytest.approx(made.card.width, abs=1)
    assert made.over is not None
    assert made.over.bytes == 4 << 30
    assert made.over.x == pytest.approx(made.card.x + made.card.width)
    assert made.card.label == "GPU 1"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"foreign_bytes": 60 << 30}, "Without the other processes"),
        ({"reserved_unallocated_bytes": 9 << 30}, "fragmented"),
        ({"free_bytes": 20 << 30}, "not in one piece"),
        ({"requested_bytes": 300 << 30}, "larger than the whole card"),
        ({"allocated_bytes": 77 << 30}, "what the run itself allocated"),
    ],
)
def test_the_drawing_says_what_it_means(sizes: dict[str, int], said: str) -> None:
    """Who is to blame follows from the sizes."""
    made = oom(**sizes)
    assert made is not None
    assert said in made.about


@pytest.mark.parametrize("sizes", [{"total_bytes": 0}, {"free_bytes": 90 << 30}, {"requested_bytes": -1}])
def test_sizes_that_make_no_sense_are_not_drawn(sizes: dict[str, int]) -> None:
    """A card with more free than it has, or none, is no drawing."""
    assert oom(**sizes) is None


def test_a_run_without_an_allocation_has_no_drawing() -> None:
    """There is nothing to draw of a degraded run."""
    assert memory(DEGRADED) is None
