"""What Slurm's own commands print about jobs and nodes: sacct, scontrol, squeue, sinfo."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from forensics.model import Context, Event, Value
from forensics.parsers.scheduler_record.telling import is_over, tell
from forensics.text.lazy import lazy
from forensics.text.timestamps import leading_time

STATES = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
    "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
    "CG": "COMPLETING", "CF": "CONFIGURING", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "RS": "RESIZING", "ST": "STOPPED",
    "SO": "STAGE_OUT", "RV": "REVOKED", "SE": "SPECIAL_EXIT",
}  # fmt: skip
_WORDS = frozenset(STATES.values())
_HEADER = lazy(r"\s*(?:JobID(?:Raw)?|JOBID)(?:[ |]|$)", re.IGNORECASE)
_RULE = lazy(r"-{2,}(?: -{2,})*\s*")
_JOB = lazy(r"(?P<job_id>\d{1,18})(?:_(?:\d{1,9}|\[[^\]]{1,80}\]))?(?:\+\d{1,6})?(?:\.(?P<step_id>\w{1,32}))?\+?")
_STATE = lazy(r"(?P<state>[A-Z_]{1,16})\+?(?: by (?P<by>\w{1,32}))?")
_EXIT = lazy(r"(?P<code>\d{1,3}):(?P<signal>\d{1,3})")
_DURATION = lazy(r"(?:(?P<d>\d{1,5})-)?(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,3}):(?P<s>\d\d)(?:\.\d{1,6})?")
_PAIR = lazy(r"(?P<key>[A-Za-z][\w:/]{1,40})=(?P<value>\S{0,2000})")
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "CONFIGURING"})
"""States of a job that was put back: what ended its last try is still what is to be told."""
_SEFF_JOB = lazy(r"Job ID: (?P<job_id>\d{1,18})\s*$")
_SEFF_STATE = lazy(r"State: (?P<state>[A-Z_]{2,16})(?: \(exit code (?P<code>\d{1,3})\))?\s*$")
_SEFF_LINES = 8
_OUT_OF_USE = lazy(r"REASON +(?P<user>USER) +TIMESTAMP +(?P<nodes>NODELIST)\s*$")
_LAST_SIGNAL = 64
_MOST_ROWS = 5000


def tables(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `job-state` for the rows of sacct (columns or bars) and of squeue."""
    told = list(_rows(lines, context))
    last = {name: at for at, (name, event) in enumerate(told) if event.fields["state"] not in _WAITING}
    for at, (name, event) in enumerate(told):
        # `sacct -D` and a `squeue` that is watched tell of every try of a job: the last one is the job's.
        whole = name.partition(".")[0]
        yield replace(event, kind="earlier-state") if at < max(last.get(name, -1), last.get(whole, -1)) else event


def _rows(lines: Sequence[str], context: Context) -> Iterator[tuple[str, Event]]:
    """Yield each row with the job, task and step that it is about."""
    columns: list[str] = []
    spans: list[tuple[int, int]] = []
    left = _MOST_ROWS
    for at, line in enumerate(lines):
        if len(line) > 4000:
            continue
        if _HEADER.match(line) and ("|" in line or len(line.split()) > 1):
            columns = [name.strip().lower() for name in (line.split("|") if "|" in line else line.split())]
            spans = []
        elif not columns:
            continue
        elif _RULE.fullmatch(line):
            spans = [match.span() for match in re.finditer(r"-+", line)]
        elif is_over(line):
            columns = []
        elif left:
            row = dict(zip(columns, _cells(line, columns, spans), strict=False))
            if fields := _row(row):
                left -= 1
                name = row.get("jobid", row.get("jobidraw", "")).strip()
                yield name, tell("job-state", lines, at, at, fields, context, _end(row, context))


def _cells(line: str, columns: list[str], spans: list[tuple[int, int]]) -> list[str]:
    if "|" in line:
        return [cell.strip() for cell in line.split("|")]
    if spans:  # fixed columns, as wide as the dashes below the header; the last one may be longer
        ends = [*(end for _, end in spans[:-1]), len(line)]
        return [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
    return line.split(None, len(columns) - 1)


def _row(row: dict[str, str]) -> dict[str, Value]:
    """Return the facts of a row, or none where it has no job or no state."""
    job = _JOB.fullmatch(row.get("jobid", row.get("jobidraw", "")).strip())
    state, by = _state(row.get("state", row.get("st", "")))
    if job is None or state is None or (job["step_id"] or "").startswith("ext"):
        return {}  # in the step "extern" is what somebody did on the node beside the job
    node = row.get("nodelist", row.get("nodelist(reason)", ""))
    reason = row.get("reason", "")
    if node.startswith("("):
        node, reason = "", node.strip("()")
    return {
        "job_id": int(job["job_id"]),
        "step_id": job["step_id"],
        "state": state,
        "cancelled_by": by,
        **_exit(row.get("exitcode", "")),
        "reason": reason if reason not in {"", "None"} else None,
        "node": node if node not in {"", "None assigned"} else None,
        "name": row.get("jobname", row.get("name")) or None,
        "user": row.get("user") or None,
        "elapsed_ms": _duration(row.get("elapsed", row.get("time", ""))),
        "time_limit_ms": _duration(row.get("timelimit", row.get("time_limit", ""))),
    }


def _state(text: str) -> tuple[str | None, str | None]:
    """Read `CANCELLED by 1000`, `OUT_OF_ME+`, `CD` as a state and who cancelled."""
    match = _STATE.fullmatch(text.strip())
    if match is None:
        return None, None
    word = STATES.get(match["state"], match["state"])
    if word not in _WORDS:
        whole = [state for state in sorted(_WORDS) if state.startswith(word)] if len(word) > 3 else []
        word = whole[0] if whole else ""
    return word or None, match["by"]


def _exit(text: str) -> dict[str, Value]:
    """Read `1:0` and `0:9`; in `0:125`, 125 is not a signal but Slurm's word for out of memory."""
    match = _EXIT.fullmatch(text.strip())
    if match is None:
        return {}
    signal = int(match["signal"])
    return {"exit_code": int(match["code"]), "signal": signal if 0 < signal <= _LAST_SIGNAL else None}


def _duration(text: str) -> int | None:
    """Read `2-16:46:05`, `01:41:22`, `31:07` as milliseconds."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    days, hours = int(match["d"] or 0), int(match["h"] or 0)
    return (((days * 24 + hours) * 60 + int(match["m"])) * 60 + int(match["s"])) * 1000


def _end(row: dict[str, str], context: Context) -> float | None:
    return leading_time(row.get("end", row.get("endtime", "")), utc_offset_s=context.utc_offset_s)[0]


def efficiency(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `job-state` for what `seff` prints: `Job ID: 7`, and `State: TIMEOUT (exit code 0)` a few lines below."""
    job: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        if match := _SEFF_JOB.match(line):
            job = at, match["job_id"]
        elif job and at - job[0] < _SEFF_LINES and (match := _SEFF_STATE.match(line)):
            state, _ = _state(match["state"])
            if state:
                fields: dict[str, Value] = {"job_id": int(job[1]), "state": state}
                if match["code"]:
                    fields["exit_code"] = int(match["code"])
                yield tell("job-state", lines, job[0], at, fields, context)
            job = None


def reasons(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `node-state` for the rows of `sinfo -R`: why nodes are out of use."""
    starts: tuple[int, int] | None = None
    for at, line in enumerate(lines):
        if match := _OUT_OF_USE.match(line):
            starts = match.start("user"), match.start("nodes")
        elif not line.strip():
            starts = None
        elif starts and len(line) < 4000 and (nodes := line[starts[1] :].strip()):
            fields: dict[str, Value] = {"node": nodes, "reason": line[: starts[0]].strip()}
            yield tell("node-state", lines, at, at, fields, context)


def records(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `job-state` and `node-state` for what `scontrol show` prints: `Key=Value`, a block each."""
    first = 0
    pairs: dict[str, str] = {}
    for at, line in enumerate([*lines, "JobId=0"]):
        found = [(m["key"], m["value"]) for m in _PAIR.finditer(line[:8000])]
        begins = bool(found) and found[0][0] in {"JobId", "NodeName"} and not line.startswith(" ")
        if begins or (not line.strip() and pairs):
            yield from _record(pairs, lines, first, at - 1, context)
            pairs, first = {}, at
        if begins or pairs:
            for key, value in found:
                pairs.setdefault(key, value)
            reason = re.match(r"\s*Reason=(?P<reason>.{1,400})", line)
            if reason and "NodeName" in pairs:
                pairs["Reason"] = reason["reason"]


def _record(pairs: dict[str, str], lines: Sequence[str], first: int, last: int, context: Context) -> Iterator[Event]:
    while last > first and not lines[last].strip():
        last -= 1
    if "NodeName" in pairs and "State" in pairs:
        node: dict[str, Value] = {"node": pairs["NodeName"], "state": pairs["State"], "reason": pairs.get("Reason")}
        yield tell("node-state", lines, first, last, node, context)
        return
    state, by = _state(pairs.get("JobState", ""))
    job = _JOB.fullmatch(pairs.get("JobId", ""))
    if state is None or job is None:
        return
    reason = pairs.get("Reason", "")
    fields: dict[str, Value] = {
        "job_id": int(job["job_id"]),
        "state": state,
        "cancelled_by": by,
        **_exit(pairs.get("ExitCode", "")),
        "reason": reason if reason not in {"", "None"} else None,
        "node": pairs.get("BatchHost") or pairs.get("NodeList") or None,
        "name": pairs.get("JobName") or None,
        "user": pairs.get("UserId", "").partition("(")[0] or None,
        "elapsed_ms": _duration(pairs.get("RunTime", "")),
        "time_limit_ms": _duration(pairs.get("TimeLimit", "")),
        "output_path": pairs.get("StdOut") or None,
    }
    end, _ = leading_time(pairs.get("EndTime", ""), utc_offset_s=context.utc_offset_s)
    yield tell("job-state", lines, first, last, fields, context, end)
