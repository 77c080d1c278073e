"""Whether a run went on after a fault: the same answer as a search through all its progress, without the search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.engine.causes import candidates
from forensics.engine.match import match
from forensics.engine.outcome import Outcome
from forensics.engine.progress import Progress
from forensics.engine.seen import Seen
from forensics.model import Event, Source, Step
from forensics.rulebook.load import load
from tests.effort import grows_evenly

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 139.80 GiB"
RANKS = st.sampled_from([None, 0, 1])
LANES = st.sampled_from([None, "any", "drafter 0"])
STEPS = st.builds(
    Step,
    st.sampled_from(["a.log", "b.log"]),
    st.integers(1, 6),
    st.integers(0, 2),
    st.just(1),
    rank=RANKS,
    lane=LANES,
    series=st.sampled_from(["train", "eval"]),
)
EVENTS = st.builds(
    Event,
    st.just("exception"),
    st.just("raised"),
    st.just("a.log"),
    st.just(1),
    st.just(""),
    end_line=st.integers(1, 6),
    column=st.integers(0, 2),
    rank=RANKS,
    lane=LANES,
)


@given(st.lists(STEPS, max_size=12), EVENTS)
def test_what_stands_after_a_fault_is_counted_as_by_a_search(steps: list[Step], event: Event) -> None:
    """By place, rank and lane; a record that names no rank is everybody's, and where a fault names none, its lane counts."""
    steps = [replace(s, step=number) for number, s in enumerate(steps, 1)]
    here = [s for s in steps if s.path == event.path and s.series == "train"]
    below = [
        s
        for s in here
        if (s.line, s.column) > (event.end_line, event.column) and (event.lane is None or s.lane == event.lane)
    ]
    progress = Progress(steps)
    assert progress.after(event) == sum(event.rank is None or s.rank in {None, event.rank} for s in below)
    assert progress.ranked_after(event) == any(s.rank is not None for s in below)
    assert progress.all_after(event) == sum(s.line > event.end_line for s in here)
    own = [s for s in here if event.rank is not None or event.lane in {None, s.lane}]
    assert progress.reports(event) == any(event.rank is None or s.rank in {None, event.rank} for s in own)


def test_a_state_that_is_drawn_once_more_is_no_progress() -> None:
    """A bar is drawn again when an exception closes it, and one that waits at 0 has not begun."""
    event = Event("exception", "raised", "a.log", 5, "", end_line=5)
    before, again = Step("a.log", 1, 0, 77, loss=0.5), Step("a.log", 6, 0, 77, loss=0.5)
    waiting = [Step("a.log", line, 0, 0) for line in (7, 8)]
    assert Progress([before, again, *waiting]).after(event) == 0
    assert Progress([before, again, Step("a.log", 9, 0, 78, loss=0.4)]).after(event) == 1


def test_twice_the_faults_of_a_run_are_twice_the_work() -> None:
    """No fault is compared with every step, end or line of the log, be it the run's own or the kernel's."""
    book = load()

    def work(size: int) -> Callable[[], object]:
        lines = range(1, 4 * size, 4)
        faults = [Event("exception", "OutOfMemoryError", "train.log", n, OOM, OOM, n, time=1e9 + n) for n in lines]
        killed = "Out of memory: Killed process 4242 (python3) total-vm:9kB, anon-rss:9kB"
        kernel = [Event("kernel", "oom-kill", "dmesg", n, killed, killed, n, time=1e9 + n, pid=7) for n in lines]
        ends = [Event("progress", "complete", "train.log", n, "", "", n, rank=n) for n in lines]
        seen = Seen(
            "run",
            sources=[Source("train.log", "training-log", 1), Source("dmesg", "kernel-log", 1)],
            events=[*faults, *kernel, *ends],
            steps=[Step("train.log", n + 1, 0, n) for n in lines],
        )
        matches = match(seen.events, book, seen.sources).matches
        assert len({m.event.path for m in matches}) == 2
        return partial(candidates, matches, seen, Outcome(exit_code=1))

    assert grows_evenly(work, 100)


def test_a_source_is_found_by_its_path_whatever_else_is_listed() -> None:
    """Also one that was added since, and the first where an archive holds two of one name."""
    seen = Seen("run", sources=[Source("a.log", "text", 1), Source("a.log", "text", 2)])
    assert seen.source("b.log") is None
    seen.sources.append(Source("b.log", "text", 3))
    found = [seen.source(path) for path in ("a.log", "b.log")]
    assert [s.bytes for s in found if s] == [1, 3]
