"""What the run's surroundings add to its root: the status of the process that failed, and the job it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Value
from forensics.text.lazy import lazy

_STATUSES = (
    ("status", "exit"),
    ("torchrun", "failure"),
    ("torchrun", "failed"),
    ("slurm", "task-exit"),
    ("scheduler", "pod-state"),
)
"""Who tells a status: the launch itself, then the launcher of each rank, then the scheduler."""
_VERSIONS = ("kernel_module", "library")
_NUMBER = lazy(r"(?<!\d)\d{4,18}(?!\d)")
ENDED_BY_OTHERS = frozenset({-15, 143, -2, 130})
_RETURNED = lazy(
    r"CalledProcessError: Command .{1,4000}?(?:returned non-zero exit status (?P<code>\d{1,3})\b"
    r"|died with <Signals\.SIG\w{2,5}: (?P<signal>\d{1,2})>)"
)
"""Source: subprocess.CalledProcessError of CPython, as accelerate, DeepSpeed and many scripts let it through."""
_DIED = lazy(r"\*\*\* SIG[A-Z]{2,5} \(@0x[\da-f]{1,16}\) received by PID (?P<pid>\d{1,10}) ")
_TRAINS = lazy(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|srun|mpirun)\b|\.(?:py|sh)\b")
_INTERACTIVE = lazy(r"interact\w*\+?|bash|zsh|tmux|screen|salloc|sys/dash\S*|extern", re.IGNORECASE)
"""What salloc, `srun --pty bash` and Open OnDemand call a job: sacct cuts its name to ten characters."""
_JOB_LOG = lazy(
    r"(?:^|/)(?:slurm|job|lsf|pbs)[-_.](?P<job>\d{1,18})(?:[._-]\w+)?\.(?:out|err|log|txt)$|\.[oe](?P<pbs>\d{3,18})$"
)


def exit_of(seen: Seen, rank: int | None, path: str = "") -> dict[str, Value]:
    """Return exit_code and signal as told of that rank; else of whichever process is named first.

    A launcher itself ends with 1 whatever its workers ended with, so of those its table says more. Where nobody else
    tells a status, it is the one that stands in the same log, or that a shell has of the job it ran.
    """
    told = [e for speaker, kind in _STATUSES for e in seen.said(speaker, kind)]
    own = [e for e in told if rank is not None and e.rank == rank]
    if told and told[0].speaker == "status" and told[0].fields.get("exit_code") == 1:
        own += [e for e in told if e.kind == "failure" and e.fields.get("root_cause")]
    near = [e for e in seen.said("status", "reported-part", "step") if e.path == path]
    for event in (*own, *told, *near, *_jobs_of_shells(seen)):
        found = {name: event.fields[name] for name in ("exit_code", "signal") if event.fields.get(name)}
        if found:
            return found
    return _of_a_starter(seen)


def _of_a_starter(seen: Seen) -> dict[str, Value]:
    """Return the status with which a launcher written in Python says that the training's command returned."""
    for event in seen.said("exception"):
        told = _RETURNED.search(event.message)
        if told is None or not _TRAINS.search(told[0]):
            continue
        return {"signal": int(told["signal"])} if told["signal"] else {"exit_code": int(told["code"])}
    return {}


def pid_of(seen: Seen, event: Event) -> dict[str, Value]:
    """Return the process that an event is of: by its prefix, as its launcher names it, or as its last words do."""
    if event.pid is not None:
        return {"pid": event.pid}
    told = [e for e in seen.said("torchrun", "failure", "failed") if isinstance(e.fields.get("pid"), int)]
    first = [e for e in told if e.fields.get("root_cause")]
    own = [e for e in told if event.rank is not None and e.rank == event.rank]
    chosen = own or first or told
    pids = {e.fields["pid"] for e in chosen}
    if not pids:  # glog's handler of signals, which Paddle and Caffe have
        died = (_DIED.search(line.text) for line in seen.tails.get(event.path, ()))
        pids = {int(found["pid"]) for found in died if found is not None}
    return {"pid": pids.pop()} if len(pids) == 1 else {}


def by_hand(event: Event) -> bool:
    """Tell whether Slurm says that a job was cancelled, and names no limit or failure: somebody did it."""
    return event.speaker == "slurm" and event.kind == "cancelled" and "DUE TO" not in event.text


def _jobs_of_shells(seen: Seen) -> list[Event]:
    """Return what a shell says of trainings that it had in the background: `[1]+  Exit 1   python train.py`."""
    return [e for e in seen.said("shell", "job-exit") if _TRAINS.search(str(e.fields.get("command") or ""))]


def ranks_of(seen: Seen, found: Sequence[Event]) -> tuple[int, ...]:
    """Return the rank that the launcher knows for events that name none: by their pid, else the one that failed first.

    The kernel tells of a pid only, and a traceback in a shared log of nobody.
    """
    failed = [e for e in seen.said("torchrun", "failure") if e.rank is not None]
    pids = {pid for e in found for pid in (e.pid, e.fields.get("pid")) if isinstance(pid, int)}
    by_pid = [e.rank for e in failed if e.fields.get("pid") in pids]
    blamed = [e.rank for e in failed if e.fields.get("root_cause") and found[0].speaker == "exception"]
    return tuple(rank for rank in (by_pid or blamed)[:1] if rank is not None)


def before_node(seen: Seen, path: str) -> int:
    """Return how many ranks run on the nodes before the one whose log this is, where its ranks are counted from 0.

    `torchrun --tee` puts the local rank before a line, as others put the global one. Its table at the
    end names both; and a rank beyond those of the earlier nodes shows that the lines name global ones.
    """
    tables = [e for e in seen.said("torchrun", "failure") if e.path == path]
    ahead = {
        e.rank - local for e in tables if e.rank is not None and isinstance(local := e.fields.get("local_rank"), int)
    }
    if len(ahead) != 1:
        return 0
    first = ahead.pop()
    known = {"torchrun", "init"}  # whose own words name the global rank
    ours = (e.rank for e in seen.events if e.path == path and not known & {e.speaker, e.kind} and e.rank is not None)
    return first if max(ours, default=0) < first else 0


def job_logs(seen: Seen) -> list[int]:
    """Return the jobs whose numbers the logs of the run have in their names."""
    current = [s.path for s in seen.sources if s.kind in LOG_KINDS and seen.is_current(s.path)]
    named = [int(m["job"] or m["pbs"]) for path in current if (m := _JOB_LOG.search(path))]
    if named:
        return named
    known = {str(job) for job in _jobs((*seen.said("scheduler", "job-state", "earlier-state"), *seen.said("slurm")))}
    return [int(number) for path in current for number in _NUMBER.findall(path) if number in known]


def states_of(seen: Seen, *kinds: str) -> list[Event]:
    """Return what the scheduler says of the job whose log this is; of all, where no name tells which that is.

    An allocation in which somebody types ends well when its shell does, whatever became of the commands in it.
    """
    told = [e for e in seen.said("scheduler", *kinds) if not _of_a_shell(e)]
    jobs = set(job_logs(seen))
    return [e for e in told if e.fields.get("job_id") in jobs] or told


def _of_a_shell(event: Event) -> bool:
    done = event.fields.get("state") == "COMPLETED"
    return done and _INTERACTIVE.fullmatch(str(event.fields.get("name") or "")) is not None


def job_of(seen: Seen) -> dict[str, Value]:
    """Return the scheduler's number of the job, from its own words or from the name of its log."""
    named = job_logs(seen)
    reported = seen.said("scheduler", "job-report")
    told = _jobs((*seen.said("scheduler", "job-state"), *seen.said("slurm"), *reported))
    # A table lists other jobs too: the one whose log this is, where it is among them.
    jobs = [*(job for job in named if job in told), *told, *named]
    return {"job_id": jobs[0]} if jobs and len(set(named)) < 2 else {}


def node_of(seen: Seen, event: Event) -> dict[str, Value]:
    """Return the node that an event is from, else the only one on which a batch system says that the job ran."""
    if event.host:
        return {"node": event.host}
    nodes = {node for e in seen.said("scheduler", "job-report") if (node := e.fields.get("node"))}
    return {"node": nodes.pop()} if len(nodes) == 1 else {}


def start_of(seen: Seen, path: str) -> dict[str, Value]:
    """Return the command that the launch wraps: of that very script, else of the only one there is."""
    started = list(seen.said("launch", "start"))
    of_script = [e for e in started if e.path == path]
    chosen = of_script or (started if len({e.path for e in started}) == 1 else [])
    return {"start_command": chosen[0].fields["start_command"]} if chosen else {}


def versions_of(seen: Seen, wanted: Iterable[str]) -> dict[str, Value]:
    """Return the driver's versions that nvidia-smi and /proc tell, of those wanted."""
    found: dict[str, Value] = {}
    for event in seen.said("nvidia-smi"):
        found |= {name: event.fields[name] for name in _VERSIONS if name in wanted and event.fields.get(name)}
    return found


def status_of(seen: Seen, path: str = "") -> int | None:
    """Return the exit status that the scheduler, a launcher or a pod gives for the run; None where none does.

    Of what logs say of a part, that counts more which stands in the log of that path.
    """
    parts = sorted(seen.said("status", "reported-part"), key=lambda e: e.path != path)
    told = (
        *states_of(seen, "job-state"),
        *seen.said("slurm", "task-exit"),
        *seen.said("scheduler", "pod-state"),
        *seen.said("torchrun", "failed", "failure", "launcher"),
        *parts,
        *_jobs_of_shells(seen),
    )
    codes = [code for e in told if isinstance(code := e.fields.get("exit_code"), int)]
    # What a launcher ended because of another process says less than what that one ended with.
    return next((code for code in codes if code not in ENDED_BY_OTHERS), codes[0] if codes else None)


def _jobs(events: Iterable[Event]) -> list[int]:
    return [job for e in events if isinstance(job := e.fields.get("job_id"), int)]
