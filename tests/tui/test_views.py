"""What the views are drawn from: story, timeline, plots, memory, attempts."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analyze import Analysis, analyze_files, examine
from forensics.render.cards import cards
from forensics.rulebook.load import load
from forensics.tui.attempts import attempts, earlier
from forensics.tui.lanes import ROOT, Timeline
from forensics.tui.series import Track, drawings, runs, thinned
from forensics.tui.story import Story, fresh
from tests.cli.program import OOM
from tests.cli.program import ROOT as REPOSITORY


@cache
def analysis(sample: str) -> Analysis:
    """Return the analysis of a sample."""
    return examine([str(REPOSITORY / "samples" / sample / "run")])


@cache
def story(sample: str) -> Story:
    """Return the story of a sample."""
    return Story.of(analysis(sample))


# story


def test_the_root_comes_first_and_hazards_last() -> None:
    """The chain is told from the root on, then what stands beside, then the hazards of the launch."""
    told = story("001-story").told
    assert told[0].finding.id == "capture.log-missing"
    assert [one.depth for one in told[:3]] == [0, 1, 1]
    names = [one.finding.id.partition(".")[0] for one in told]
    assert names == sorted(names, key=lambda name: name == "launch")


def test_a_cited_line_knows_the_finding_that_tells_most() -> None:
    """Where the root and its consequences cite a line, the root is named."""
    citation = story("002-dense-276").citation("train.log", 97)
    assert citation is not None
    assert citation.finding.role == "root"
    assert story("002-dense-276").citation("train.log", 96) is None


def test_findings_go_round() -> None:
    """Behind the last finding comes the first."""
    one = story("002-dense-276")
    order = [told.finding.id for told in one.told]
    at, seen = None, []
    for _ in range(len(order) + 1):
        at = one.neighbour(at, 1)
        assert at is not None
        seen.append(at.id)
    assert seen == [*order, order[0]]
    last = one.neighbour(None, -1)
    assert last is not None
    assert last.id == order[-1]


def test_new_findings_are_those_that_were_not_there() -> None:
    """Of a second analysis only what the first had not is new."""
    assert fresh(story("002-dense-276"), story("002-dense-276")) == []
    assert [f.id for f in fresh(None, story("007-nan-loss"))] == ["train.nan-loss"]


# timeline


def test_lanes_are_ranks_and_then_speakers() -> None:
    """Each rank and each speaker has a lane, and the root is the heaviest mark."""
    line = Timeline.of(story("010-collective-mismatch"))
    names = [lane.name for lane in line.lanes]
    assert names[:2] == ["rank 0", "rank 1"]
    assert {"c10d", "exception", "progress"} <= set(names)
    assert line.axis == "time"
    assert any(mark.weight == ROOT for mark in line.lanes[0].marks)


def test_marks_without_a_time_are_placed_by_their_neighbours() -> None:
    """An event whose line tells no time stands about where the line before it does."""
    line = Timeline.of(story("010-collective-mismatch"))
    about = [mark for lane in line.lanes for mark in lane.marks if mark.about]
    assert about
    assert all(line.first <= mark.x <= line.last for mark in about)


def test_without_times_the_axis_is_lines() -> None:
    """A log that tells no time is laid out by its lines."""
    report = Story.of(_memory_only())
    line = Timeline.of(report)
    assert line.axis == "lines of train.log"
    assert line.unplaced == 0


def _memory_only() -> Analysis:
    made = analyze_files({"train.log": OOM.encode()}, load())
    from msgspec.structs import replace

    base = examine([str(REPOSITORY / "samples" / "002-dense-276" / "run")])
    events = tuple(replace(e, time=None, path="train.log") for e in base.events if e.path == "train.log")
    return replace(base, report=made, events=events, steps=())


@given(
    moves=st.lists(
        st.tuples(st.sampled_from(["zoom", "move", "whole"]), st.floats(0.1, 4.0), st.floats(0.0, 1.0)), max_size=12
    )
)
def test_the_window_stays_within_the_run(moves: list[tuple[str, float, float]]) -> None:
    """However one zooms and moves, the window lies within the run and the cursor within the window."""
    line = Timeline.of(story("010-collective-mismatch"))
    for move, factor, share in moves:
        if move == "zoom":
            line.zoom(factor)
        elif move == "move":
            line.move(line.first + share * (line.last - line.first))
        else:
            line.whole()
        assert line.first - 1e-6 <= line.low < line.high <= line.last + 1e-6
        assert line.low - 1e-6 <= line.cursor <= line.high + 1e-6
        assert 0 <= line.column(line.cursor, 60) < 60


def test_zooming_in_keeps_the_cursor_in_its_column() -> None:
    """What is looked at stays where it is."""
    line = Timeline.of(story("010-collective-mismatch"))
    line.move(line.first + 20)
    before = line.column(line.cursor, 100)
    line.zoom(0.5)
    assert abs(line.column(line.cursor, 100) - before) <= 1


# plots


def test_a_loss_that_became_nan_is_a_gap_with_its_first_step() -> None:
    """Only finite values are drawn, and the first that is none is exact."""
    loss = drawings(analysis("007-nan-loss"))[0]
    assert (loss.title, loss.axis, loss.failure, loss.failure_name) == ("loss", "step", 14.0, "train.nan-loss")
    (track,) = loss.tracks
    assert track.broken[0] == 14.0
    assert all(math.isfinite(y) for _, y in track.points)


def test_cards_are_drawn_over_time() -> None:
    """A loop of nvidia-smi gives memory and utilisation of each card."""
    titles = {series.title: series for series in drawings(analysis("005-foreign-process"))}
    memory = titles["memory of each GPU (GiB)"]
    assert memory.axis == "time"
    assert [track.name for track in memory.tracks][:1] == ["GPU 0"]
    assert "utilisation of each GPU (%)" in titles


@given(ys=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), columns=st.integers(1, 20))
def test_thinning_keeps_first_last_and_extremes(ys: list[float], columns: int) -> None:
    """A spike among many records stays, and the order does."""
    points = [(float(x), y) for x, y in enumerate(ys)]
    kept = thinned(points, columns)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert {min(ys), max(ys)} <= {y for _, y in kept}
    assert all(a[0] <= b[0] for a, b in pairwise(kept))
    assert len(kept) <= max(2, 4 * columns)


def test_stretches_end_where_there_was_no_number() -> None:
    """A line is never drawn across a NaN."""
    track = Track("", ((0, 1.0), (1, 1.0), (4, 2.0)), (2.0, 3.0))
    assert runs(track) == [[(0, 1.0), (1, 1.0)], [(4, 2.0)]]


# memory


def test_a_request_larger_than_the_card() -> None:
    """The drawing of a hopeless request says so, to one scale."""
    (card, *others) = cards(analysis("002-dense-276").report)
    assert others == []
    assert card.scale == card.requested
    assert "2.0 times the whole card (139.80 GiB): no restart makes it fit" in card.verdict
    kinds = [part.kind for part in card.parts]
    assert kinds == ["allocated", "reserved", "rest", "free"]
    assert sum(part.size for part in card.parts) <= (card.total or 0)


def test_a_request_that_others_left_no_room_for() -> None:
    """Memory of other processes is a part of its own."""
    (card, *_) = cards(analysis("005-foreign-process").report)
    assert "others" in {part.kind for part in card.parts}
    assert "too little" in card.verdict


def test_without_a_request_nothing_is_drawn() -> None:
    """A run that failed otherwise has no drawing."""
    assert cards(analysis("007-nan-loss").report) == []


# attempts


def test_each_log_belongs_to_its_try() -> None:
    """The story has four tries: three with a log of their own, and the one whose log is missing."""
    tries = attempts(analysis("001-story").report)
    assert [(one.number, one.current) for one in tries] == [(4, True), (3, False), (2, False), (1, False)]
    assert [log.path for log in tries[1].logs] == ["train_stdout_flex2.log"]
    assert [f.id for f in tries[1].findings] == ["compile.fx-trace-race"]
    assert tries[0].findings[0].id == "capture.log-missing"
    assert "train_stdout_flex2.log" in earlier(analysis("001-story").report)


@pytest.mark.parametrize("sample", ["002-dense-276", "003-compiled-ok"])
def test_one_try(sample: str) -> None:
    """A run that was tried once has one attempt, with when it ran."""
    (only,) = attempts(analysis(sample).report)
    assert only.current
    assert only.when.startswith("2026-")
