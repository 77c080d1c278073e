"""What kubectl prints about pods: `describe pod`, `get pods`, `get events`, `get pod -o yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from forensics.model import Context, Event, Value
from forensics.parsers.scheduler_record.telling import columns, is_over, tell
from forensics.text.lazy import lazy
from forensics.text.timestamps import leading_time

_PAIR = lazy(r"(?P<indent> {0,40})(?:- )?(?P<key>[A-Za-z][A-Za-z ]{0,40}):\s*(?P<value>.{0,2000})")
_CONTAINER = lazy(r"  (?P<name>[a-z0-9][\w.-]{0,100}):\s*$")
_QUANTITY = lazy(r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?P<suffix>m|[kKMGTPE]i?|)")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_PODS = lazy(r"(?:NAMESPACE +)?NAME +READY +STATUS +RESTARTS")
_EVENTS = lazy(r"\s*(?:NAMESPACE +)?(?:LAST SEEN +TYPE +REASON +OBJECT|Type +Reason +Age)")
_CALM = frozenset(
    {"Running", "Completed", "Succeeded", "Pending", "ContainerCreating", "Terminating", "PodInitializing"}
)
_RESTARTED = lazy(r"\((?P<ago>(?:\d{1,6}[ydhms]){1,3}) ago\)")
_SECONDS = {"y": 365 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1}
_TELLING = frozenset({"Preempted", "Evicted", "TaintManagerEviction", "NodeShutdown"})
"""Reasons of events that Kubernetes files as Normal, though they end the pod."""
_STARTED = frozenset({"Scheduled", "Pulled", "Created", "Started"})
_DONE = frozenset({"AllJobsCompleted", "PyTorchJobSucceeded", "JobSucceeded", "TFJobSucceeded", "MPIJobSucceeded"})
"""Reasons of events of a controller whose job came to its end, whatever became of single pods on the way."""
_WAITED = ("FailedScheduling", "FailedMount", "FailedCreatePodSandBox", "Failed to pull", "Back-off pulling")
"""What warnings say that a pod's start answers: it waited, and then ran."""
_DISRUPTED = lazy(
    r"\s{0,40}(?:- )?\"?reason\"?: \"?(?P<reason>EvictionByEvictionAPI|DeletionByTaintManager|DeletionByPodGC"
    r"|TerminationByKubelet|PreemptionBy(?:Kube)?Scheduler)\"?,?\s*"
)
_GPU = lazy(r"\s{0,40}\S{1,60}\.com/(?:gpu|mig-\S{1,20}|tpu): {0,20}\"?[1-9]", re.IGNORECASE)
_MOST = 2000


def quantity(text: str) -> int | None:
    """Read a Kubernetes quantity (`64Gi`, `512M`, `1500m`) in its base unit: bytes, of memory.

    `Gi` counts in powers of 1024, `G` in powers of 1000.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    number, suffix = float(match["number"]), match["suffix"]
    if suffix == "m":
        return int(number / 1000)
    power = _POWERS.get(suffix[:1].lower(), 0)
    return int(number * (1024 if suffix.endswith("i") else 1000) ** power)


class _State(Struct):
    """How a container is, or was: the lines below `State:` or `Last State:`."""

    first: int
    last: int
    phase: str
    fields: dict[str, Value] = field(default_factory=dict)
    finished: str = ""
    earlier: bool = False


class _Description(Struct):
    """A pod as far as it has been read, from `describe` or from YAML."""

    pod: dict[str, Value] = field(default_factory=dict)
    reason_at: tuple[int, int] | None = None
    section: str = ""
    container: str | None = None
    limits: dict[str | None, int | None] = field(default_factory=dict)
    limited: bool = False
    with_gpu: set[str | None] = field(default_factory=set)
    states: list[tuple[str | None, _State]] = field(default_factory=list)
    open_state: tuple[int, _State] | None = None  # with its indentation
    looks: dict[str, dict[str, str]] = field(default_factory=dict)

    def read(self, at: int, line: str) -> None:
        """Take one line."""
        if _GPU.match(line):
            self.with_gpu.add(self.container)
        elif (named := _CONTAINER.fullmatch(line.rstrip())) and self.section == "containers":
            self.container, self.open_state = named["name"], None
        pair = _PAIR.fullmatch(line.rstrip())
        if pair is None:
            return
        indent, value = len(pair["indent"]), pair["value"].strip().strip("\"'")
        key = re.sub(r"\s", "", pair["key"]).lower()
        if self.open_state and indent <= self.open_state[0]:
            self.open_state = None
        if indent == 0 or (indent == 2 and self.section in {"metadata", "spec", "status"}):
            self._of_pod(at, indent, key, value)
        if self.open_state:
            _of_state(self.open_state[1], key, value, at)
        elif key in {"state", "laststate", "terminated", "waiting"}:
            state = _State(at, at, value or key.capitalize(), earlier=key == "laststate")
            self.open_state = indent, state
            self.states.append((self.container, state))
        elif key in {"ready", "restartcount"} and self.container:
            self.looks.setdefault(self.container, {})[key] = value
        elif key in {"limits", "requests"}:
            self.limited = key == "limits"
        elif key == "memory" and self.limited:
            self.limits[self.container] = quantity(value)

    def _of_pod(self, at: int, indent: int, key: str, value: str) -> None:
        if indent == 0 and not value:
            self.section, self.container = key, None
            return
        name = {"nodename": "node", "phase": "status"}.get(key, key)
        if name not in {"name", "namespace", "node", "status", "reason", "message"} or not value or name in self.pod:
            return
        self.pod[name] = value
        if name in {"reason", "message"}:
            self.reason_at = (self.reason_at[0] if self.reason_at else at), at


def describe(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `pod-state` for the pod where it says why it ended, and for each container that ended or waits."""
    found = _Description()
    for at, line in enumerate(lines):
        if len(line) >= 2500:
            continue
        if line.startswith("Name:") and "name" in found.pod:  # `describe pods` prints one below the other
            yield from _described(found, lines, context)
            found = _Description()
        found.read(at, line)
    yield from _described(found, lines, context)


def _described(found: _Description, lines: Sequence[str], context: Context) -> Iterator[Event]:
    pod = found.pod
    if found.reason_at and "name" in pod and pod.keys() & {"status", "namespace", "node"}:
        fields = {"pod": pod.get("name"), **{k: pod.get(k) for k in ("status", "reason", "message", "node")}}
        yield tell("pod-state", lines, *found.reason_at, fields, context)
    yield from _at_work(found, lines, context)
    done = {name for name, state in found.states if not state.earlier and state.fields.get("exit_code") == 0}
    running = {name for name, state in found.states if not state.earlier and state.phase.startswith("Running")}
    for name, state in found.states[:_MOST]:
        if state.earlier and (name in done or (name in running and state.fields.get("exit_code") == 0)):
            continue  # it was started anew, and came to a good end, or had come to one before
        # Beside a container that has GPUs, one without any is a sidecar: what ends it is not what ends the training.
        if not found.with_gpu or name in found.with_gpu:
            yield from _container(name, found.limits.get(name), state, pod, lines, context)


def _at_work(found: _Description, lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `pod-listed` of a pod that runs, as a row of `get pods` would show it."""
    running = [state for _, state in found.states if state.phase.startswith("Running") and not state.earlier]
    if found.pod.get("status") != "Running" or not running or not found.looks:
        return
    counts = [look.get("restartcount", "") for look in found.looks.values()]
    # Of the last restart it is told how the container before it ended; whose own end that was, it was no fault.
    well = sum(state.earlier and state.fields.get("exit_code") == 0 for _, state in found.states)
    fields: dict[str, Value] = {
        "pod": found.pod.get("name"),
        "phase": "Running",
        "ready": all(look.get("ready") == "True" for look in found.looks.values()),
        "restarts": sum(map(int, counts)) - well if all(c.isdecimal() and len(c) < 9 for c in counts) else None,
    }
    yield tell("pod-listed", lines, running[0].first, running[0].first, fields, context)


def _of_state(state: _State, key: str, value: str, at: int) -> None:
    if key == "reason" and value:
        state.fields["reason"] = value
    elif key == "exitcode" and value.isdecimal() and len(value) < 6:
        state.fields["exit_code"] = int(value)
    elif key == "signal" and value.isdecimal() and len(value) < 4:
        state.fields["signal"] = int(value)
    elif key == "message" and value:
        state.fields["message"] = value
    elif key in {"finished", "finishedat"}:
        state.finished = value
    elif key == "terminated":
        state.phase = "Terminated"
    elif key not in {"started", "startedat", "containerid"}:
        return
    state.last = at


def _container(
    name: str | None, limit: int | None, state: _State, pod: dict[str, Value], lines: Sequence[str], context: Context
) -> Iterator[Event]:
    if state.phase.startswith("Running") or not state.fields:
        return
    code, signal = state.fields.get("exit_code"), state.fields.get("signal")
    if isinstance(code, int) and 128 < code <= 192 and not signal:
        signal = code - 128
    fields: dict[str, Value] = {
        "container": name,
        "pod": pod.get("name"),
        "node": pod.get("node"),
        "state": state.phase,
        **state.fields,
        "signal": signal or None,
        "limit_bytes": limit,
    }
    time = leading_time(state.finished, utc_offset_s=context.utc_offset_s)[0] if state.finished else None
    yield tell("pod-state", lines, state.first, state.last, fields, context, time)


def tables(lines: Sequence[str], context: Context) -> Iterator[Event]:
    """Yield `pod-state` for the rows of `get pods` that are not well, and `pod-event` for warnings."""
    starts: dict[str, int] = {}
    pods = False
    told: list[tuple[bool, Event]] = []
    started = False
    for at, line in enumerate(lines[: _MOST * 10]):
        if len(line) > 4000:
            continue
        if _PODS.match(line) or _EVENTS.match(line):
            pods = _PODS.match(line) is not None
            starts = {match[0].strip().lower(): match.start() for match in re.finditer(r"\S+(?: \S+)*", line)}
        elif is_over(line):
            starts = {}
        elif starts and not line.lstrip().startswith("----"):
            row = columns(line, starts)
            if pods and row.get("status", "") and row["status"] not in _CALM:
                fields: dict[str, Value] = {"pod": row.get("name"), "reason": row["status"], "restarts": _count(row)}
                yield tell("pod-state", lines, at, at, fields, context)
            elif pods and row.get("name"):
                fields = {
                    "pod": row["name"],
                    "restarts": _count(row),
                    "restarted_s": _since_restart(row),
                    "phase": row.get("status"),
                    "ready": _ready(row),
                }
                yield tell("pod-listed", lines, at, at, fields, context)
            elif not pods and row.get("reason") in _STARTED:
                started = True
            elif not pods and row.get("reason") in _DONE:
                yield tell("pod-state", lines, at, at, {"state": "Succeeded", "reason": row["reason"]}, context)
            elif not pods and (row.get("type") == "Warning" or row.get("reason") in _TELLING):
                fields = {"reason": row.get("reason"), "object": row.get("object"), "message": row.get("message")}
                waited = any(words in line for words in _WAITED)
                told.append((waited, tell("pod-event", lines, at, at, fields, context)))
        if match := _DISRUPTED.fullmatch(line):
            told.append((False, tell("pod-event", lines, at, at, {"reason": match["reason"]}, context)))
    yield from (event for waited, event in told if not (waited and started))


def _ready(row: dict[str, str]) -> bool:
    """Tell whether all containers of a pod are: `1/1`."""
    ready, _, wanted = row.get("ready", "").partition("/")
    return ready.isdecimal() and ready == wanted and ready != "0"


def _since_restart(row: dict[str, str]) -> int | None:
    """Return how long ago a pod was last started anew, as far as `3 (6d4h ago)` tells: the longest it can mean."""
    found = _RESTARTED.search(row.get("restarts", ""))
    if found is None:
        return None
    parts = re.findall(r"(\d{1,6})([ydhms])", found["ago"])
    return sum(int(count) * _SECONDS[unit] for count, unit in parts) + _SECONDS[parts[-1][1]]


def _count(row: dict[str, str]) -> int | None:
    first = row.get("restarts", "").split(" ")[0]
    return int(first) if first.isdecimal() and len(first) < 9 else None
