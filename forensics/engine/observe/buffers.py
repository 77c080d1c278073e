"""Output that sat in a buffer: lost with a run that was killed, or still to come of one that works on.

A program that hangs leaves the same cut log, so what a run did after the last block is what tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from forensics import timeline
from forensics.engine.context import by_hand, job_of
from forensics.engine.observe.gpus import loads
from forensics.engine.observe.observed import observed
from forensics.engine.outcome import outcome
from forensics.engine.promised import promised_file
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Source, Step, Value
from forensics.text.lazy import lazy

BLOCKS = (4096, 8192)
"""Sizes in which C and Python write to a file that is no terminal."""
_BUSY_PERCENT = 30
_KILLS = frozenset({9, 15})
_LATER_S = 60.0
"""Clocks of files and of log lines may differ by this much, and a listing tells minutes."""
_COMMANDED = lazy(r"^[$#> ]{0,4}(?:scancel|pkill)\b|(?:^|[$#>,;:] {0,2})kill -(?:9|KILL|SIGKILL) \d")
"""What somebody typed, or a watchdog says that it does."""
_WEIGHTS = lazy(r"\.(?:pth?|pth\.tar|ckpt|bin|safetensors|pkl|h5|hdf5|keras|tar|npz|nemo|pdparams|params)$")


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `buffered` of a run that was killed, and `buffering` of one that works on."""
    yield from _lost(seen)
    yield from _to_come(seen)


def _lost(seen: Seen) -> Iterator[Event]:
    """A killed run that worked, by its checkpoints or its GPU, while its log has none of its words.

    Or whose log ends exactly where a buffer does. Both need a launch that leaves python's output buffered.
    """
    hazard = next(seen.said("launch", "buffered"), None)
    kill = _kill(seen)
    if hazard is None or kill is None:
        return
    own = _promised(seen, hazard.path)
    mute = not any(not own or step.path in own for step in seen.current_steps())
    saved = next(reversed(list(seen.said("progress", "checkpoint-saved"))), None)
    proof = saved or next(_busy(seen), None) or _weights(seen, own)
    even = _even(seen)
    if mute and proof is not None:
        at, text = proof.place, "the run worked, and its log holds none of its output"
    elif even is not None and not mute:
        at = Evidence(even.path, even.lines, even.lines, "")
        text = f"the log ends exactly at {even.bytes} bytes, where a buffer does"
    else:
        return
    fields: dict[str, Value] = {
        "signal": kill.fields.get("signal") or 9,
        "job_id": kill.fields.get("job_id") or job_of(seen).get("job_id"),
        "last_checkpoint_step": timeline.last_checkpoint(seen.events, seen.current_steps()),
        "last_step": timeline.last_step(seen.current_steps()),
    }
    yield observed(at, "buffered", text, fields, (hazard.place, kill.place))


def _promised(seen: Seen, script: str) -> set[str]:
    """Return the logs that a script promised and that are there; another log beside them may be of a trial by hand."""
    told = (e.path for e in seen.expected if e.promised_by.path == script and e.state in {"present", "empty"})
    return {found.path for path in told if (found := promised_file(path, seen.sources)) is not None}


def _kill(seen: Seen) -> Event | None:
    """Return what says that the run was killed: a status, the kernel, or somebody's command."""
    for event in seen.events:
        if event.speaker in {"status", "torchrun", "shell", "tmux"} and event.fields.get("signal") in _KILLS:
            return event
        if event.speaker == "kernel" and event.kind == "oom-kill":
            return event
        if by_hand(event):
            return event
        if event.speaker in {"output", "log"} and _COMMANDED.search(event.message):
            return event
    return None


def _busy(seen: Seen) -> Iterator[Event]:
    """Yield the looks at the machine in which a GPU works."""
    return (e for e in seen.said("nvidia-smi", "snapshot") if any(load >= _BUSY_PERCENT for load in loads(e)))


def _weights(seen: Seen, own: set[str]) -> Event | None:
    """Return where a listing shows weights that are younger than the begin of the run, as its own log tells it."""
    began = min((s.started for s in seen.sources if s.path in own and s.started is not None), default=None)
    listed = (e for e in seen.said("host", "listing") if _WEIGHTS.search(_listed(e)))
    return next((e for e in listed if _after(e.time, began)), None)


def _to_come(seen: Seen) -> Iterator[Event]:
    """A run that is alive, and saved what it learned after its log had stopped.

    That is inside a line at the end of a block, or before the first word of the training itself,
    where only what python writes to stderr has come.
    """
    hazard = next(seen.said("launch", "buffered"), None)
    log = _even(seen) or _mute(seen, hazard)
    if log is None:
        return
    end = outcome(seen)
    if end.good or end.bad or end.signal is not None or _kill(seen) is not None:
        return
    if hazard is None and any(True for _ in seen.said("launch", "start", "command")):
        return  # it was started with its output unbuffered
    if next(seen.said("shell", "copy-failed"), None) is not None:
        return
    later, alive = _later(seen, log), _alive(seen, log)
    if later is None or (alive is None and not end.running):
        return
    state = next((e for e in seen.said("scheduler", "job-state") if e.fields.get("state") == end.scheduler_state), None)
    known = [e.place for e in (hazard, alive, state) if e is not None]
    fields: dict[str, Value] = {
        "job_id": job_of(seen).get("job_id"),
        "pid": _pid(seen),
        "last_checkpoint_step": timeline.last_checkpoint(seen.events, seen.current_steps()),
        "last_step": timeline.last_step(seen.current_steps()),
    }
    ends = f"ends exactly at {log.bytes} bytes, where a buffer does" if log.state in {"torn", "cut"} else "is silent"
    text = f"the log {ends}, and the run worked on after that"
    last = next((line.text for line in reversed(seen.tails.get(log.path, ())) if line.text.strip()), "")
    at = Evidence(log.path, log.lines, log.lines, last[-400:])
    yield observed(at, "buffering", text, fields, (later, *known), log.ended)


def _even(seen: Seen) -> Source | None:
    """Return a log that ends inside a line, exactly where a block does."""
    return next((s for s in seen.logs() if s.state in {"torn", "cut"} and any(s.bytes % b == 0 for b in BLOCKS)), None)


def _mute(seen: Seen, hazard: Event | None) -> Source | None:
    """Return the only log that a script promised, whose program buffers its output, where it tells of no training."""
    if hazard is None:
        return None
    own = [s for s in seen.logs() if s.path in _promised(seen, hazard.path)]
    trained = {step.path for step in seen.current_steps()}
    return own[0] if len(own) == 1 and own[0].bytes < min(BLOCKS) and own[0].path not in trained else None


def _later(seen: Seen, log: Source) -> Evidence | None:
    """Return what the run wrote elsewhere after the end of its log: a checkpoint, or a record of its metrics."""
    own = [s.step for s in seen.steps if s.path == log.path and s.step is not None and s.series == "train"]
    for event in reversed(list(seen.said("progress", "checkpoint-saved"))):
        step = event.fields.get("step")
        beyond = isinstance(step, int) and bool(own) and step > max(own)
        if event.path != log.path and (beyond or _after(event.time, log.ended)):
            return event.place
    counted = bool(own) and own[-1] == max(own) > own[0]  # a counter within epochs begins anew
    rows = [s for s in seen.current_steps() if s.path != log.path and _measured(seen, s)]
    further = [s for s in rows if (counted and (s.step or 0) > own[-1]) or _after(s.time, log.ended)]
    if further:
        row = further[-1]
        return Evidence(row.path, row.line, row.line, "", row.column)
    listed = [e for e in seen.said("host", "listing") if e.time is not None]
    name = PurePosixPath(log.path).name
    written = max((e.time or 0.0 for e in listed if _listed(e) == name), default=None)
    saved = [e for e in listed if _WEIGHTS.search(_listed(e)) and _after(e.time, written)]
    return max(saved, key=lambda e: e.time or 0.0).place if saved else None


def _after(time: float | None, written: float | None) -> bool:
    return time is not None and written is not None and time > written + _LATER_S


def _listed(row: Event) -> str:
    return PurePosixPath(str(row.fields.get("name"))).name


def _measured(seen: Seen, step: Step) -> bool:
    source = seen.source(step.path)
    return source is not None and source.kind == "metrics-json"


def _alive(seen: Seen, log: Source) -> Event | None:
    """Return a look at the machine, after the end of the log as far as is known, that shows the run at work."""
    looks = (*_busy(seen), *_processes(seen))
    return next((e for e in looks if e.time is None or log.ended is None or e.time > log.ended), None)


def _processes(seen: Seen) -> list[Event]:
    """Return what `ps` shows of the programs that the scripts start."""
    started = {str(e.fields.get("program")).rpartition("/")[2] for e in seen.said("launch", "command")} - {"None", ""}
    shown = seen.said("host", "process")
    return [e for e in shown if any(name in str(e.fields.get("command")) for name in started)]


def _pid(seen: Seen) -> int | None:
    """Return the process that is the only one on the GPUs, or the only one that `ps` shows of the program."""
    shown = (e.fields.get("pids") for e in seen.said("nvidia-smi", "snapshot"))
    pids = {pid for row in shown if isinstance(row, tuple) for pid in row if isinstance(pid, int)}
    pids = pids or {pid for e in _processes(seen) if isinstance(pid := e.fields.get("pid"), int)}
    return pids.pop() if len(pids) == 1 else None
