"""The questions asked of steps and events, and the table of all of them."""

import io
import json
import subprocess
import sys
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import timeline
from forensics.model import Event, Source, Step

NAN = float("nan")


def step(
    number: int | None = None,
    line: int = 1,
    *,
    total: int | None = None,
    epoch: float | None = None,
    loss: float | None = None,
    grad_norm: float | None = None,
    time: float | None = None,
    rank: int | None = None,
    lane: str | None = None,
    keys: tuple[str, ...] = ("step", "loss"),
    series: str = "train",
    path: str = "train.log",
) -> Step:
    return Step(
        path, line, 0, number, total=total, epoch=epoch, loss=loss, grad_norm=grad_norm, time=time, rank=rank, lane=lane,
        keys=keys, series=series,
    )  # fmt: skip


def bar(number: int, total: int, line: int = 1, **more: object) -> Step:
    return step(number, line, total=total, keys=("bar", "]"), **more)  # type: ignore[arg-type]


def counted(*numbers: int) -> list[Step]:
    return [step(number, line) for line, number in enumerate(numbers, 1)]


def event(
    line: int, kind: str = "checkpoint-saved", path: str = "train.log", time: float | None = None, **fields: int
) -> Event:
    return Event("progress", kind, path, line, f"line {line}", time=time, fields=fields)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(counted(1, 2, 3), 3, id="rising"),
        pytest.param(counted(10, 20, 30, 15, 25), 25, id="restarted from a checkpoint"),
        pytest.param(counted(5, 5, 6, 5, 6, 6, 7, 6), 7, id="ranks without a number take turns"),
        pytest.param([*counted(1, 2, 3), step(3, 4, series="eval"), step(99, 5, series="eval")], 3, id="evaluation"),
        pytest.param([step(2, series="other", total=2), *counted(7)], 7, id="loading"),
        pytest.param([step(24, rank=1), step(47, rank=0)], 47, id="ranks"),
        pytest.param([step(7, lane="drafter 0"), step(5, lane="drafter 1")], 7, id="lanes"),
        pytest.param([step(None, epoch=3.0, loss=1.0)], None, id="epochs only"),
    ],
)
def test_last_step(steps: list[Step], expected: int | None) -> None:
    """The last step is the largest of the values at which the counters stood at their end."""
    assert timeline.last_step(steps) == expected


def test_epochs_are_counted_through() -> None:
    """A counter that begins anew with each epoch goes on counting, from epoch 1 or from epoch 0."""
    from_one = [step(n, total=1000, epoch=e) for e in (1.0, 2.0, 3.0) for n in (500, 1000)]
    from_zero = [bar(n, 600, epoch=e) for e in (0.0, 1.0) for n in (300, 600)]
    assert timeline.last_step(from_one) == 3000
    assert timeline.last_step(from_zero) == 1200
    assert timeline.total_steps(from_one) is None


def test_one_epoch_is_not_counted_through() -> None:
    """Who sees one epoch only cannot know that the counter begins anew; the printed number stands."""
    assert timeline.last_step([step(n, total=58633, epoch=4.0) for n in (140, 150)]) == 150


def test_the_length_of_an_epoch_is_no_plan() -> None:
    """A full bar of one epoch does not say that the run had reached its end."""
    assert timeline.total_steps([bar(600, 600, epoch=0.0)]) is None
    assert timeline.total_steps([step(100, total=100, keys=("bar", "in_epoch", "loss"))]) is None
    assert timeline.total_steps([bar(n, 100) for n in (50, 100, 50)]) is None
    assert timeline.total_steps([bar(50, 100), bar(100, 100)]) == 100
    assert timeline.total_steps([step(5, total=100, epoch=0.0, keys=("training_epoch", "iteration"))]) == 100


def test_folds_begin_anew() -> None:
    """A second fold is counted from its own beginning."""
    folds = [step(n, total=10, epoch=e) for _ in range(2) for e in (0.0, 1.0) for n in (5, 10)]
    assert timeline.last_step(folds) == 20


def test_a_nested_bar_does_not_count() -> None:
    """An evaluation bar without a description is told from training's by the losses beside it."""
    steps: list[Step] = []
    for number in (5, 10, 15):
        steps += [bar(number, 120, number), step(None, number, loss=2.0, keys=("loss", "}"))]
        steps += [bar(done, 8, number) for done in range(9)]
        steps += [step(None, number, loss=2.1, series="eval")]
    assert timeline.last_step(steps) == 15
    assert timeline.total_steps(steps) == 120


def test_a_bar_and_a_line_for_the_same_step() -> None:
    """A bar counts what is done and a line beside it from 0; a bar of other things gives way."""
    lines = [step(n, n, loss=1.0) for n in range(58)]
    assert timeline.last_step([*lines, *(bar(n, 3821, n) for n in range(59))]) == 58
    assert timeline.last_step([*lines, *(bar(4 * n, 3821, n) for n in range(59))]) == 57


def test_last_step_of_a_rank() -> None:
    """One rank, one lane or the part of a file before a line can be asked for."""
    steps = [step(24, 10, rank=1), step(47, 20, rank=0), step(48, 30, rank=0)]
    assert timeline.last_step_of(steps, rank=1) == 24
    assert timeline.last_step_of(steps, rank=0, before_line=30) == 47
    assert timeline.last_step_of(steps, rank=5) is None
    assert timeline.last_step_of(counted(1, 2), rank=5) == 2
    assert timeline.last_step_of([step(1, lane="a"), step(2, lane="b")], lane="a") == 1
    assert timeline.last_step_of([*steps, step(9, path="other.log")], path="other.log") == 9


def test_records_without_a_number_are_placed() -> None:
    """A Hugging Face dict belongs to the bar drawn behind it, a row of a table to its heading."""
    dicts = [
        bar(1, 120, 3),
        step(None, 4, loss=10.4, keys=("loss", "}")),
        bar(5, 120, 4),
        step(None, 9, loss=10.3, keys=("loss", "}")),
    ]
    assert [s.step for s in timeline.placed(dicts)] == [1, 5, 5, 5]
    rows = [step(16, 1, keys=("heading",)), step(None, 2, loss=10.7, keys=("loss",)), step(31, 3, keys=("heading",))]
    assert [s.step for s in timeline.placed(rows)] == [16, 16, 31]


def test_first_nonfinite() -> None:
    """The step at which the loss stopped being a number for good is found."""
    losses = [2.0, 1.9, NAN, NAN]
    found = timeline.first_nonfinite([step(n, n, loss=loss) for n, loss in enumerate(losses)])
    assert found is not None
    assert found.step == 2


def test_first_nonfinite_by_the_gradient() -> None:
    """A trainer that hides the NaN loss still prints the NaN gradient."""
    steps = [bar(5, 9, 1), step(None, 1, loss=2.0, grad_norm=1.0, keys=("loss", "}")), bar(6, 9, 2)]
    steps += [step(None, 3, loss=0.0, grad_norm=NAN, keys=("loss", "}")), bar(7, 9, 3)]
    found = timeline.first_nonfinite(steps)
    assert found is not None
    assert found.step == 7


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([step(0, loss=NAN), step(1, loss=NAN), step(2, loss=3.0)], id="before the buffer fills"),
        pytest.param(
            [step(0, loss=2.0, grad_norm=float("inf")), step(1, loss=2.0, grad_norm=1.0)], id="a skipped overflow"
        ),
        pytest.param([step(0, loss=2.0), step(0, loss=NAN, series="eval")], id="evaluation"),
        pytest.param([], id="nothing"),
    ],
)
def test_recovered_losses_are_finite(steps: list[Step]) -> None:
    """A loss that became a number again, an overflow and an evaluation are no broken training."""
    assert timeline.first_nonfinite(steps) is None


def test_gaps() -> None:
    """The usual time between steps and the longest silence are measured on one track."""
    times = [0.0, 1.0, 2.0, 3.0, 33.0, 34.0]
    found = timeline.gaps([step(n, n, time=t) for n, t in enumerate(times)])
    assert found is not None
    assert (found.median_s, found.longest_s) == (1.0, 30.0)
    assert (found.before.step, found.after.step) == (3, 4)
    assert timeline.gaps(counted(1, 2)) is None
    assert timeline.gaps([step(1, time=5.0), step(2, time=4.0)]) is None


def test_last_checkpoint() -> None:
    """The last save that finished counts, an announced one only when training went on after it."""
    saved = [event(10, step=200), event(20, step=400), event(30, "checkpoint-started", step=600)]
    assert timeline.last_checkpoint(saved, [step(650, 40)]) == 400
    announced = [event(10, "checkpoint-started", step=200), event(30, "checkpoint-started", step=600)]
    assert timeline.last_checkpoint(announced) is None
    kept = timeline.last_checkpoint_event(announced, [step(300, 20)])
    assert kept is not None
    assert kept.line == 10


def test_last_checkpoint_of_a_listing() -> None:
    """A listing of files is read by its numbers: 1000 stands before 500 in the order of names."""
    files = [event(line, step=number, listed=True) for line, number in ((1, 1000), (2, 500))]
    assert timeline.last_checkpoint(files) == 1000


def test_last_checkpoint_from_progress() -> None:
    """A save that names no step is placed by the progress before it."""
    assert timeline.last_checkpoint([event(25)], [step(20, 20), step(30, 30)]) == 20
    assert timeline.last_checkpoint([], [step(20, 20)]) is None


def test_span() -> None:
    """The run spans from the first time said to the last."""
    assert timeline.span([event(1, time=50.0)], [step(1, time=10.0), step(2)]) == (10.0, 50.0)
    assert timeline.span([event(1)], []) is None


SOURCES = (
    Source("a.log", "training-log", 1),
    Source("b.log", "training-log", 1),
    Source("c.txt", "text", 1, mtime=15.0),
)


def rows() -> pl.DataFrame:
    events = [
        event(1, "config", "a.log"),
        event(2, "program", "a.log", time=10.0),
        event(3, "attempt", "a.log"),
        event(1, "complete", "b.log", time=20.0),
        event(1, "resumed", "c.txt"),
        Event(
            "nccl",
            "warn",
            "b.log",
            9,
            "first\nsecond",
            message="x\x1b[31m" + "y" * 500,
            time=5.0,
            rank=3,
            fields={"device": 1},
        ),
    ]
    return timeline.table(events, [step(7, 4, loss=NAN, time=12.0, rank=3, path="a.log")], SOURCES)


def test_table_order() -> None:
    """Rows stand by time; a row without one follows the line above it, and says so."""
    frame = rows()
    assert frame.get_column("order").to_list() == list(range(7))
    assert list(zip(frame["path"], frame["line"], frame["time_from"], strict=True)) == [
        ("b.log", 9, "own"),
        ("a.log", 1, "none"),
        ("a.log", 2, "own"),
        ("a.log", 3, "inherited"),
        ("a.log", 4, "own"),
        ("c.txt", 1, "none"),
        ("b.log", 1, "own"),
    ]


def test_table_columns() -> None:
    """Times are UTC, the loss stays NaN, messages are one short line that no terminal obeys."""
    frame = rows()
    assert frame.schema["time"] == pl.Datetime("us", "UTC")
    progress = frame.filter(pl.col("kind") == "step").row(0, named=True)
    assert progress["step"] == 7
    assert progress["loss"] != progress["loss"]
    warning = frame.filter(pl.col("kind") == "warn").row(0, named=True)
    assert (warning["rank"], warning["gpu"]) == (3, 1)
    assert "\x1b" not in warning["message"]
    assert len(warning["message"]) <= 400


def test_filter() -> None:
    """Rows can be chosen by rank, by kind or speaker, and from a time on."""
    frame = rows()
    assert timeline.filter(frame, rank=3).height == 2
    assert timeline.filter(frame, kind="warn").height == timeline.filter(frame, kind="nccl").height == 1
    assert set(timeline.filter(frame, since=12.0)["kind"]) == {"step", "complete"}
    assert timeline.filter(frame).height == frame.height


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_write(format_: timeline.Format) -> None:
    """Each format can be read back."""
    stream = io.BytesIO()
    timeline.write(rows(), format_, stream)
    data = stream.getvalue()
    if format_ == "csv":
        assert pl.read_csv(io.BytesIO(data)).height == 7
    elif format_ == "json":
        assert [row["order"] for row in json.loads(data)] == list(range(7))
        assert b"1970-01-01T00:00:10.000Z" in data
    else:
        assert pl.read_parquet(io.BytesIO(data)).schema["time"] == pl.Datetime("us", "UTC")


def test_an_empty_table() -> None:
    """Nothing said is a table without rows, not an error."""
    frame = timeline.table([], [], [])
    assert frame.height == 0
    timeline.write(frame, "csv", io.BytesIO())


def test_questions_need_no_polars() -> None:
    """Asking a question loads no table library, which would cost more than the answer."""
    code = "import sys; from forensics import timeline; timeline.last_step([]); sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


STEPS = st.lists(
    st.builds(
        step,
        st.none() | st.integers(0, 50),
        st.integers(1, 99),
        total=st.none() | st.integers(1, 50),
        epoch=st.none() | st.floats(0, 5) | st.just(NAN),
        loss=st.none() | st.floats(),
        time=st.none() | st.floats(0, 1e9),
        rank=st.none() | st.integers(0, 2),
        keys=st.sampled_from([("bar", "]"), ("loss", "}"), ("step", "loss"), ()]),
        series=st.sampled_from(["train", "eval", "other", "final"]),
    ),
    max_size=30,
)


@given(STEPS)
def test_no_steps_raise(steps: Sequence[Step]) -> None:
    """Any steps in any order have an answer to every question."""
    last = timeline.last_step(steps)
    assert last is None or last >= 0
    timeline.total_steps(steps)
    timeline.first_nonfinite(steps)
    timeline.gaps(steps)
    timeline.span([], steps)
    assert [s.line for s in timeline.placed(steps)] == [s.line for s in steps]
