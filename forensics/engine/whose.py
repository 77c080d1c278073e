"""Whose a line is: the logs of a machine and the tables of a scheduler speak of other jobs too."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property

from forensics.engine.context import job_logs
from forensics.engine.progress import Progress
from forensics.engine.promised import base
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Source, Value
from forensics.parsers.typed import command_of
from forensics.sources.sniff import SHOWN_KINDS
from forensics.text.lazy import lazy

_OLD_S = 120.0
_LATE_S = 900.0
WENT_ON = 5
"""Progress records after a time that show the run to have outlived what happened then."""
OUTLIVED_S = 30.0
"""Seconds after which they count: buffers are emptied and queues drained for a while."""
LONG_AFTER_S = 600.0
"""A launcher that loses a worker says so within seconds, a rank that waits for a lost one after some minutes."""
_FAULTS = frozenset({"exception", "torchrun", "c10d", "nccl", "shell", "stack"})
_SENT = lazy(r"SIG(?:HUP|TERM|INT)\b|KeyboardInterrupt|death signal|\^C|signal: (?:1|2|15)\b")
_JOB_GROUP = lazy(r"/job_(?P<job>\d{1,18})\b")
_TRAINS = lazy(
    r"python|torchrun|accelerate|deepspeed|s(?:run|batch|alloc)|mpirun|horovodrun|\bray\b|vllm|sglang|train|tune|"
    r"\b(?:ba|z|k)?sh\b|\.sh\b|docker|podman|singularity|apptainer|tmux|nohup|screen|conda|poetry|\buv\b|make|run",
    re.IGNORECASE,
)
"""What a command that may start a training has in it."""
_SHOWS = lazy(r"(?:sudo )?(?:tail|head|cat|less|more|zcat|e?grep|sed|awk) (?P<files>[^|;&>\n]{1,1000})")
_PID = lazy(r"\bpid[:=] ?(?P<pid>\d{2,9})\b")
"""How a message names the process that it is about: Ray's `pid: 319924`."""
_CLOSE = 20
"""Lines from the last one of a log within which a time tells when it ended."""
_ENDING = {"segfault": 11, "oom-kill": 9}
"""What the kernel says when it ends a process, at once, and by which signal."""
_OF_PROGRAMS = frozenset({13, 31, 43, 45})
"""Xids that a program brings about, and that end its context: what outlives one was not hit by it."""


class Whose:
    """Our processes, our pods and our time, as far as the evidence names them."""

    def __init__(self, seen: Seen, progress: Progress) -> None:
        self._seen = seen
        self._progress = progress
        self._typed: dict[str, list[tuple[int, str]]] = {}

    def foreign(self, event: Event) -> bool:
        """Tell whether a line is of another job: by its time, by the pod it names, or as our process lived on."""
        if self._of_older_log(event):
            return True
        if event.fields.get("pod") or str(event.fields.get("object") or "").startswith("pod/"):
            return self._other_pod(event)
        job = event.fields.get("job_id")
        if event.speaker in {"scheduler", "slurm"} and job is not None and self._jobs and str(job) not in self._jobs:
            return True
        if event.fields.get("daemon") and self._recorded and str(job) not in self._jobs | self._recorded:
            return True
        if event.speaker == "shell" and event.kind == "signalled" and _pid(event) is None:
            return self._other_command(event)
        if event.speaker != "kernel":
            return False
        if _pid(event) in self._others:
            return True
        if event.kind == "oom-kill" and not _trains(event):
            # The shell names the process that was killed, and this was another program; or ours says how it ended.
            another = bool(self._named) and _pid(event) not in self._named
            if another or self._raised:
                return True
        pids, span = self._said
        if _pid(event) in pids:
            return False  # the same process: whatever the clocks say, it is ours
        if event.time is None:
            return False
        if event.kind in _ENDING and (self._our_ends or self._alive_after(event) or self._ended_otherwise(event)):
            return True  # not least where another line of the kernel is about a process that our logs name
        if span is None or span[0] - _OLD_S <= event.time <= span[1] + _LATE_S:
            return False
        return event.time < span[0] or not self._may_have_ended(event)

    def named(self, event: Event) -> bool:
        """Tell whether our logs name the process of which the kernel speaks."""
        return event.speaker == "kernel" and _pid(event) in self._said[0]

    def left_by_itself(self, event: Event) -> bool:
        """Tell whether an event is from the log of a node whose task srun saw end with a status of its own."""
        return any(node in event.path or node == event.host for node in self._left)

    @cached_property
    def _left(self) -> frozenset[str]:
        """Return the nodes of the first tasks that ended so, where others were then ended by a signal."""
        told = [e for e in self._seen.said("slurm", "task-exit") if e.fields.get("host")]
        own = {str(e.fields["host"]) for e in told if e.fields.get("exit_code") and not e.fields.get("signal")}
        ended = {str(e.fields["host"]) for e in told if e.fields.get("signal")}
        return frozenset(own - ended) if ended else frozenset()

    def of_an_earlier_try(self, event: Event) -> bool:
        """Tell whether a line was written before the scheduler started the job for the last time."""
        return event.time is not None and event.time <= self._put_back

    @cached_property
    def _put_back(self) -> float:
        """Return when the last try but one of the job had ended, as `sacct -D` lists them; else never."""
        tries = [e for e in self._seen.said("scheduler", "earlier-state") if not e.fields.get("step_id")]
        ours = [e.time for e in tries if not self._jobs or str(e.fields.get("job_id")) in self._jobs]
        return max((time + OUTLIVED_S for time in ours if time is not None), default=float("-inf"))

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

    def _of_older_log(self, event: Event) -> bool:
        """Tell whether a line of a session is what `tail` or the like showed of the log of an earlier try."""
        source = self._seen.source(event.path)
        if source is None or source.kind not in SHOWN_KINDS or event.speaker in {"observed", "shell"}:
            return False
        if not self._older:
            return False
        if event.path not in self._typed:
            typed = ((line.number, command_of(line.text)) for line in self._seen.tails.get(event.path, ()))
            self._typed[event.path] = [(number, command) for number, command in typed if command]
        above = bisect_left(self._typed[event.path], (event.line, ""))
        shown = _SHOWS.match(self._typed[event.path][above - 1][1]) if above else None
        return shown is not None and not self._older.isdisjoint(map(base, shown["files"].split()))

    @cached_property
    def _older(self) -> frozenset[str]:
        """Return the names of the logs of earlier tries, as far as no log in question has that name too."""
        logs = [(base(s.path), self._seen.is_current(s.path)) for s in self._seen.sources if s.kind in LOG_KINDS]
        return frozenset(name for name, ours in logs if not ours) - {name for name, ours in logs if ours}

    def _other_command(self, event: Event) -> bool:
        """Tell whether what a session reports ended there was no training: somebody's `./a.out`."""
        lines = self._commands.get(event.path, {})
        above = max((line for line in lines if line < event.line), default=None)
        return above is not None and _TRAINS.search(lines[above]) is None

    @cached_property
    def _commands(self) -> dict[str, dict[int, str]]:
        """Return the commands that were typed in each session, by line."""
        typed: dict[str, dict[int, str]] = defaultdict(dict)
        for event in self._seen.said("host", "command"):
            typed[event.path][event.line] = event.message
        return typed

    def _may_have_ended(self, event: Event) -> bool:
        """Tell whether our process ended as the kernel says that it ended one, at a time that our logs do not tell."""
        return event.kind in _ENDING and self._ended_by == _ENDING[event.kind]

    @cached_property
    def _ended_by(self) -> Value:
        """Return the signal that ended the run, where its logs go on without times below the last one that has any."""
        logs = [s for s in self._seen.logs() if s.rank is None and s.lines > _CLOSE]
        if not logs or any(self._dated_to_its_end(s) for s in logs):
            return None
        told = (e.fields.get("signal") for e in self._seen.said("status", "exit"))
        return next((signal for signal in told if signal is not None), None)

    def _dated_to_its_end(self, log: Source) -> bool:
        """Tell whether a time stands in the last lines of a log, or below the last one that was taken apart."""
        timed = self._seen.times.get(log.path)
        if timed is None or not timed[0]:
            return log.ended is not None
        lines, times = timed
        return log.lines - lines[-1] <= _CLOSE or (log.ended is not None and log.ended > times[-1])

    @cached_property
    def _our_ends(self) -> bool:
        """Tell whether the kernel ended a process that our logs name."""
        pids = self._said[0]
        return any(e.kind in _ENDING and _pid(e) in pids for e in self._seen.said("kernel"))

    @cached_property
    def _named(self) -> frozenset[Value]:
        """Return the processes of which the shell or the launcher says that a signal ended them."""
        told = (*self._seen.said("shell", "signalled"), *self._seen.said("torchrun"))
        return frozenset(pid for e in told if (pid := _pid(e)) is not None)

    @cached_property
    def _raised(self) -> bool:
        """Tell whether the last lines of our logs hold an exception that is about no process that was killed."""
        close = {s.path: s.lines - _CLOSE for s in self._seen.logs() if s.kind != "transcript"}
        return any(
            e.line > close.get(e.path, e.line) and "killed" not in e.message.lower()
            for e in self._seen.said("exception")
        )

    @cached_property
    def _jobs(self) -> frozenset[str]:
        return frozenset(map(str, job_logs(self._seen)))

    @cached_property
    def _recorded(self) -> frozenset[str]:
        """Return the jobs that somebody asked the scheduler about: the daemon of a node speaks of all others too."""
        jobs = (e.fields.get("job_id") for e in self._seen.said("scheduler", "job-state", "earlier-state"))
        return frozenset(str(job) for job in jobs if job is not None)

    @cached_property
    def _said(self) -> tuple[frozenset[Value], tuple[float, float] | None]:
        """Return the processes that our logs name, and from when to when they speak: once, for all of a long log."""
        seen = self._seen
        logs = {s.path for s in seen.sources if s.kind in LOG_KINDS and seen.is_current(s.path)}
        said = [e for e in seen.events if e.path in logs and e.speaker != "kernel"]
        # A session shows the kernel's lines of last month too, so of it only what was taken apart tells.
        dated = [s for s in seen.sources if s.path in logs and s.kind != "transcript"]
        times = [t for s in dated for t in (s.started, s.ended) if t is not None]
        times += [e.time for e in said if e.time is not None]
        named = (int(m["pid"]) for e in said if e.speaker == "exception" for m in _PID.finditer(e.message))
        pids = frozenset((*named, *(p for e in said for p in (e.pid, e.fields.get("pid")) if p is not None)))
        return pids, (min(times), max(times)) if times else None

    def _alive_after(self, event: Event) -> bool:
        """Tell whether a later look at the GPUs shows processes on them: the one that ended was another."""
        at, pid = event.time, _pid(event)
        return at is not None and pid is not None and any(at < time and pid not in pids for time, pids in self._shown)

    @cached_property
    def _others(self) -> frozenset[Value]:
        """Return the processes that the kernel killed in the memory group of a job which is not ours."""
        found = set()
        for event in self._seen.said("kernel"):
            group = _JOB_GROUP.search(str(event.fields.get("task_memcg") or event.fields.get("oom_memcg") or ""))
            if group and self._jobs and group["job"] not in self._jobs and _pid(event) is not None:
                found.add(_pid(event))
        return frozenset(found)

    def _ended_otherwise(self, event: Event) -> bool:
        """Tell whether the first that our logs say after the event, and long after it, is who ended them, and how."""
        after = [(time, sent) for time, sent in self._faults if event.time is not None and time >= event.time - _OLD_S]
        return bool(after) and after[0][1] and event.time is not None and after[0][0] > event.time + LONG_AFTER_S

    @cached_property
    def _faults(self) -> list[tuple[float, bool]]:
        """Return when our logs speak of faults, and whether a signal from outside is what they speak of."""
        logs = {s.path for s in self._seen.logs() if self._seen.is_current(s.path)}
        said = [e for e in self._seen.events if e.path in logs and e.speaker in _FAULTS and e.time is not None]
        return sorted((e.time, _SENT.search(e.message) is not None) for e in said if e.time is not None)

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
        listed = {str(e.fields["pod"]) for e in (*told, *seen.said("scheduler", "pod-listed")) if e.fields.get("pod")}
        close = {str(e.fields["pod"]) for e in told if e.fields.get("status") or e.fields.get("container")}
        stems = {s.path.replace("!", "/").rpartition("/")[2].partition(".")[0] for s in seen.logs()}
        logged = {name for name in listed for stem in stems if len(stem) > 3 and (stem in name or name in stem)}
        return frozenset(close | logged)


def _pid(event: Event) -> Value:
    return event.pid if event.pid is not None else event.fields.get("pid")


def _trains(event: Event) -> bool:
    """Tell whether the kernel's name of a process may be that of a training or of a worker of one."""
    name = str(event.fields.get("comm") or "python")
    return _TRAINS.search(name) is not None or "pt_" in name


def _kin(one: str, other: str) -> bool:
    """Tell whether two pods are of one job: their names begin with the same words."""
    first, second = one.split("-"), other.split("-")
    return first[:1] == second[:1] and len(first[0]) > 1
