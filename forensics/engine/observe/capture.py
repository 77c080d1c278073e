"""The capture is a suspect too: what is empty, torn, padded, a window, a copy, or hidden by a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from forensics import timeline
from forensics.engine.observe.expected import PANES, speaking
from forensics.engine.observe.observed import observed
from forensics.engine.outcome import failure, mask, outcome
from forensics.engine.promised import promised_file
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Evidence, Source, Step, Value
from forensics.sources.names import is_note
from forensics.text.lazy import lazy

_HUNG_UP = frozenset({"torchrun", "shell", "status", "stack"})
_NEARLY = 0.98
_EPOCHS = ("num_train_epochs", "num_epochs", "max_epochs", "n_epochs", "epochs", "nepochs", "max_epoch")
_STEPS = ("max_steps", "max_iters", "train_iters", "max_train_steps", "num_steps", "total_steps", "max_update")
"""Options in which a command says how many epochs, or steps, it is to train."""
_TELLING_LINES = 5
_TYPED = lazy(
    r"\b(?:logs|journalctl)\b[^|;]{0,300}?(?:--tail[= ]|-n ?|--lines[= ])(?P<count>\d{1,9})\b[^|;]{0,300}>"
    r"|\| ?tail (?:-n ?|-)(?P<piped>\d{1,9})\b[^|;]{0,40}>"
)
"""What somebody typed who kept the last lines of a log in a file."""
_WEIGHTS_MISSED = lazy(
    r"(?:FileNotFoundError|OSError|IOError)\b.{0,200}No such file or directory.{0,1000}"
    r"\.(?:pth?|ckpt|bin|safetensors|pkl|h5|hdf5|keras|tar|npz|nemo|onnx|params|pdparams|weights|index)\b"
    r"|\b(?:Incorrect path_or_model_id: '|Can't find a checkpoint |Can't load .{1,60}? for '|Repo id must .{1,120}? ')"
    r"[^'\n]{0,300}checkpoint[-_]\d"
)
_FRAME = lazy(r'File "(?P<file>[^"\n]{1,400})"')


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `empty`, `nul-tail`, `torn`, `cut`, `window`, `masked`, `masked-stage`, `hung-up`; note copies of logs."""
    seen.notes.extend(_copies(seen))
    said = {path for path in speaking(seen) if not is_note(path)}
    speaking_logs = {s.path for s in seen.logs() if s.kind not in PANES and (s.kind != "text" or s.path in said)}
    for source in seen.sources:
        if source.kind in LOG_KINDS and source.read != "skipped" and seen.is_current(source.path):
            yield from _damage(seen, source, speaking_logs)
    yield from _windows(seen)
    yield from _masked(seen)
    yield from _hung_up(seen)


def _damage(seen: Seen, source: Source, others: AbstractSet[str]) -> Iterator[Event]:
    if source.state == "empty":
        if _matters(seen, source, others):
            yield _event(source, "empty", "the file holds nothing", {}, "")
        return
    if source.state not in {"nul-tail", "torn", "cut"}:
        return
    steps = [s for s in seen.steps if s.path == source.path and s.series == "train"]
    fields: dict[str, Value] = {"last_step": timeline.last_step(steps)}
    tail = seen.tails.get(source.path, ())
    last = next((line for line in reversed(tail) if line.text.strip("\x00 ")), None)
    text = (last.text if last else "").replace("\x00", "")[-400:]
    if source.state == "nul-tail":
        fields["nul_bytes"] = source.nul_bytes
        yield _event(source, "nul-tail", f"ends in {source.nul_bytes} NUL bytes", fields, text)
    elif copied := _copied_in_part(seen, source):
        message = "the last line has no end, and the copy of the folder failed on the way"
        yield observed(copied.place, "cut", message, fields, (_end(source, text),), time=source.ended)
    elif limited := next((e for e in seen.said("launch", "log-limit") if _reached(e, source)), None):
        message = f"the copy ends after the {source.bytes} bytes to which it was limited"
        yield observed(_end(source, text), "cut", message, fields, (limited.place,), time=source.ended)
    else:
        message = "the last line has no end" if source.state == "torn" else "the file ends at a limit, in a line"
        yield _event(source, source.state, message, fields, text)


def _reached(limit: Event, source: Source) -> bool:
    return limit.fields.get("limit_bytes") == source.bytes


def _copied_in_part(seen: Seen, source: Source) -> Event | None:
    """Return how rsync, scp or another one gave up, told elsewhere than in the log that has no end."""
    told = (e for e in seen.said("shell", "copy-failed") if e.path != source.path)
    return next(told, None)


def _matters(seen: Seen, empty: Source, others: AbstractSet[str]) -> bool:
    """Tell whether an empty log was to hold the run's words: it is the only one, or was promised and no other has them.

    Nobody promised the logs of other runs beside it, `pong_a.log` beside `pong_b.log`, and one promise holds for all
    of a loop. Anything else, such as the stream of errors of a run that made none, is just a file of no bytes.
    """
    if not others:
        return True
    if not any(e.state == "empty" and promised_file(e.path, [empty]) is not None for e in seen.expected):
        return False
    ours = {s.path for s in seen.sources if s.kind == "slurm-log"} | set(_kept_promises(seen, empty))
    return speaking(seen).isdisjoint(others & ours)


def _kept_promises(seen: Seen, empty: Source) -> Iterator[str]:
    """Yield the logs that a script promised beside an empty one, by other names."""
    for expected in seen.expected:
        if promised_file(expected.path, [empty]) is None:
            found = promised_file(expected.path, seen.sources)
            if found is not None:
                yield found.path


def _event(source: Source, kind: str, message: str, fields: dict[str, Value], text: str) -> Event:
    return observed(_end(source, text), kind, message, fields, time=source.ended)


def _end(source: Source, text: str) -> Evidence:
    return Evidence(source.path, source.lines, source.lines, text)


def _copies(seen: Seen) -> Iterator[str]:
    """Say which logs hold the same: a copy of an older one tells nothing of a later try."""
    known: dict[tuple[object, ...], str] = {}
    for source in seen.sources:
        tail = [line.text for line in seen.tails.get(source.path, ())]
        # The logs of ranks may well say the same.
        if source.kind not in LOG_KINDS or source.rank is not None or len(tail) < _TELLING_LINES:
            continue
        first = known.setdefault((source.bytes, source.lines, *tail), source.path)
        if first != source.path:
            yield (
                f"{source.path} holds the same as {first} (size, lines and last lines are equal): "
                "a copy tells nothing of another try"
            )


def _windows(seen: Seen) -> Iterator[Event]:
    """A log of exactly N lines behind `| tail -N` or `journalctl -n N`, typed or in a script, is only an end."""
    for event in (*seen.said("launch", "tail-window", "log-window"), *seen.said("host", "command")):
        typed = _TYPED.search(event.message) if event.speaker == "host" else None
        count = int(typed["count"] or typed["piped"]) if typed else event.fields.get("tail_lines")
        if not isinstance(count, int):
            continue
        full = next((s for s in seen.logs() if s.lines == count), None)
        if full is None:
            continue
        message = f"{full.path} holds exactly the last {count} lines"
        yield observed(event.place, "window", message, {"tail_lines": count}, (Evidence(full.path, 1, 1, ""),))


def _masked(seen: Seen) -> Iterator[Event]:
    """Status 0 of a pipeline whose first member failed, by its words or by the steps that it never made."""
    told = (*seen.said("status", "exit"), *seen.said("scheduler", "job-state"), *seen.said("status", "reported"))
    zero = next((e for e in told if e.fields.get("exit_code") == 0), None)
    pipe = mask(seen)
    if not zero or not pipe:
        return
    if (stage := _stage_in_vain(seen)) is not None:
        hiding, stopped, missed = stage
        message = f"the pipeline hid how training ended, and so {missed.fields.get('exception')} came in the next stage"
        yield observed(hiding.place, "masked-stage", message, {"exit_code": 0}, (stopped, missed.place, zero.place))
        return
    raised = next(seen.said("exception", "exception", "bare"), None)
    failed = failure(seen)
    if raised or failed or _stopped_short(seen):
        message = "the status is that of the last command of the pipeline"
        also = (zero.place, failed.place) if failed else (zero.place,)
        yield observed(pipe.place, "masked", message, {"exit_code": 0}, also)


def _stage_in_vain(seen: Seen) -> tuple[Event, Evidence, Event] | None:
    """Return the pipeline that hid an end of training, where that ended, and how a later stage missed its weights.

    All must show: training that stops without a word, and that a program further down in the same
    script, or one that was pointed at the training's own folder, does not find what only training writes.
    """
    found = next((found for s in seen.logs() if (found := _broke_off(seen, s)) is not None), None)
    missed = [e for e in seen.said("exception", "exception", "bare") if _WEIGHTS_MISSED.search(e.message)]
    if found is None or not missed:
        return None
    stopped, in_the_middle = found
    own = stopped.path.rpartition("/")[0]
    commands = [e for e in seen.said("launch", "command") if e.fields.get("program")]
    for pipe in seen.said("launch", "masked-status"):
        hidden = {_script(e.fields["program"]) for e in commands if (e.path, e.line) == (pipe.path, pipe.line)}
        later = {_script(e.fields["program"]) for e in commands if e.path == pipe.path and e.line > pipe.line} - hidden
        for raised in missed:
            outermost = _FRAME.search(str(raised.fields.get("frames") or ""))
            after = in_the_middle and outermost is not None and _script(outermost["file"]) in later
            if hidden and raised.path != stopped.path and (after or (own and f"{own}/" in raised.message)):
                return pipe, stopped, raised
    return None


def _broke_off(seen: Seen, log: Source) -> tuple[Evidence, bool] | None:
    """Return the last record of a log in which training stops without a word, before its last step as far as is known.

    And whether that is known: in the middle of an epoch, or of its steps.
    """
    steps = [s for s in seen.steps if s.path == log.path and s.series == "train"]
    if not steps or any(e.path == log.path for e in _closing(seen, steps)):
        return None
    last = max(steps, key=lambda s: (s.line, s.column))
    known = last.step is not None and bool(last.total)
    if known and (last.step or 0) >= _NEARLY * (last.total or 0):
        return None
    return Evidence(last.path, last.line, last.line, "", last.column), known


def _closing(seen: Seen, steps: Sequence[Step]) -> Iterator[Event]:
    """Yield what says how a training ended: that it is done, or what it raised."""
    first = min(s.line for s in steps)
    kinds = ("exception", "exception", "bare"), ("progress", "complete")
    return (e for speaker, *said in kinds for e in seen.said(speaker, *said) if e.line >= first)


def _script(name: Value) -> str:
    return str(name).rpartition("/")[2]


def _stopped_short(seen: Seen) -> bool:
    """Tell whether training stands well before its own total, and nobody says that this was meant."""
    trained = seen.current_steps()
    steps = timeline.placed(trained)
    last = next((s for s in reversed(steps) if s.step is not None and s.total), None)
    short = last is not None and (last.step or 0) < _NEARLY * (last.total or 0)
    reached, planned = timeline.last_step(steps), _planned(seen, _STEPS)
    short = short or (reached is not None and planned is not None and reached < _NEARLY * planned)
    return (short or _epochs_left(seen, trained)) and not outcome(seen).good


def _epochs_left(seen: Seen, steps: Sequence[Step]) -> bool:
    """Tell whether more than one of the planned epochs is left after the last that is told of."""
    paths = {s.path for s in steps}
    told = [(s.line, s.epoch, s.epochs or s.total) for s in seen.steps if s.path in paths and _counts_epochs(s)]
    _, epoch, planned = max(told, default=(0, None, None), key=lambda row: row[0])
    planned = planned or _planned(seen, _EPOCHS)
    if epoch is None:
        epoch = max((s.epoch for s in steps if s.epoch is not None), default=None)
    return epoch is not None and planned is not None and epoch + 1 < planned


def _planned(seen: Seen, names: Sequence[str]) -> int | None:
    """Return how much training the command asks for, by an option of one of these names."""
    commands = [e.fields for e in seen.said("launch", "command")]
    asked = [str(fields[name]) for fields in commands for name in names if name in fields]
    return next((int(text) for text in asked if text.isdecimal() and len(text) < 10), None)


def _counts_epochs(step: Step) -> bool:
    return step.epoch is not None and bool(step.epochs or (step.keys == ("epoch_of",) and step.total))


def _hung_up(seen: Seen) -> Iterator[Event]:
    """A run that got SIGHUP, and the session that nobody finds: whoever closed it ended the run."""
    gone = next(seen.said("tmux", "cant-find"), None)
    if gone is None:
        return
    told = (e for e in seen.events if e.speaker in _HUNG_UP and e.fields.get("signal") in {1, "SIGHUP"})
    hup = next((e for e in told if seen.is_current(e.path)), None)
    if hup is not None:
        text = "the session is gone, and what ran in it was hung up"
        fields: dict[str, Value] = {"session": gone.fields.get("session"), "signal": 1}
        yield observed(gone.place, "hung-up", text, fields, (hup.place,))
