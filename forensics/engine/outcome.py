"""How the run ended, as far as anybody said so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from forensics import timeline
from forensics.engine.context import ENDED_BY_OTHERS, states_of
from forensics.engine.promised import promised_file
from forensics.engine.running import WORKING, at_work, ended_with
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Step

_AT_WORK = frozenset({"RUNNING", "COMPLETING", *WORKING})
_DONE = frozenset({"COMPLETED", "COMPLETE", "Succeeded"})
_GOES_ON = 10
"""Records of training below a word of its end that show it to have been another one's."""
_CLOSING_LINES = 20
"""Lines of a log below the word of a build tool that its step failed, where that is how the log ends."""


class Outcome(Struct, frozen=True):
    """The end of the attempt in question.

    `finished` is positive evidence that training came to its end, with its event; `hinted` a
    weaker word for it, such as a bare `done`, which counts only where nothing failed;
    `last_epoch` is the last of the planned ones, reached and saved;
    `exit_code` is the launcher's status (`masked` if a pipeline may have hidden another), and
    `failed` the last word of a log, where that is a build tool or launcher saying that it failed.
    """

    exit_code: int | None = None
    signal: int | None = None
    masked: bool = False
    failed: Event | None = None
    finished: Event | None = None
    hinted: Event | None = None
    reached_total: bool = False
    last_epoch: int | None = None
    scheduler_state: str | None = None
    last_step: int | None = None
    total_steps: int | None = None

    @property
    def bad(self) -> bool:
        """Tell whether the status itself says that the run failed."""
        return self.exit_code not in {None, 0}

    @property
    def proven(self) -> bool:
        """Tell whether the program's own status is 0, and it had come to the end of its work besides."""
        said = self.finished is not None or self.hinted is not None or self.last_epoch is not None
        return self.exit_code == 0 and not self.masked and (said or self.reached_total)

    @property
    def running(self) -> bool:
        """Tell whether the scheduler says that the run goes on."""
        return self.scheduler_state in _AT_WORK and not self.bad

    @property
    def good(self) -> bool:
        """Tell whether there is positive evidence of a good end."""
        if self.bad:
            return False
        clean = self.exit_code == 0 and not self.masked
        said = self.finished is not None or self.hinted is not None
        # A batch script that ends in a pipeline completes, whatever became of the program in it.
        completed = self.scheduler_state in _DONE and not self.masked
        return clean or said or self.reached_total or completed or self.last_epoch is not None


def outcome(seen: Seen) -> Outcome:
    """Read the end of the run from its status, its own words, its steps and its scheduler."""
    exits = list(seen.said("status", "exit")) or _reported(seen) or ended_with(seen)
    code = _last(exits, "exit_code")
    signal = _last(exits, "signal")
    masked = mask(seen) is not None
    failed = failure(seen) if code is None or (code == 0 and masked) else None
    if failed is not None:
        code, signal = _last([failed], "exit_code"), _last([failed], "signal")
    steps = seen.current_steps()
    last, total = timeline.last_step(steps), timeline.total_steps(steps)
    ends = [e for e in seen.events if is_end(e) and seen.is_current(e.path)]
    if masked:
        # The script gets to its last line whatever became of the program, and says what stands there.
        said = said_by_scripts(seen)
        ends = [e for e in ends if not any(text in e.text for text in said)]
    late = _late_lines(steps) if ends else {}
    ends = [e for e in ends if late.get((e.path, e.rank), 0) <= e.line]
    states = [str(e.fields.get("state", "")) for e in states_of(seen, "job-state", "pod-state")] or at_work(seen)
    return Outcome(
        exit_code=code,
        signal=signal,
        masked=masked,
        failed=failed,
        finished=next((e for e in reversed(ends) if not e.fields.get("weak")), None),
        hinted=next((e for e in reversed(ends) if e.fields.get("weak")), None),
        reached_total=timeline.reached_total(steps),
        last_epoch=_last_epoch(seen),
        scheduler_state=states[0] if states else None,
        last_step=last,
        total_steps=total,
    )


def said_by_scripts(seen: Seen) -> set[str]:
    """Return what the launch scripts print themselves, whatever becomes of the program."""
    return {str(e.fields["text"]) for e in seen.said("launch", "says")}


def _late_lines(steps: Iterable[Step]) -> dict[tuple[str, int | None], int]:
    """Return of each source, and of each rank in it, the line below which training does not go on for long.

    A word of the end above that line was of a trial, a fold or a stage. None is all ranks together.
    """
    lines: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    for step in steps:
        for rank in {None, step.rank}:
            lines[step.path, rank].append(step.line)
    return {whose: sorted(found)[-_GOES_ON] for whose, found in lines.items() if len(found) >= _GOES_ON}


def _last_epoch(seen: Seen) -> int | None:
    """Return the last of the planned epochs, where training reached it and then saved or evaluated what it had."""
    steps = seen.current_steps()
    told = ((e.path, e.fields.get("workflow_epochs")) for e in seen.said("progress", "config"))
    planned = {path: number for path, number in told if isinstance(number, int)}
    counted = (s for s in steps if s.series == "train" and (s.epochs or s.path in planned))
    last = max(counted, key=lambda s: s.line, default=None)
    epochs = (last.epochs or planned.get(last.path)) if last is not None else None
    if last is None or last.epoch is None or epochs is None or last.epoch < epochs:
        return None
    if any(s.series == "train" and s.path == last.path and s.line > last.line for s in steps):
        return None
    saved = any(e.path == last.path and e.line > last.line for e in seen.said("progress", "checkpoint-saved"))
    judged = any(s.series == "eval" and s.path == last.path and s.line > last.line for s in steps)
    # MMCV validates at the end of an epoch, by numbers that have any names.
    below = (line.text for line in seen.tails.get(last.path, ()) if line.number > last.line)
    judged = judged or (last.path in planned and any("Epoch(val) [" in text for text in below))
    return epochs if saved or judged else None


def _reported(seen: Seen) -> list[Event]:
    """Return what the logs themselves say of the status, where training did not go on below it."""
    last = _last_lines(seen.current_steps())
    told = (e for e in seen.said("status", "reported") if e.rank is None)
    return [e for e in told if e.line > last.get(e.path, 0)]


def _last_lines(said: Iterable[Step | Event]) -> dict[str, int]:
    """Return of each source the last line in which something of that kind was said."""
    last: dict[str, int] = {}
    for one in said:
        last[one.path] = max(last.get(one.path, 0), one.line)
    return last


def mask(seen: Seen) -> Event | None:
    """Return the pipeline that hides the status of the run: by what it pipes, or as it made the log of the training."""
    known = next(seen.said("launch", "masked-status"), None)
    if known is not None:
        return known
    piped = [e for e in seen.said("launch", "promise") if e.fields.get("masks")]
    trained = {step.path for step in seen.current_steps()} if piped else set()
    logs = [s for s in seen.sources if s.path in trained]
    return next((e for e in piped if promised_file(str(e.fields["missing_path"]), logs) is not None), None)


def failure(seen: Seen) -> Event | None:
    """Return the word with which a log ends, where that is a status of the run that is not good."""
    told = [*_reported(seen), *_steps(seen), *_launchers(seen)]
    return next((e for e in reversed(told) if e.fields.get("exit_code") not in {None, 0}), None)


def _launchers(seen: Seen) -> list[Event]:
    """Return what launchers say of a worker that failed, below all work and the last word of a good end in a log.

    One rank may say that it is done while another fails, and the launcher ends them all.
    """
    ended = [
        e
        for e in seen.said("torchrun", "launcher", "failed")
        if e.fields.get("exit_code") not in {None, 0, *ENDED_BY_OTHERS}
    ]
    if not ended:
        return []
    good = {e.path: e.line for e in seen.events if is_end(e) and not e.fields.get("weak")}
    worked = _last_lines(seen.current_steps())
    return [e for e in ended if good.get(e.path, 1 << 62) < e.line > worked.get(e.path, 0)]


def _steps(seen: Seen) -> list[Event]:
    """Return what build tools say of a step that failed, where that closes a log: no work and no good end below it."""
    told = list(seen.said("status", "step"))
    if not told:
        return []
    last = _last_lines((*seen.steps, *filter(is_end, seen.events)))
    lines = {s.path: s.lines for s in seen.sources if s.kind in LOG_KINDS}
    return [
        e for e in told if e.line > last.get(e.path, 0) and 0 <= lines.get(e.path, 1 << 62) - e.line <= _CLOSING_LINES
    ]


def is_end(event: Event) -> bool:
    """Tell whether somebody says that training came to its end."""
    return (event.speaker == "progress" and event.kind == "complete") or (
        event.speaker == "torchrun" and event.kind == "finished"
    )


def _last(events: list[Event], name: str) -> int | None:
    for event in reversed(events):
        value = event.fields.get(name)
        if isinstance(value, int):
            return value
    return None
