"""Whose a line is: the logs of a machine and the tables of a scheduler speak of other jobs too."""

from __future__ import annotations

from functools import cached_property

from forensics.engine.progress import Progress
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Value

_OLD_S = 120.0
_LATE_S = 900.0
WENT_ON = 5
"""Progress records after a time that show the run to have outlived what happened then."""
OUTLIVED_S = 30.0
"""Seconds after which they count: buffers are emptied and queues drained for a while."""
_ENDING = frozenset({"segfault", "oom-kill"})
"""What the kernel says when it ends a process, at once."""
_OF_PROGRAMS = frozenset({13, 31, 43, 45})
"""Xids that a program brings about, and that end its context: what outlives one was not hit by it."""


class Whose:
    """Our processes, our pods and our time, as far as the evidence names them."""

    def __init__(self, seen: Seen, progress: Progress) -> None:
        self._seen = seen
        self._progress = progress

    def foreign(self, event: Event) -> bool:
        """Tell whether a line is of another job: by its time, by the pod it names, or as our process lived on."""
        if event.fields.get("pod") or str(event.fields.get("object") or "").startswith("pod/"):
            return self._other_pod(event)
        if event.speaker != "kernel" or event.time is None:
            return False
        pids, span = self._said
        if _pid(event) in pids:
            return False  # the same process: whatever the clocks say, it is ours
        if event.kind in _ENDING and self._alive_after(event):
            return True
        return span is not None and not span[0] - _OLD_S <= event.time <= span[1] + _LATE_S

    def outlived(self, event: Event) -> bool:
        """Tell whether training went on long after what a table or the kernel says had ended a process."""
        if event.time is None or event.rank is not None:
            return False
        source = self._seen.source(event.path)
        if source is None or source.kind in LOG_KINDS:
            return False  # in a log the lines below tell
        ending = event.speaker == "scheduler" and event.kind in {"job-state", "pod-state", "pod-event"}
        if event.speaker == "kernel":
            ending = _pid(event) not in self._said[0] and (
                event.kind in _ENDING or event.fields.get("xid") in _OF_PROGRAMS
            )
        return ending and self._progress.later_than(event.time + OUTLIVED_S) >= WENT_ON

    @cached_property
    def _said(self) -> tuple[frozenset[Value], tuple[float, float] | None]:
        """Return the processes that our logs name, and from when to when they speak: once, for all of a long log."""
        seen = self._seen
        logs = {s.path for s in seen.sources if s.kind in LOG_KINDS and seen.is_current(s.path)}
        said = [e for e in seen.events if e.path in logs and e.speaker != "kernel"]
        times = [t for s in seen.sources if s.path in logs for t in (s.started, s.ended) if t is not None]
        times += [e.time for e in said if e.time is not None]
        pids = frozenset(pid for e in said for pid in (e.pid, e.fields.get("pid")) if pid is not None)
        return pids, (min(times), max(times)) if times else None

    def _alive_after(self, event: Event) -> bool:
        """Tell whether a later look at the GPUs shows processes on them: the one that ended was another."""
        at, pid = event.time, _pid(event)
        return at is not None and pid is not None and any(at < time and pid not in pids for time, pids in self._shown)

    @cached_property
    def _shown(self) -> list[tuple[float, tuple[Value, ...]]]:
        """Return when somebody looked at the GPUs, and which processes were on them."""
        shots = [(shot.time, shot.fields.get("pids")) for shot in self._seen.said("nvidia-smi", "snapshot")]
        return [(time, pids) for time, pids in shots if time is not None and isinstance(pids, tuple) and pids]

    def _other_pod(self, event: Event) -> bool:
        name = str(event.fields.get("pod") or str(event.fields.get("object")).partition("/")[2])
        return bool(self._pods) and not any(_kin(name, ours) for ours in self._pods)

    @cached_property
    def _pods(self) -> frozenset[str]:
        """Return the pods that were looked at closely, or whose logs these are."""
        seen = self._seen
        told = [e for e in seen.said("scheduler", "pod-state") if e.fields.get("pod")]
        listed = {str(e.fields["pod"]) for e in told}
        close = {str(e.fields["pod"]) for e in told if e.fields.get("status") or e.fields.get("container")}
        stems = {s.path.replace("!", "/").rpartition("/")[2].partition(".")[0] for s in seen.logs()}
        logged = {name for name in listed for stem in stems if len(stem) > 3 and (stem in name or name in stem)}
        return frozenset(close | logged)


def _pid(event: Event) -> Value:
    return event.pid if event.pid is not None else event.fields.get("pid")


def _kin(one: str, other: str) -> bool:
    """Tell whether two pods are of one job: their names begin with the same words."""
    first, second = one.split("-"), other.split("-")
    return first[:1] == second[:1] and len(first[0]) > 1
