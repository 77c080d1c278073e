"""The voice of torch.distributed's C++ side: process groups, their watchdog, the store.

    [rank1]:[E1129 12:56:00.42 ProcessGroupNCCL.cpp:689] [Rank 1] Watchdog caught collective
    operation timeout: WorkNCCL(SeqNum=25, OpType=ALLREDUCE, NumelIn=7, NumelOut=7,
    Timeout(ms)=20000) ran for 20020 milliseconds before timing out.

Events: `timeout` (one collective that did not end), `group-status` (how far the group
came), `heartbeat`, `dump` and `teardown` (what follows a failure), `watchdog` (the
watchdog thread met an error that is not a time-out), `bind`, `connect`, `store`,
`mismatch`, `desync`, `device-guess`. Source: pytorch torch/csrc/distributed/c10d, releases 1.13 to 2.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_WORK = lazy(
    r"Work[A-Z]?CCL\((?:SeqNum=(?P<seq>\d{1,18}), )?OpType=(?P<collective>\w+)"
    r"(?:, TensorShape=\[(?P<shape>[\d, ]*)\])?"
    r"(?:, NumelIn=(?P<numel_in>\d{1,18}), NumelOut=(?P<numel_out>\d{1,18}))?"
    r", Timeout\(ms\)=(?P<timeout_ms>\d{1,18})\) ran for (?P<ran_ms>\d{1,18}) milliseconds"
)
_STATUS = lazy(
    r"(?:work sequence id: |watchdog at work: |Timeout at NCCL work: )(?P<seq>\d{1,18})"
    r".{0,40}?[Ll]ast enqueued (?:NCCL )?work: (?P<enqueued>-?\d{1,18})"
    r", last completed (?:NCCL )?work: (?P<completed>-?\d{1,18})"
)
_GROUP = lazy(
    r"\[PG (?:ID )?(?P<pg>\d{1,18})(?: PG GUID (?P<guid>[\w:.-]{1,80}))?[^\]]{0,200}?Rank (?P<group_rank>\d{1,18})\]"
)
_DUMP_STATUS = lazy(
    r"Last enqueued NCCL work: (?P<enqueued>-?\d{1,18}), last completed NCCL work: (?P<completed>-?\d{1,18})"
)
_PORT = lazy(r"(?:\]:|0\.0\.0\.0:|port: ?)(?P<port>\d{1,5})\b")
_PEER = lazy(r"(?:connect to|host) [\[(]?(?P<node>[^\],() ]{1,200})[\])]?(?:, |:| and port |:\[)(?P<port>\d{1,5})")
_RANK = lazy(r"\[Rank (?P<rank>\d{1,18})\]")
_ERRNO = lazy(r"errno: (?P<errno>\d{1,18})")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("teardown", lazy(r"Some [A-Z]CCL operations have failed|To avoid (?:data|this) inconsistency, we are taking")),
    ("watchdog", lazy(r"watchdog thread terminated with exception")),
    ("group-status", _STATUS),
    ("heartbeat", lazy(r"Heartbeat monitor timed out|watchdog got stuck for|possible GIL induced hang")),
    ("dump", lazy(r"dump signal|to signal dumping|preparing to dump debug info|attempting to dump debug info")),
    ("mismatch", lazy(r"Detected mismatch between collectives|CollectiveFingerPrint\(")),
    ("desync", lazy(r"lagging/dead/mismatched ranks|joined but didn't finish|but didn't join collective")),
    ("bind", lazy(r"server socket has failed to (?:bind|listen)|EADDRINUSE")),
    ("connect", lazy(r"client socket (?:has |cannot )|TCP client failed to connect|cannot be retrieved \(gai")),
    ("store", lazy(r"(?:recv|send)\w{1,20} failed on Socket|should dump\" flag|[Ww]ait timeout after")),
    ("device-guess", lazy(r"devices? used by this process (?:are|is) currently unknown|Guessing device ID")),
    ("gloo", lazy(r"ProcessGroupGloo|Gloo connectFullMesh failed|Unable to resolve hostname to a \(local\) address")),
)  # fmt: skip


class C10d:
    """See the module's text."""

    speaker = "c10d"
    triggers = (
        "ProcessGroupNCCL",
        "ProcessGroupGloo",
        "collective operation timeout",
        "watchdog thread terminated",
        "[c10d]",
        "socket.cpp",
        "TCPStore",
        "mismatch between collectives",
        "lagging/dead/mismatched",
        "didn't join collective",
        "GIL induced hang",
        "CCL operations have failed",
        "taking the entire process down",
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line."""
        for record in records:
            if any(trigger in record.raw for trigger in self.triggers) and not _quoted(record):
                event = _read(record, context)
                if event:
                    yield event


def _quoted(record: Record) -> bool:
    """Tell the tail of a longer message: an exception or `what():` repeats the watchdog's sentence."""
    text = record.text.lstrip()
    return text.startswith(("what():", "Exception raised from", "frame #", "#", 'File "')) or bool(
        re.match(r"(?:\w+\.)+\w+(?:Error|Exception): ", text)
    )


def _read(record: Record, context: Context) -> Event | None:
    text = record.text
    work = _WORK.search(text)
    kind = next((name for name, pattern in _KINDS if pattern.search(text)), "timeout" if work else "")
    if work and "terminated with exception" not in text and "terminating the process" not in text:
        kind = "timeout"
    if not kind:
        return None
    fields: dict[str, Value] = {}
    for pattern in (_WORK, _STATUS, _DUMP_STATUS, _GROUP, _ERRNO):
        if found := pattern.search(text):
            fields |= {k: _number(v) for k, v in found.groupdict().items() if v is not None}
    if kind in {"bind", "connect", "gloo"}:
        for pattern in (_PEER, _PORT):
            if (found := pattern.search(text)) and "port" not in fields:
                fields |= {k: _number(v) for k, v in found.groupdict().items()}
    rank = record.rank
    if rank is None and isinstance(group := fields.get("group_rank"), int):
        rank = group
    if bracketed := _RANK.search(text):
        fields.setdefault("group_rank", int(bracketed["rank"]))
        rank = int(bracketed["rank"]) if rank is None else rank
    time = record.time
    if kind == "timeout" and time is not None and work:
        fields["waiting_since"] = time - int(work["ran_ms"]) / 1000
    return replace(quote("c10d", kind, [record], context, fields), rank=rank)


def _number(text: str) -> Value:
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else text


PARSER = C10d()
