"""Questions about a run's steps and events, in plain Python.

A *track* is one counter as it was printed: one source, rank and lane. Counters fall back
without a restart (epochs, folds, a loop inside the loop) and with one; what counts is
the last stretch in which a track rises.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from forensics.model import Event, Step
from forensics.timeline.epochs import THROUGH

_Track = tuple[str, int | None, str | None]


class Gaps(Struct, frozen=True):
    """How evenly steps came: seconds between them, and the longest silence.

    `before` and `after` are the steps around that silence.
    """

    median_s: float
    longest_s: float
    before: Step
    after: Step


def placed(steps: Iterable[Step]) -> list[Step]:
    """Give records without a step number that of their neighbour, in unchanged order.

    Hugging Face prints a dict without a number while a bar counts: tqdm redraws the bar
    right behind it, so the next record tells. Rows of a table belong to the heading above.
    """
    ordered = list(steps)
    result: list[Step] = []
    counters: dict[_Track, int | None] = {}
    for index, step in enumerate(ordered):
        track = _track(step)
        if step.step is not None:
            if step.series == "train":
                counters[track] = step.step
            result.append(step)
            continue
        number = counters.get(track)
        following = ordered[index + 1] if index + 1 < len(ordered) else None
        if step.keys[-1:] == ("}",) and following is not None and _is_bar(following):
            near = _track(following) == track and following.line - step.line <= 1
            number = following.step if near and following.series == "train" else number
        result.append(step if number is None else replace(step, step=number))
    return result


def last_step(steps: Iterable[Step]) -> int | None:
    """Return the step the run had reached: the largest of the last values of its tracks.

    Counters that begin anew with each epoch are counted through: epoch 2, batch 30 of 100
    is step 130. Evaluation, loading and loops nested in training do not count.
    """
    reached = [value for value, _ in _reached(steps)]
    return max(reached, default=None)


def total_steps(steps: Iterable[Step]) -> int | None:
    """Return how many steps were planned, where a counter says so.

    A counter that stands beside an epoch, or that began anew when it was full, tells the
    length of an epoch instead: None.
    """
    totals = [total for _, total in _reached(steps) if total is not None]
    return max(totals, default=None)


def reached_total(steps: Iterable[Step]) -> bool:
    """Tell whether training came to the last of the planned steps.

    Any bar may be full: of a download, of an evaluation, of one epoch. So where losses were
    printed, the counter must be that of a log that has them; a bar in another log (the other
    stream) counts only for losses printed without any place, as Hugging Face does. And where
    none were printed, every bar must be full.
    """
    ordered = list(steps)
    learned = [s for s in ordered if s.loss is not None]
    paths = {s.path for s in learned}
    if learned and not any(_placeless(s) for s in learned):
        ordered = [s for s in ordered if s.path in paths]
    last, total = last_step(ordered), total_steps(ordered)
    if last is None or not total or last + 1 < total:
        return False
    return bool(learned) or _all_full(ordered)


def _placeless(step: Step) -> bool:
    return step.step is None and step.keys[-1:] == ("}",)


def _all_full(steps: Iterable[Step]) -> bool:
    bars = {(_track(s), s.total): s for s in steps if _is_bar(s) and s.step is not None and s.total}
    return all((s.step or 0) >= (s.total or 0) for s in bars.values())


def last_step_of(
    steps: Iterable[Step],
    *,
    rank: int | None = None,
    lane: str | None = None,
    path: str | None = None,
    before_line: int | None = None,
) -> int | None:
    """Return the step that one rank, lane or file had reached, up to a line of that file.

    Where no step of the run names a rank (or a lane), asking for one changes nothing:
    then nobody can tell them apart.
    """
    chosen = [s for s in steps if path is None or s.path == path]
    if before_line is not None:
        chosen = [s for s in chosen if s.line < before_line]
    if rank is not None and any(s.rank is not None for s in chosen):
        chosen = [s for s in chosen if s.rank == rank]
    if lane is not None and any(s.lane is not None for s in chosen):
        chosen = [s for s in chosen if s.lane == lane]
    return last_step(chosen)


def durations(steps: Iterable[Step]) -> list[float]:
    """Return the seconds of each step, in order: as the records say, else by the clock between numbered records."""
    ordered = list(steps)
    said = [s.step_time_s for s in ordered if s.step_time_s is not None]
    if said:
        return said
    return [
        (b.time - a.time) / (b.step - a.step)
        for a, b in pairwise(ordered)
        if a.time is not None and b.time is not None and a.step is not None and b.step is not None and b.step > a.step
    ]


def first_nonfinite(steps: Iterable[Step]) -> Step | None:
    """Return the step at which the loss became NaN or infinite and never recovered.

    A loss that is no number before there is anything to learn from, and an overflow that
    was skipped, are followed by finite ones: healthy. A gradient that is NaN counts, since
    trainers print 0.0 or a running mean for the loss then; an infinite one alone does not.
    """
    open_: dict[tuple[object, ...], Step | None] = {}
    for step in placed(steps):
        if step.series != "train" or (step.loss is None and step.grad_norm is None):
            continue
        series = (*_track(step), step.keys if len(step.keys) == 1 else None)
        broken = (step.loss is not None and not math.isfinite(step.loss)) or (
            step.grad_norm is not None and math.isnan(step.grad_norm)
        )
        open_[series] = (open_.get(series) or step) if broken else None
    found = [step for step in open_.values() if step is not None]
    return min(found, key=lambda s: (math.inf if s.time is None else s.time, s.line), default=None)


def gaps(steps: Iterable[Step]) -> Gaps | None:
    """Measure the time between training steps of the track that has the most, or return None."""
    tracks: dict[_Track, list[Step]] = defaultdict(list)
    for step in steps:
        if step.series == "train" and step.time is not None:
            tracks[_track(step)].append(step)
    longest = max(tracks.values(), key=len, default=[])
    between = [(b.time - a.time, a, b) for a, b in pairwise(longest) if a.time is not None and b.time is not None]
    forward = [gap for gap in between if gap[0] >= 0]
    if not forward:
        return None
    widest, before, after = max(forward, key=lambda gap: gap[0])
    return Gaps(median(gap[0] for gap in forward), widest, before, after)


def last_checkpoint(events: Iterable[Event], steps: Sequence[Step] = ()) -> int | None:
    """Return the step of the last whole checkpoint: its own, else that of the progress before it."""
    event = last_checkpoint_event(events, steps)
    if event is None:
        return None
    own = event.fields.get("step")
    return own if isinstance(own, int) else last_step_of(steps, path=event.path, before_line=event.line)


def last_checkpoint_event(events: Iterable[Event], steps: Sequence[Step] = ()) -> Event | None:
    """Return the event of the last checkpoint that is known to be whole, preferring one with a step.

    Some programs only announce a save. In their logs an announcement counts once a training
    step follows it, for then the save had returned.
    """
    saves = [e for e in events if e.kind in {"checkpoint-saved", "checkpoint-started"}]
    telling = {e.path for e in saves if e.kind == "checkpoint-saved"}
    end = {s.path: s.line for s in steps if s.series == "train"}
    whole = [
        e for e in saves if e.kind == "checkpoint-saved" or (e.path not in telling and e.line < end.get(e.path, 0))
    ]
    numbered = [e for e in whole if isinstance(e.fields.get("step"), int)] or whole
    last: dict[str, Event] = {}
    for event in numbered:
        before = last.get(event.path)
        # A listing of files is in the order of names, not of time.
        if before is None or not event.fields.get("listed") or _step_field(event) >= _step_field(before):
            last[event.path] = event
    return max(last.values(), key=lambda e: (e.time or 0.0, _step_field(e)), default=None)


def span(events: Iterable[Event], steps: Iterable[Step]) -> tuple[float, float] | None:
    """Return the earliest and the latest time of anything, in seconds since the epoch (UTC)."""
    times = [e.time for e in events if e.time is not None] + [s.time for s in steps if s.time is not None]
    return (min(times), max(times)) if times else None


def _track(step: Step) -> _Track:
    return step.path, step.rank, step.lane


def _is_bar(step: Step) -> bool:
    return step.keys[:1] == ("bar",)


def _step_field(event: Event) -> int:
    step = event.fields.get("step")
    return step if isinstance(step, int) else -1


def _reached(steps: Iterable[Step]) -> list[tuple[int, int | None]]:
    """Return where each track stands at its end: (step, planned)."""
    tracks: dict[_Track, list[Step]] = defaultdict(list)
    for step in steps:
        if step.series == "train":
            tracks[_track(step)].append(step)
    reached = []
    for own in tracks.values():
        lines = [s for s in own if s.step is not None and not _is_bar(s)]
        bars = _main_bar(own)
        line, bar = _end(lines), _end(bars)
        if line and bar:
            # A bar counts what is done, a line beside it may count from 0. Otherwise they
            # count different things, and the line is what the program calls a step.
            reached.append(bar if bar[0] - line[0] in {0, 1} else line)
        elif line:
            reached.append(line)
        elif bar:
            # Losses that name nothing but their epoch stand beside a bar of that epoch.
            by_epoch = any(
                s.loss is not None and s.epoch is not None and not _is_bar(s) and s.keys[-1:] != ("}",) for s in own
            )
            reached.append((bar[0], None if by_epoch else bar[1]))
    return reached


def _main_bar(own: Sequence[Step]) -> list[Step]:
    """Return the records of the bar that training drew, leaving out loops nested in it.

    Bars are told apart by their total. The one that loss records follow is training's;
    without any loss it is the one with the most records, the first of equals.
    """
    losses: Counter[int | None] = Counter()
    records: dict[int | None, list[Step]] = defaultdict(list)
    current: int | None = None
    for step in own:
        if _is_bar(step) and step.step is not None:
            current = step.total
            records[current].append(step)
        if step.loss is not None and current in records:
            losses[current] += 1
    if not records:
        return []
    main = max(records, key=lambda total: (losses[total] > 0, len(records[total])))
    return records[main]


def _end(values: Sequence[Step]) -> tuple[int, int | None] | None:
    """Follow one counter to its end, over epochs and restarts."""
    previous: Step | None = None
    repeats = per_epoch = begun_anew = False
    stride = 0
    for step in values:
        if previous is None or previous.step is None or step.step is None:
            previous = step
            continue
        change = step.step - previous.step
        if change > 0:
            stride = min(stride or change, change)
        elif change == 0 and _is_next_epoch(previous, step) and step.total and step.step >= step.total - 1:
            per_epoch = begun_anew = True  # a bar that is drawn once an epoch, when it is full
        elif change == 0:
            repeats = True
        elif _is_next_epoch(previous, step):
            per_epoch = begun_anew = True
        elif repeats and -change <= 2 * stride and step.epoch == previous.epoch:
            continue  # ranks that bear no number take turns: one of them is a step behind
        elif previous.total and previous.step >= previous.total - 1:
            begun_anew = True
        previous = step
    if previous is None or previous.step is None:
        return None
    if per_epoch and previous.total and previous.epoch is not None and math.isfinite(previous.epoch):
        first = min(s.epoch for s in values if s.epoch is not None and math.isfinite(s.epoch))
        epochs_done = max(0, round(previous.epoch - (0 if first == 0 else 1)))
        return epochs_done * previous.total + previous.step, None
    within = begun_anew or "in_epoch" in previous.keys
    if previous.epoch is not None and previous.keys[:1] != ("training_epoch",) and THROUGH not in previous.keys:
        within = True  # but NeMo, which names both, counts on over epochs
    return previous.step, None if within else previous.total


def _is_next_epoch(before: Step, after: Step) -> bool:
    return before.epoch is not None and after.epoch is not None and after.epoch > before.epoch
