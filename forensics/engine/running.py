"""Whether a run is at work: as systemd, a container engine, Kubernetes or a look at its GPUs says beside its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from forensics import timeline
from forensics.engine.seen import Seen
from forensics.model import Event, Source, Value
from forensics.text.lazy import lazy

ACTIVE, UP, READY, BUSY = "active (running)", "Up", "Running", "busy GPUs"
WORKING = {ACTIVE: "systemd", UP: "the container engine", READY: "Kubernetes", BUSY: "nvidia-smi"}
"""What says so, and who says it."""
_COMPLETED = frozenset({"Completed", "Succeeded"})
_CLOSE = 50
"""Lines from the end of a log in which a server has answered."""
_SLACK_S = 120.0
_BUSY_PERCENT = 50
_LOOKS = 2
"""Snapshots that somebody made by hand; a series of them may have ended with the machine itself."""
RHYTHM = 20
"""A run may be silent for this many of its own step times: evaluation and checkpoints take their time."""
_ELAPSED = lazy(r"\[(?:(?P<h>\d{1,4}):)?(?P<m>\d\d):(?P<s>\d\d)<")
_BAR = 400
_TRAINS = lazy(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|composer|train\w{0,10})\b")
_PARTED = lazy(r"[^a-z0-9]+")
_COMMON = frozenset({"train", "training", "trainer", "logs", "stdout", "stderr", "output", "container", "docker"})
_NUMBERED = lazy(r"[-_]\d{1,4}$")
_ANSWERED = lazy(
    r"\bHTTP/[\d.]{1,4}\"? (?P<status>[1-5]\d\d)\b|\[GIN\].{1,80}\| (?P<gin>[1-5]\d\d) \|"
    r"|\btext_generation_router\b.{1,200}\bSuccess$"
)


def at_work(seen: Seen) -> list[str]:
    """Return in the words of who says so that what the log shows is running, or is done; nothing where none does."""
    return [*_units(seen), *_contained(seen), *_looked_at(seen), *_done(seen)]


def _done(seen: Seen) -> Iterator[str]:
    """Say that the job is done where every pod that somebody listed is."""
    phases = {str(e.fields.get("phase")) for e in seen.said("scheduler", "pod-listed")}
    if phases and phases <= _COMPLETED:
        yield "Succeeded"


def _looked_at(seen: Seen) -> Iterator[str]:
    """Say that the GPUs were busy when somebody looked, just after a training or a server had last spoken."""
    looks = list(seen.said("nvidia-smi", "snapshot"))
    last = looks[-1].time if 0 < len(looks) <= _LOOKS else None
    loads = looks[-1].fields.get("utilization") if looks else None
    if last is None or not isinstance(loads, tuple):
        return
    if not all(isinstance(load, int | float) and load >= _BUSY_PERCENT for load in loads):
        return
    steps = seen.current_steps()
    rhythm = timeline.gaps(steps)
    fresh = max(_SLACK_S, RHYTHM * rhythm.median_s) if rhythm else _SLACK_S
    trained = {step.path for step in steps}
    for log in seen.logs():
        ended = _last_word(seen, log)
        if ended is not None and 0 <= last - ended <= fresh and (log.path in trained or _serves(seen, log)):
            yield BUSY


def _last_word(seen: Seen, log: Source) -> float | None:
    """Return when a log ends: a bar has no time, but tells for how long it has been there."""
    shown = (found for line in seen.tails.get(log.path, ()) for found in _ELAPSED.finditer(line.text[-_BAR:]))
    last = max((int(m["h"] or 0) * 3600 + int(m["m"]) * 60 + int(m["s"]) for m in shown), default=0)
    if log.started is None or log.ended is None:
        return log.ended
    return max(log.ended, log.started + last)


def _units(seen: Seen) -> Iterator[str]:
    """Say that a service of the machine is running, where its very process wrote the last lines of a log.

    The status of other services, and of one that was started anew since, tells nothing of what the log shows.
    """
    told = list(seen.said("scheduler", "unit-state"))
    if not told:
        return
    last = {s.path: "\n".join(line.text for line in seen.tails.get(s.path, ())) for s in seen.sources}
    for event in told:
        pid = f"[{event.fields['pid']}]: "
        if event.fields.get("state") == ACTIVE and any(
            pid in text for path, text in last.items() if path != event.path
        ):
            yield ACTIVE


def _contained(seen: Seen) -> Iterator[str]:
    """Say that a server's container is up, or its pod ready, which answered in the last lines of its log.

    A container that was started anew since the log began tells nothing of what the log shows, and one that is up
    nothing of a training in it, which may hang.
    """
    rows = {str(e.fields["container"]): e for e in seen.said("scheduler", "container-listed")}
    pods = {str(e.fields["pod"]): e for e in seen.said("scheduler", "pod-listed", "pod-state") if e.fields.get("pod")}
    if not rows and not pods:
        return
    for log in seen.logs():
        if not _serves(seen, log):
            continue
        if (ours := _of(log, rows.values())) and all(_up(row, log) for row in ours):
            yield UP
        if (ours := _of(log, pods.values())) and all(_ready(pod, log) for pod in ours):
            yield READY


def ended_with(seen: Seen) -> list[Event]:
    """Return the row of the container that trained, if it has ended: by a word that its name and the log's share.

    Where no log is called like one, the only one there is, if it trains; of several, nobody knows.
    """
    rows = list(seen.said("scheduler", "container-listed"))
    if not rows:
        return []
    trained = {step.path for step in seen.current_steps()}
    words = {word for path in trained for word in _words(PurePosixPath(path).name.partition(".")[0])}
    named = [row for row in rows if words & _words(_word(row, "container"))]
    ours = named if trained else []
    if trained and not named and len(rows) == 1 and _TRAINS.search(rows[0].text):
        ours = rows
    return ours if len(ours) == 1 and ours[0].fields.get("exit_code") is not None else []


def _words(name: str) -> set[str]:
    return {word for word in _PARTED.split(name.lower()) if len(word) > 3 and word not in _COMMON}


def _of(log: Source, rows: Iterable[Event]) -> list[Event]:
    """Return the rows whose container or pod has its name in common with a log, or its image; all where none has."""
    every = [row for row in rows if row.path != log.path]
    stem = PurePosixPath(log.path).name.partition(".")[0].lower()
    for keys in (("container", "pod"), ("image",)):
        named = [row for row in every if len(stem) > 2 and any(stem in _word(row, key) for key in keys)]
        same = [row for row in named if any(_NUMBERED.sub("", _word(row, key)) == stem for key in keys)]
        if named:
            return same or named
    return every


def _word(row: Event, key: str) -> str:
    return str(row.fields.get(key) or "").lower()


def _up(row: Event, log: Source) -> bool:
    return row.fields["state"] == "up" and _covers(row.fields.get("up_s"), log)


def _ready(pod: Event, log: Source) -> bool:
    fields = pod.fields
    if pod.kind != "pod-listed" or fields.get("phase") != READY or not fields.get("ready"):
        return False
    since = fields.get("restarted_s")
    timed = log.started is not None and log.ended is not None
    return fields.get("restarts") == 0 or (timed and since is not None and _covers(since, log))


def _covers(up_s: Value, log: Source) -> bool:
    """Tell whether what has been up for so long can have written the whole of a log."""
    spoke_s = log.ended - log.started if log.started is not None and log.ended is not None else 0.0
    return not isinstance(up_s, int) or up_s + _SLACK_S >= spoke_s


def _serves(seen: Seen, log: Source) -> bool:
    """Tell whether the last lines of a log are of a server that answers, and does not fail at it."""
    lines = [line for line in seen.tails.get(log.path, ()) if line.number > log.lines - _CLOSE]
    answers = [found for line in lines if (found := _ANSWERED.search(line.text[:1000]))]
    if answers and (answers[-1]["status"] or answers[-1]["gin"] or "200").startswith("5"):
        return False
    told = any(
        s.path == log.path and s.series == "other" and s.tokens_per_s is not None and s.line > log.lines - _CLOSE
        for s in seen.steps
    )
    return told or bool(answers)
