"""Slurm's voice in a job's output: slurmstepd, srun, salloc, sbatch.

    slurmstepd: error: *** STEP 494583.0 ON gpu-c14 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***
    srun: error: gpu-c14: tasks 0-3: Exited with exit code 1

Events: `cancelled` (field reason: `TIME LIMIT`, `PREEMPTION`, `NODE FAILURE`, ..., absent
where none is given), `failed`, `reason`, `task-exit`, `oom`, `memory-limit`,
`submit-refused`, `node-failure`, `force-terminated`, `stepd-terminated`, `interrupted`,
`exec-failed`, `output-missing`, `container-failed`. Formats: SchedMD slurm 2.x to 26.05 (req.c,
step_terminate_monitor.c, task_cgroup_memory.c, jobacct_gather.c, srun/launch.c).
What stands in the log of slurmd, which speaks of every job of the node, has the field `daemon`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote
from forensics.text.signals import SIGNALS
from forensics.text.timestamps import leading_time

_HEAD = r"(?:slurmstepd(?:-[\w.-]{1,64})?|srun|salloc|sbatch): (?:error: |fatal: |warning: |info: )?"
# In the log of slurmd each step has its number instead: `[41902.batch] error: `.
_STEPD = r"(?:" + _HEAD + r"|\[(?P<job_id>\d{1,18})(?:_\d{1,9})?\.(?P<step_id>\w{1,32})\] (?:error|fatal): )"
_ENTITY = r"(?:JOB|STEP) (?:StepId=|JobId=)?(?P<job_id>\d{1,18})(?:[_+]\d{1,9})?(?:\.(?P<step_id>\w{1,32}))?"
_STEP = r"(?:StepId=|[Ss]tep |JobId=|[Jj]ob )?(?P<job_id>\d{1,18})(?:[_+]\d{1,9})?(?:\.(?P<step_id>\w{1,32}))?"
_SIGNAL = lazy(r"SIGNAL (\d{1,3}|\w[\w ]{2,30})")
_SIGNALS = {**SIGNALS, "Broken pipe": 13}


def _form(kind: str, *parts: str) -> tuple[str, re.Pattern[str]]:
    return kind, lazy("".join(parts))


# The first pattern that is found in the line decides.
_FORMS = (
    _form(
        "cancelled",
        # Before 15.08 the node stood in the head, not in the message.
        rf"\*\*\* {_ENTITY}(?: ON (?P<node>\S{{1,256}}))? (?:CANCELLED|KILLED) AT (?P<time>[\dT:.+-]{{10,40}}?)",
        r"(?: (?:DUE [Tt][Oo]|WITH) (?P<reason>[^*]{1,200}?))?(?: on \S{1,256})?(?: \*{1,3}|$)",
    ),
    _form(
        "stepd-terminated",
        rf"\*\*\* {_ENTITY} STEPD TERMINATED ON (?P<node>\S{{1,256}}) AT (?P<time>[\dT:.+-]{{10,40}})",
        r" DUE TO (?P<reason>[^*]{1,200}?)(?: \*\*\*|$)",
    ),
    _form("failed", rf"\*\*\* {_ENTITY} ON (?P<node>\S{{1,256}}) FAILED \((?P<reason>[^)]{{1,200}})\)"),
    _form("reason", _HEAD + r"\*\*\* REASON: (?P<reason>.{1,400}?) \*\*\*"),
    _form(
        "task-exit",
        r"srun: error: (?P<host>[\w.-]{1,256}): tasks? (?P<tasks>[\d,-]{1,4000}): ",
        rf"(?:Exited with exit code (?P<exit_code>\d{{1,5}})|(?P<reason>Out Of Memory|{'|'.join(_SIGNALS)})",
        r"(?P<core> \(core dumped\))?)",
    ),
    _form("oom", rf"{_HEAD}Detected (?P<count>\d{{1,9}}) oom[-_]kill events?(?:\(s\))? in {_STEP}"),
    _form(
        "memory-limit",
        rf"{_HEAD}(?:{_STEP} )?[Ee]xceeded (?:job |step )?memory limit",
        r"(?: \((?P<used>\d{1,18}) > (?P<limit>\d{1,18})\))?",
    ),
    _form(
        "submit-refused",
        r"(?:srun|salloc|sbatch): (?:error: |fatal: )(?:Batch job submission failed|Unable to allocate resources",
        r"|Job submit/allocate failed|Unable to create step for job (?P<job_id>\d{1,18})",
        r"|Unable to open file|Batch script contains|Unable to confirm allocation for job)",
        r"[:, ]{1,2}(?P<reason>.{1,400})",
    ),
    _form(
        "submit-refused",
        r"(?:srun|salloc|sbatch): (?:error|fatal): ",
        r"(?P<reason>Invalid (?:generic resource|partition|qos|account|time|--)"
        r"|invalid number of|CPU count per node can not be|Memory specification can not be|No command given to execute"
        r"|This does not look like a batch script|SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU"
        r"|Required node not available|Job submission failed).{0,300}",
    ),
    _form("submit-refused", r"(?:srun|salloc|sbatch): (?P<reason>(?:unrecognized|invalid|ambiguous) option .{1,200})"),
    _form("submit-refused", r"(?:srun|salloc|sbatch): (?P<reason>option '?.{1,60} requires an argument)"),
    _form(
        "container-failed",
        _HEAD
        + r"pyxis: (?P<reason>(?:couldn't start container|failed to import|failed to create|child \d+ failed).{0,200})",
    ),
    _form("container-failed", _HEAD + r"(?P<reason>Failed to invoke spank plugin stack)"),
    _form("node-failure", r"(?:srun|salloc): error: Node failure on (?P<node>\S{1,1000})"),
    _form(
        "node-failure",
        r"srun: error: Aborting, (?P<reason>(?:io error|step missing).{1,80}?) on node (?P<node>\S{1,64})",
    ),
    _form("exec-failed", _STEPD + r"execve\(\): (?P<missing_path>.{1,1000}?): (?P<reason>[A-Z][\w ]{2,80})"),
    _form(
        "output-missing",
        _STEPD
        + r"Could not open (?:stdout|stderr|stdin) file (?P<missing_path>.{1,1000}?): (?P<reason>[A-Z][\w ]{2,80})",
    ),
    _form("interrupted", r"srun: (?:interrupt \(one more within|sending Ctrl-C to)"),
    _form(
        "force-terminated",
        r"(?:srun: (?:error: )?(?:Force Terminated|Terminating|Job step aborted|Timed out waiting for job step",
        rf"|forcing job termination)|salloc: Job allocation \d+ has been revoked)(?:.{{0,4}}?{_STEP})?",
    ),
)
_NUMBERS = frozenset({"job_id", "count", "exit_code", "used", "limit"})
_OF_STEPS = (
    "] error: Could not open std",
    "] fatal: Could not open std",
    "] error: execve(): ",
    "] fatal: execve(): ",
)
"""What slurmd's log says of a step, without any of Slurm's names."""
_MOST_TASKS = 4096
_QUOTING = frozenset({"debug", "info", "warning"})


class Slurm:
    """See the module's text."""

    speaker = "slurm"
    triggers: tuple[str, ...] = ("slurmstepd", "srun: ", "salloc: ", "sbatch: ", "*** JOB ", "*** STEP ", *_OF_STEPS)
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        for record in records:
            if record.level in _QUOTING:
                continue  # a program's log about Slurm is not Slurm
            # The number of a step looks like any logger's bracket, and is peeled off as one.
            text = record.raw if any(words in record.raw for words in _OF_STEPS) else record.text
            for kind, pattern in _FORMS:
                if match := pattern.search(text):
                    yield _event(kind, match, record, context)
                    break


def _event(kind: str, match: re.Match[str], record: Record, context: Context) -> Event:
    groups = match.groupdict()
    fields: dict[str, Value] = {k: int(v) if k in _NUMBERS else v for k, v in groups.items() if v is not None}
    if kind in {"exec-failed", "output-missing"} and "job_id" in fields:
        fields["daemon"] = True
    time = None
    if printed := groups.get("time"):
        del fields["time"]
        time, _ = leading_time(printed, utc_offset_s=context.utc_offset_s)
    reason = groups.get("reason")
    if reason:
        fields["reason"] = reason.split(", SEE ")[0].strip()
        if found := _SIGNAL.match(reason):
            fields["signal"] = int(found[1]) if found[1].isdecimal() else _SIGNALS.get(found[1])
    if kind == "task-exit":
        fields["tasks"] = _expand(groups["tasks"] or "")
        fields["signal"] = _SIGNALS.get(reason or "")
        fields["core_dumped"] = True if fields.pop("core", None) else None
    return quote("slurm", kind, [record], context, fields, time=time)


def _expand(tasks: str) -> tuple[int, ...]:
    """Read a list such as `0-3,7`; what is no list gives nothing."""
    found: list[int] = []
    for part in tasks.split(","):
        low, _, high = part.partition("-")
        if not low.isdecimal() or len(low) > 9 or (high and (not high.isdecimal() or len(high) > 9)):
            continue
        last = int(high) if high else int(low)
        found += range(int(low), min(last, int(low) + _MOST_TASKS) + 1)
        if len(found) > _MOST_TASKS:
            break
    return tuple(found[:_MOST_TASKS])


PARSER = Slurm()
