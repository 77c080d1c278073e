"""The launcher's voice: what the elastic agent saw of its workers.

    E1129 12:55:16.518000 583 torch/distributed/elastic/multiprocessing/api.py:986] failed
    (exitcode: -9) local_rank: 1 (pid: 697) of binary: /usr/bin/python
    ...
    Root Cause (first observed failure):
    [0]:
      rank      : 1 (local_rank: 1)
      exitcode  : -9 (pid: 697)

Events: `failed` (a worker ended badly), `failure` (an entry of the closing report;
field root_cause), `closing` (the agent terminates the others), `death-signal` (the
agent itself was told to end), `restart`, `finished`, `rendezvous`. The order in the
report is that of the agent's polling, so it proves less than a message of the rank
itself. Source: torch/distributed/elastic, unchanged in shape from 1.9 to 2.11;
accelerate and deepspeed launchers end in the same words or in their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_FAILED = lazy(
    r"failed \(exitcode: (?P<exit_code>-?\d{1,18})\) local_rank: (?P<local_rank>\d{1,18}) \(pid: (?P<pid>\d{1,18})\)"
)
_CLOSING = lazy(r"Sending process (?P<pid>\d{1,18}) closing signal (?P<signal>\w+)")
_DEATH = lazy(
    r"Received (?:Signals\.\w+: )?(?P<signal>\d{1,3}) death signal|Received (?:Signals\.)?(?P<name>SIG\w+) death signal"
)
_RESTART = lazy(r"(?P<left>\d{1,18})/\d{1,18} attempts left; will restart worker group|Restarting worker group")
_FINISHED = lazy(r"worker group successfully finished")
_KILLING = lazy(
    r"Killing subprocess (?P<pid>\d{1,18})|(?:(?P<other>\d{1,18}) )?exits with return code = (?P<exit_code>-?\d{1,18})"
)
_RENDEZVOUS = lazy(r"has failed to (?:send a keep-alive heartbeat to|shutdown) the rendezvous|Detected dead node")
_ENTRY = lazy(r"\[(?P<index>\d{1,18})\]:\s*$")
_FIELD = lazy(r"\s+(?P<key>time|host|rank|exitcode|error_file|traceback)\s*: (?P<value>.*)")
_RANK = lazy(r"(?P<rank>\d{1,18}) \(local_rank: (?P<local_rank>\d{1,18})\)")
_EXIT = lazy(r"(?P<exit_code>-?\d{1,18}) \(pid: (?P<pid>\d{1,18})\)")
_SIMPLE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("failed", _FAILED),
    ("closing", _CLOSING),
    ("death-signal", _DEATH),
    ("restart", _RESTART),
    ("finished", _FINISHED),
    ("rendezvous", _RENDEZVOUS),
    ("launcher", _KILLING),
)


class _Entry(Struct):
    first: Record
    root_cause: bool
    last: Record
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


class Torchrun:
    """See the module's text."""

    speaker = "torchrun"
    triggers = (
        "failed (exitcode: ",
        "closing signal ",
        "death signal, shutting down",
        "attempts left; will restart",
        "Restarting worker group",
        "worker group successfully finished",
        "Root Cause (first observed failure)",
        "Failures:",
        "  exitcode  : ",
        "  rank      : ",
        "Killing subprocess ",
        " exits with return code = ",
        "the rendezvous '",
        "Detected dead node",
    )
    follow = 9
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        entry: _Entry | None = None
        report = ""
        for record in records:
            text = record.text
            if "Root Cause (first observed failure)" in text:
                report = "root"
            elif text.strip() == "Failures:":
                report = "others"
            if entry and (record.line.gap or not _FIELD.match(text)):
                yield from _close(entry, context)
                entry = None
            if report and _ENTRY.match(text.strip()):
                entry = _Entry(record, report == "root", record)
            elif entry and (found := _FIELD.match(text)):
                entry.values[found["key"]] = found["value"]
                entry.lines.append(record.raw)
                entry.last = record
            elif event := _simple(record, context):
                yield event
        if entry:
            yield from _close(entry, context)


def _simple(record: Record, context: Context) -> Event | None:
    for kind, pattern in _SIMPLE:
        found = pattern.search(record.text)
        if not found:
            continue
        fields: dict[str, Value] = {
            k: int(v) if v.lstrip("-").isdigit() else v for k, v in found.groupdict().items() if v is not None
        }
        if isinstance(code := fields.get("exit_code"), int) and code < 0:
            fields["signal"] = -code
        return replace(quote("torchrun", kind, [record], context, fields), pid=_pid(fields))
    return None


def _close(entry: _Entry, context: Context) -> Iterator[Event]:
    """Yield the report's entry if it names an exit code."""
    code = _EXIT.match(entry.values.get("exitcode", ""))
    if not code:
        return
    rank = _RANK.match(entry.values.get("rank", ""))
    fields: dict[str, Value] = {
        "exit_code": int(code["exit_code"]),
        "pid": int(code["pid"]),
        "root_cause": entry.root_cause,
        "traceback": entry.values.get("traceback", ""),
    }
    if int(code["exit_code"]) < 0:
        fields["signal"] = -int(code["exit_code"])
    if rank:
        fields["local_rank"] = int(rank["local_rank"])
    yield Event(
        speaker="torchrun",
        kind="failure",
        path=context.source.path,
        line=entry.first.line.number,
        end_line=entry.last.line.end,
        text="\n".join([entry.first.raw, *entry.lines]),
        message="\n".join(f"{k}: {v}" for k, v in entry.values.items()),
        time=_time(entry.values.get("time", ""), context),
        rank=int(rank["rank"]) if rank else None,
        host=entry.values.get("host"),
        pid=int(code["pid"]),
        fields=fields,
    )


def _pid(fields: dict[str, Value]) -> int | None:
    pid = fields.get("pid")
    return pid if isinstance(pid, int) else None


def _time(text: str, context: Context) -> float | None:
    try:
        moment = datetime.strptime(text.strip(), "%Y-%m-%d_%H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp() - context.utc_offset_s


PARSER = Torchrun()
