"""Expected against present: which files the launch promised, which of them are here, and why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from forensics.engine.observe.gpus import empty
from forensics.engine.observe.observed import observed
from forensics.engine.outcome import outcome, said_by_scripts
from forensics.engine.promised import base, filled, promised_file
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Expected, Source, Value
from forensics.sources.names import natural
from forensics.text.lazy import lazy

_LOG_NAME = lazy(r"(?:log|out|err|txt|stdout|stderr)(?:\.\w+)?$|log", re.IGNORECASE)
_NO_LOG = lazy(r"\.(?:pid|lock|jsonl?|ya?ml|[ct]sv|png|pdf|pth?|npz|npy|pkl|h5|ckpt|safetensors)$", re.IGNORECASE)
"""What lies in a folder of logs and is none: it tells nothing of what the program said."""
_PROGRAM = frozenset({"exception", "c10d", "torchrun", "device", "progress", "dynamo", "nccl"})
"""Speakers whose words prove that a file holds what the program said."""
PANES = frozenset({"tmux-capture", "transcript"})
"""Kinds of source that show what a terminal showed."""
_TRAINS = lazy(r"train|finetun", re.IGNORECASE)
_NUMBER = lazy(r"(?<!\d)\d{4,18}(?!\d)")
_COUNT = lazy(r"\d+")
_JOB_OUTPUT = lazy(r"\.[oe]\d{3,18}$|^(?:slurm|pbs|lsf)[-_.]\d{3,18}\.\w{3}$")
"""How a batch system names the output of a job."""
_PENDING = frozenset({"PENDING", "PD", "CONFIGURING", "CF"})
_NO_OUTPUT = 53
"""The signal with which Slurm ends a job whose output it cannot open: `0:53` in its tables."""
_STALE_S = 600.0
_LAST = 40
_INTERRUPTED = "KeyboardInterrupt"
_COMPLETE = "complete"


def observe(seen: Seen) -> Iterator[Event]:
    """Fill `seen.expected`; yield `missing` (or `missing-here`, where the run is known to have ended well)."""
    seen.expected.extend(_expected(seen))
    missing = [e for e in seen.expected if e.state == "missing"]
    gone = [e for e in missing if _LOG_NAME.search(e.path) and not _NO_LOG.search(e.path)]
    # The log of this try was never written, so every log that has its name's stem is of an earlier one.
    seen.older |= {s.path for s in seen.sources if s.kind in LOG_KINDS and any(_nearest(e.path, [s]) for e in gone)}
    seen.older |= {e.nearest for e in seen.expected if e.state == "stale" and e.nearest}
    _tell_older_by_listing(seen)
    if (refused := _refused(seen)) is not None:
        # The new run never started, so pane and logs are of the run before, as far as no time says otherwise.
        at = seen.moments(refused)[1]
        own = {refused.path} if refused.speaker == "slurm" else set()  # tmux may refuse in the pane of the run before
        seen.older |= {s.path for s in seen.sources if s.kind in PANES} - own
        later = {s.path for s in seen.sources if s.started and s.started > at}
        seen.older |= {s.path for s in seen.sources if s.kind in LOG_KINDS} - later - own
    seen.older |= _rivals(seen) | _stages_before(seen)
    asked = [(item, _looked_for(seen, item.path)) for item in gone]
    seen.older |= _of_former_jobs(seen, [event for _, events in asked for event in events])
    silent = speaking(seen).isdisjoint(log.path for log in seen.logs())
    for item, looked_for in asked:
        if silent or item.nearest or looked_for:
            yield _missing(seen, item, looked_for)


def _rivals(seen: Seen) -> set[str]:
    """Return logs beside one that the launch promised which tell of another run's end: nobody promised them.

    Of `eager_run1.log` beside `train.log` only the latter is of the script that lies with them. It must
    have trained, as what serves a run has not, unless the run came to a good end all the same. Both must
    have an end of their own, and another one, for the logs of one run tell of one end, if any. What ends
    with the script's own words is the output of the script.
    """
    logs = {s.path: s for s in seen.logs() if s.rank is None and s.host is None}
    present = (promised_file(e.path, list(logs.values())) for e in seen.expected if e.state == "present")
    ours = {s.path: _end(seen, s) for s in present if s is not None}
    if not ours or not all(ours.values()):
        return set()
    folders = {path.rpartition("/")[0] for path in ours}
    done = all(_COMPLETE in end for end in ours.values())
    trained = logs.keys() if done else {step.path for step in seen.current_steps()} & logs.keys()
    return {
        path
        for path in trained - ours.keys() - _of_the_script(seen)
        if path.rpartition("/")[0] in folders
        and (end := _end(seen, logs[path]))
        and all(not end & own and _before(logs[path], logs[other]) for other, own in ours.items())
    }


def _of_the_script(seen: Seen) -> set[str]:
    """Return the sources whose last lines have what the launch script prints."""
    said = said_by_scripts(seen)
    return {p for p, tail in seen.tails.items() if any(text in line.text for line in tail for text in said)}


def _stages_before(seen: Seen) -> set[str]:
    """Return logs of stages that ended well, where the script then trained on into a log that tells of no such end.

    The end in question is that of the last stage.
    """
    trains = {(e.path, e.line) for e in seen.said("launch", "command") if _TRAINS.search(str(e.fields.get("program")))}
    stages = [(e.promised_by, promised_file(e.path, seen.sources)) for e in seen.expected]
    logs = [(place, s) for place, s in stages if s is not None and (place.path, place.line) in trains]
    done = {s.path for _, s in logs if _COMPLETE in _end(seen, s)}
    last = {place.path: place.line for place, s in logs if s.path not in done}
    return {s.path for place, s in logs if s.path in done and place.line < last.get(place.path, 0)}


def _end(seen: Seen, log: Source) -> set[str]:
    """Return what a log says of its end: the exceptions and good words that stand in its last lines."""
    last = {line.number: line.text for line in seen.tails.get(log.path, ())[-_LAST:]}
    first = min(last, default=0)
    near = [e for e in seen.events if e.path == log.path and e.line >= first]
    told = {str(e.fields.get("exception", e.kind)) for e in near if e.speaker == "exception"}
    told |= {_COMPLETE for e in near if e.speaker == "progress" and e.kind == _COMPLETE}
    return told | {_INTERRUPTED for text in last.values() if _INTERRUPTED in text}


def _before(log: Source, other: Source) -> bool:
    """Tell whether a log may have ended before another one began, as far as both have times."""
    return log.ended is None or other.started is None or log.ended <= other.started


def _looked_for(seen: Seen, path: str) -> list[Event]:
    """Return where somebody looked for a promised log, and did not find it."""
    pattern = filled(path)
    return [e for e in seen.said("shell", "no-such-file") if pattern.fullmatch(base(e.fields.get("missing_path")))]


def _of_former_jobs(seen: Seen, looked_for: Sequence[Event]) -> set[str]:
    """Return the logs of jobs with lower numbers than that of one whose log somebody, or Slurm, could not open."""
    outputs = (e for e in seen.said("shell", "no-such-file") if _JOB_OUTPUT.search(base(e.fields.get("missing_path"))))
    names = (base(e.fields.get("missing_path")) for e in (*outputs, *looked_for))
    asked = [int(n) for name in names for n in _NUMBER.findall(name)]
    asked += [job for e in _without_output(seen) if isinstance(job := e.fields.get("job_id"), int)]
    logs = {s.path: [int(n) for n in _NUMBER.findall(base(s.path))] for s in seen.sources if s.kind in LOG_KINDS}
    return {path for path, own in logs.items() if own and asked and max(own) < min(asked)}


def _without_output(seen: Seen) -> Iterator[Event]:
    """Yield what tells that a job of ours ended because Slurm could not open its output."""
    ended = [e for e in seen.said("scheduler", "job-state") if e.fields.get("signal") == _NO_OUTPUT]
    ours = {e.fields.get("job_id") for e in ended}
    yield from ended
    yield from (
        e for e in seen.said("slurm", "output-missing") if not e.fields.get("daemon") or e.fields.get("job_id") in ours
    )


def _tell_older_by_listing(seen: Seen) -> None:
    """Where a listing dates an empty log long after others, it is of the try in question, and those are older.

    A stream that stayed empty is as old as the begin of its run, so the run's own words are younger than it.
    Logs of one name in several folders are told apart by their size, or date themselves.
    """
    dates = {
        (base(e.fields.get("name")), e.fields.get("size_bytes")): e.time for e in seen.ever_said("host", "listing")
    }
    names = {name for name, _ in dates}
    logs: dict[str, float] = {}
    for log in (s for s in seen.sources if s.kind in LOG_KINDS and base(s.path) in names):
        sizes = {size: time for (name, size), time in dates.items() if name == base(log.path)}
        written = sizes.get(log.bytes, log.ended if len(sizes) == 1 and 0 in sizes else next(iter(sizes.values())))
        if written is not None:
            logs[log.path] = written
    made = max((logs[s.path] for s in seen.sources if s.path in logs and s.state == "empty"), default=None)
    older = {path for path, written in logs.items() if made is not None and written < made - _STALE_S}
    if older and all(written <= made for written in logs.values() if made is not None):
        seen.older |= older
        seen.bring_forward({path for path in logs if path not in older})


def _refused(seen: Seen) -> Event | None:
    """Return tmux's or Slurm's refusal to start anything, unless it was then tried again with success."""
    for event in seen.ever_said("slurm", "submit-refused"):
        after = (line.text for line in seen.tails.get(event.path, ()) if line.number > event.line)
        if not any("Submitted batch job" in text or "Granted job allocation" in text for text in after):
            return event
    for event in seen.ever_said("tmux", "duplicate-session"):
        after = (line.text for line in seen.tails.get(event.path, ()) if line.number > event.line)
        if not any(word in text for text in after for word in ("kill-session", "kill-server")):
            return event
    return None


def speaking(seen: Seen) -> set[str]:
    """Return the files that hold what the program said, rather than what was said of it."""
    return {s.path for s in seen.steps} | {e.path for e in seen.events if e.speaker in _PROGRAM}


def _expected(seen: Seen) -> Iterator[Expected]:
    told: set[str] = set()
    for event in seen.said("launch", "promise"):
        path = str(event.fields.get("missing_path", ""))
        folder = event.fields.get("how") == "folder"
        if not path or path in told or not (folder or _LOG_NAME.search(path)):
            continue
        told.add(path)
        promise = event.place
        if folder:
            inside = any(f"/{base(path)}/" in f"/{s.path}" for s in seen.sources)
            if inside:
                yield Expected(path, "present", promise)
            continue  # a folder of checkpoints is seldom copied along: its absence says nothing
        present = _latest(path, seen.sources)
        if present is not None and (refused := _not_there(seen, path)) and _apart(refused, present.path):
            path, present = refused, None  # the one that is here is of another day
        if present is not None and (missed := _missed(seen, path, present.path)):
            path, present = missed, None  # the one that is here is of a job before
        state = _state(seen, event.path, present)
        nearest = present.path if present is not None and state == "stale" else None
        yield Expected(path, state, promise, nearest if present else _nearest(path, seen.sources))


def _latest(path: str, sources: Sequence[Source]) -> Source | None:
    """Return the source that a promised path became: of a loop over names, the last one where that is empty."""
    found = promised_file(path, sources)
    pattern = filled(path)
    round_ = [s for s in sources if s.kind in LOG_KINDS and pattern.fullmatch(base(s.path))]
    last = max(round_, key=lambda s: natural(s.path), default=None)
    return last if last is not None and last.state == "empty" else found


def _not_there(seen: Seen, path: str) -> str:
    """Return the name under which tee found no folder for a promised log, whatever filled its placeholders."""
    pattern = filled(path)
    names = (str(e.fields.get("missing_path") or "") for e in seen.said("shell", "tee-missing"))
    return next((name for name in names if pattern.fullmatch(base(name))), "")


def _missed(seen: Seen, path: str, present: str) -> str:
    """Return the name under which somebody missed a promised log: of a later job than the one that is here."""
    ours = _job(present)
    names = (str(e.fields.get("missing_path") or "") for e in _looked_for(seen, path))
    return next((name for name in names if 0 < ours < _job(name)), "")


def _job(path: str) -> int:
    """Return the highest of the long numbers in the name of a log, 0 where it has none."""
    return max(map(int, _NUMBER.findall(base(path))), default=0)


def _apart(one: str, other: str) -> bool:
    """Tell whether two paths lie in folders of different names, as far as both have one."""
    folders = [path.split("/")[-2:-1] for path in (one, other)]
    return all(folders) and folders[0] != folders[1]


def _state(seen: Seen, script: str, present: Source | None) -> Literal["present", "missing", "empty", "stale"]:
    if present is None:
        return "missing"
    if present.state == "empty":
        return "empty"
    launch = seen.source(script)
    if launch is None or launch.mtime is None or present.mtime is None or present.ended is None:
        return "present"
    # Both clocks must agree: a copy resets the file's, a wrong zone shifts the log's.
    before = min(launch.mtime - present.mtime, launch.mtime - present.ended)
    return "stale" if before > _STALE_S else "present"


def _nearest(path: str, sources: list[Source]) -> str | None:
    """Return the newest sibling: the same name but for its last word or number."""
    stem, _, suffix = base(path).rpartition(".")
    best, length = None, 0
    for source in sources:
        other = base(source.path)
        if not other.endswith(f".{suffix}") or source.kind not in LOG_KINDS:
            continue
        differs = (i for i, (a, b) in enumerate(zip(stem, other, strict=False)) if a != b)
        shared = next(differs, min(len(stem), len(other)))
        counted = _COUNT.sub("0", f"{stem}.{suffix}") == _COUNT.sub("0", other)
        if (counted or shared >= max(4, 0.6 * len(stem))) and shared >= length:
            best, length = source.path, shared
    return best


def _missing(seen: Seen, item: Expected, looked_for: list[Event]) -> Event:
    place = item.promised_by
    session = next((e.fields["session"] for e in seen.said("launch", "session") if e.path == place.path), None)
    fields: dict[str, Value] = {
        # Who looked for it knows what became of its placeholders.
        "missing_path": looked_for[0].fields.get("missing_path") if looked_for else item.path,
        "session": session,
        "last_existing_log": item.nearest,
        "sentence": _reason(seen, item.path),
    }
    kind = "missing-here" if outcome(seen).good else "missing"
    message = f"{item.path} was promised here and does not exist"
    return observed(place, kind, message, fields, tuple(e.place for e in looked_for[:1]))


def _reason(seen: Seen, path: str) -> str | None:
    """Return the likeliest reason, strongest evidence first; None where nothing points anywhere."""
    refused = [
        e
        for e in seen.said("shell", "tee-missing", "tee-denied", "tee-full")
        if base(e.fields.get("missing_path")) == base(path)
    ]
    if refused:
        return f"Most likely the file could not be opened: {refused[0].path}:{refused[0].line} says so"
    if any(True for _ in seen.ever_said("tmux", "duplicate-session")):
        return "Most likely the command was never started: the session's name was in use"
    pending = next((e for e in seen.said("scheduler", "job-state") if e.fields.get("state") in _PENDING), None)
    if pending is not None:
        state = pending.fields.get("state")
        return f"Most likely the job never left the queue: {pending.path}:{pending.line} says {state}"
    gone = next(seen.ever_said("tmux", "no-server", "connect-error", "cant-find", "no-sessions"), None)
    if gone is not None:
        idle = ", and no GPU holds anything" if _idle(seen) else ""
        return f"Most likely the session ended before the file was opened: it is gone ({gone.path}:{gone.line}){idle}"
    return None


def _idle(seen: Seen) -> bool:
    looks = list(seen.said("nvidia-smi", "snapshot"))
    return bool(looks) and empty(looks[-1])
