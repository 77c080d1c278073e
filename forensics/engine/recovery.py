"""Which faults a run outlived: it went on after them, had finished before them, or was answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from forensics.engine.outcome import Outcome, is_end
from forensics.engine.progress import Progress
from forensics.engine.seen import Seen
from forensics.model import Event, Value
from forensics.text.frames import in_helper
from forensics.text.lazy import lazy

RECOVERED_AFTER = 2
"""Progress records of the same rank after a fault that make it a recovered one."""
OTHERS_WENT_ON = 5
"""Progress records of the other ranks after a fault of one that reports none: they could not go on without it."""
_ANSWERED = {"nfs": "nfs-ok"}
_POOL = lazy(r"\bin _process_worker\n\s+initializer\(")
"""Where the function raised with which each process of a pool begins."""


def answers_of(seen: Seen) -> dict[tuple[str, str, Value], int]:
    """Return where each source says that a server answers again."""
    return {(e.path, e.kind, e.fields.get("server")): e.line for e in seen.said("kernel", *_ANSWERED.values())}


def answered(event: Event, answers: Mapping[tuple[str, str, Value], int]) -> bool:
    """Tell whether the same file says later that the trouble is over: a server that answers again."""
    kind = _ANSWERED.get(event.kind, "") if event.speaker == "kernel" else ""
    return answers.get((event.path, kind, event.fields.get("server")), 0) > event.line


def of_a_helper(event: Event) -> bool:
    """Tell whether an exception was raised in a thread or a child of the program, which it does not end."""
    return event.speaker == "exception" and in_helper(str(event.fields.get("frames") or ""))


def _had_ended(event: Event, end: Outcome) -> bool:
    """Tell whether the program had said that it was done when something was raised, and left with status 0."""
    if end.exit_code != 0 or end.masked:
        return False
    return any(e is not None and e.path == event.path and e.line < event.line for e in (end.finished, end.hinted))


def ends_of(seen: Seen, starts: Mapping[str, int]) -> dict[str, set[int | None]]:
    """Return which ranks say in a source's last try that training came to its end; None is nobody in particular."""
    grouped: dict[str, set[int | None]] = defaultdict(set)
    for event in seen.events:
        if is_end(event) and not event.fields.get("weak") and event.line >= starts.get(event.path, 0):
            grouped[event.path].add(event.rank)
    return grouped


def recovered(event: Event, progress: Progress, ends: Mapping[str, Collection[int | None]], end: Outcome) -> bool:
    """Tell whether the same rank went on after the event, or had finished its work before it."""
    if (
        event.speaker == "observed"
        or event.kind == "duplicate-session"
        or (end.bad and event.rank is None and event.lane is not None)
    ):
        return False
    if event.kind == "pod-event" and replace(end, hinted=None).good:
        return True  # the pod was put elsewhere, or its node came back: the program itself ended well
    if (event.speaker == "slurm" and event.kind in {"cancelled", "node-failure"}) or event.text.startswith("TERM_"):
        # A program that passes the signal over goes on for a moment; LSF's report stands above what the program said.
        return end.good
    if event.kind == "compile-failed" and end.good:
        return True  # its file has no progress to recover by: the log says that the training went on without it
    if of_a_helper(event) and _had_ended(event, end):
        return True
    if event.speaker == "exception" and _POOL.search(str(event.fields.get("frames") or "")) and end.finished is None:
        return False  # the pool is broken for good, though bars count what it gives back at once
    if event.speaker == "exception" and end.proven and not progress.trains(event.path):
        return True  # a report beside the log, of what the run survived
    done = ends.get(event.path, ())
    if done and not end.bad and (event.rank is None or event.rank in done or None in done):
        return True
    mute = event.rank is not None or (end.good and event.lane is not None)
    if mute and not end.bad and not progress.reports(event):
        return progress.all_after(event) >= OTHERS_WENT_ON
    if event.rank is None and end.bad and progress.ranked_after(event):
        return False  # whose progress this is cannot be told
    return progress.after(event) >= RECOVERED_AFTER
