"""Prefixes of launchers and collectors: which rank, actor, pod, host or process a line comes from.

Sources of the forms: torchrun `--tee`, srun `--label`, mpirun `--tag-output`, Ray, vLLM,
Metaflow, SkyPilot, `gh run view --log`, `kubectl logs --prefix`, docker compose, pdsh, syslog,
dmesg, Talos, Determined, Taskcluster.
"""

from __future__ import annotations

from forensics.text.lazy import lazy
from forensics.text.peeled import Peeled, Peeler
from forensics.text.timestamps import leading_time

LABEL = lazy(r"(?=[ \d]{1,4}:|\d{5}:) {0,3}(\d{1,5}):(?: (?=\S| {2,}\S| \[20\d\d-|\t)|$)")
"""What `srun --label` puts before a line: the task's number, padded with blanks to the widest."""

COMPOSE_FORM = (
    r"([a-z][\w.]{0,60}(?:[-_][\w.]{1,60}){0,6}[-_]\d{1,4})(?: {2,20}\| ?| \| (?=(?:INFO|WARNING|ERROR|CRITICAL)\b))"
)
"""What docker compose puts before a line. The longest name has one blank behind it, as a name in a table has."""
HOST_FORM = (
    r"((?:node|host|worker|compute|dgx|hgx|nid|gn|gpu-?(?:node|server|host)?|cn|ip|pod|master|launcher|server)"
    r"[-_.]?\d[\w.-]{0,60}|(?:\d{1,3}\.){3}\d{1,3}(?=: \S|: {2,})): "
)
COMPOSE, HOST = lazy(COMPOSE_FORM), lazy(HOST_FORM)
RUN_VIEW = lazy(r"[^\t]{1,80}\t[^\t]{1,80}\t\ufeff?(?=20\d\d-\d\d-\d\dT)")
"""What `gh run view --log` puts before a line: the job and its step."""
_RANK = lazy(r"\[(?:[Rr]ank|RANK)[ :=]{0,2}(\d{1,6})\]:? ?(?!=[^=]| ?[a-z]+=)")
_ROLE = lazy(r"\[[A-Za-z_][A-Za-z_-]{0,30}?(\d{1,6})\]: ?")
_LANE = lazy(r"\[([A-Za-z][\w-]{0,30} \d{1,6})\]:? ?")
_MPI = lazy(r"\[(?:[\w.-]{1,80}@)?\d{1,6},(\d{1,6})\]<std(?:out|err|diag)>: ?")
_POD = lazy(r"\[pod/([\w.-]{1,253})/[\w.-]{1,253}\] ?")
_METAFLOW = lazy(r"\[[\w-]{1,80}/[\w-]{1,80}/[\w-]{1,80} \(pid \d{1,10}\)\] (?:\[[0-9a-f]{8}-[0-9a-f-]{27}\] )?")
_DETERMINED = lazy(r"[0-9a-f]{8}(?: \[rank=(?P<rank>\d{1,6})\])? \|\|? ")
_TASKCLUSTER = lazy(r"\[(?:task|taskcluster(?::\w{1,12})?) (?P<time>20\d\d-[\dT:.+Z-]{14,30})\] ?")
_ACTOR = lazy(
    r"\((?:(?P<name>[\w.<>:+-]{1,80}),? )?(?:rank=(?P<rank>\d{1,6}),? )?pid=(?P<pid>\d{1,10})"
    r"(?:, ip=(?P<ip>[\w.:-]{1,60}))?(?:, [^\n]{0,120}?)?\)(?: |$)"
)
_RAY = lazy(r"\((?P<name>raylet|gcs_server|autoscaler|dashboard|RayWorker)(?: [^()]{0,80})?\) ?")
_SYSLOG = lazy(r"([\w.-]{1,80}) (?:(kernel)(?:\[\d+\])?: |(?=([\w./@-]{1,80})(?:\[(\d{1,10})\])?: ))")
_OWN = lazy(r"(?:python|torchrun|train|bash|sh|docker|containerd|env|conda|accelerate|deepspeed)[\w./@-]*")
_IDENT = lazy(r"[\w./@-]{1,80}(?:\[\d{1,10}\])?: ")
_PRIORITY = lazy(r"<\d{1,3}>(?=\[|[A-Z][a-z]{2} )")
_FACILITY = lazy(r"(?:kern|user|daemon|syslog) {0,6}:(emerg|alert|crit|err|warn|notice|info|debug) {0,4}: ")
TALOS_FORM = (
    r"([\w.-]{1,80}(?::[\w.:]{1,40})?): (?:kern|user|daemon|syslog): {1,5}"
    r"(emerg|alert|crit|err|warning|notice|info|debug): (?=\[20\d\d-)"
)
"""What `talosctl dmesg` puts before a line: the node, the facility, the level."""
_TALOS = lazy(TALOS_FORM)
_RANK_WORD = lazy(r"[Rr]ank ?(\d{1,6})(?:\[(\d{1,10})\](?:\[[\w-]{1,40}\])?)?: ")


def _rank(text: str, at: int, found: Peeled) -> int:
    """`[rank3]: `, `[rank0] `, `[rank: 0] `, `[Rank 2] `."""
    match = _RANK.match(text, at)
    if match is None or (found.headed and text[at + 1] == "R"):
        return at  # `[Rank 1] Watchdog caught ...`: the rank within a process group, part of the message
    if found.labelled:
        found.rank = None  # one task of srun may be a launcher of several ranks; torch itself knows which it is
    found.say_rank(match[1])
    return match.end()


def _role(text: str, at: int, found: Peeled) -> int:
    """`[default3]:`, `[worker0]:`: torchrun's role and local rank."""
    match = _ROLE.match(text, at)
    if match is None:
        return at
    found.local = int(match[1])
    return match.end()


def _lane(text: str, at: int, found: Peeled) -> int:
    """`[drafter 2] `: a thread's or a stage's own name and number."""
    match = _LANE.match(text, at)
    if match is None or match[1].lower().startswith("rank"):
        return at
    found.lane = found.lane or match[1]
    return match.end()


def _mpi(text: str, at: int, found: Peeled) -> int:
    """`[1,3]<stderr>: `: job and rank."""
    match = _MPI.match(text, at)
    if match is None:
        return at
    found.say_rank(match[1])
    return match.end()


def _pod(text: str, at: int, found: Peeled) -> int:
    """`[pod/trainer-0/pytorch] `."""
    match = _POD.match(text, at)
    if match is None:
        return at
    found.host = found.host or match[1]
    return match.end()


def _actor(text: str, at: int, found: Peeled) -> int:
    """`(Actor pid=12, ip=10.0.0.1) `, `(EngineCore_DP0 pid=77) `, `(raylet) `, SkyPilot's `(task, pid=7) `."""
    match = _ACTOR.match(text, at)
    if match is None:
        match = _RAY.match(text, at)
        if match is None:
            return at
        found.lane = found.lane or match["name"]
        return match.end()
    found.lane = found.lane or match["name"]
    found.pid = found.pid or int(match["pid"])
    found.host = found.host or match["ip"]
    if match["rank"]:
        found.say_rank(match["rank"])
    return match.end()


def _metaflow(text: str, at: int, found: Peeled) -> int:
    """`[177/train/577 (pid 28936)] `, with the id of a batch job behind it: the process is the one that watches."""
    match = _METAFLOW.match(text, at) if found.stamped else None
    return match.end() if match else at


def _label(text: str, at: int, found: Peeled) -> int:
    """`3: ` at the very beginning of a line."""
    match = LABEL.match(text) if at == 0 else None
    if match is None:
        return at
    found.labelled = found.rank is None
    found.say_rank(match[1])
    return match.end()


def _host(text: str, at: int, found: Peeled) -> int:
    """`node17: ` and `trainer-1  | `, where the name can hardly be a word of the message."""
    match = (COMPOSE.match(text) or HOST.match(text)) if at == 0 else None
    if match is None:
        return at
    found.host = match[1]
    return match.end()


def _rank_word(text: str, at: int, found: Peeled) -> int:
    """`rank 0: `, and Composer's `rank0[123][MainThread]: `."""
    match = _RANK_WORD.match(text, at)
    if match is None:
        return at
    found.say_rank(match[1])
    if match[2]:
        found.pid = int(match[2])
    return match.end()


def _syslog(text: str, at: int, found: Peeled) -> int:
    """`host kernel: ` and `host python[12]: ` behind a time; another daemon's name speaks in its message."""
    match = _SYSLOG.match(text, at) if found.stamped else None
    if match is None or not (match[2] or match[4] or found.dated):
        return at
    found.host = match[1]
    if match[2]:
        return match.end()
    if match[4]:
        found.pid = int(match[4])
    ident = _IDENT.match(text, match.end()) if _OWN.fullmatch(match[3]) else None
    found.closed = ident is None
    found.dated = False  # a host and a name stand once: what follows speaks (`iter 10: loss 2.3`)
    return ident.end() if ident else match.end()


def _facility(text: str, at: int, found: Peeled) -> int:
    """`kern  :err   : ` of `dmesg -x`."""
    match = _FACILITY.match(text, at)
    if match is None:
        return at
    found.say_level(match[1])
    return match.end()


def _talos(text: str, at: int, found: Peeled) -> int:
    """`10.0.0.7: kern: warning: ` of `talosctl dmesg`."""
    match = _TALOS.match(text) if at == 0 else None
    if match is None:
        return at
    found.host = match[1]
    found.say_level(match[2])
    return match.end()


def _priority(text: str, at: int, _found: Peeled) -> int:
    """`<6>` of `dmesg -r`."""
    match = _PRIORITY.match(text, at)
    return match.end() if match else at


def _determined(text: str, at: int, found: Peeled) -> int:
    """`a5884739 | ` and `a5884739 || ` behind a time: the container of a task of Determined, which may have a rank."""
    match = _DETERMINED.match(text, at) if found.stamped else None
    if match is None:
        return at
    if match["rank"]:
        found.say_rank(match["rank"])
    return match.end()


def _taskcluster(text: str, at: int, found: Peeled) -> int:
    """`[task 2025-06-09T01:25:20.048+00:00] ` and `[taskcluster:error] ` of Taskcluster."""
    match = _TASKCLUSTER.match(text) if at == 0 else None
    if match is None:
        return at
    found.time, found.stamped = leading_time(match["time"])[0], True
    return match.end()


def _titan(text: str, at: int, _found: Peeled) -> int:
    return at + 8 if text.startswith("[titan] ", at) else at


BRACKETED: tuple[Peeler, ...] = (_rank, _role, _pod, _mpi, _titan, _metaflow, _taskcluster)
LANES: tuple[Peeler, ...] = (_lane,)
ROUND: tuple[Peeler, ...] = (_actor,)
ANGLED: tuple[Peeler, ...] = (_priority,)
NUMBERED: tuple[Peeler, ...] = (_label, _talos, _host, _determined)
WORDED: tuple[Peeler, ...] = (_talos, _host, _rank_word, _facility, _syslog, _determined)
