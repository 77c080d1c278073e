"""NCCL's own lines.

    node1:693:901 [0] NCCL INFO comm 0x35 rank 0 nranks 8 ... - Init COMPLETE     (up to 2.25)
    [2026-11-29 12:55:15] node1:693:901 [0] misc/socket.cc:483 NCCL WARN ...        (2.26 on)

Events: `warn`, `init` (fields state START or COMPLETE, rank, nranks), `version`. A `warn`
about connecting has the interface that its process had chosen before, if that was told.
The rest of INFO is what healthy runs print and yields nothing. Source: NVIDIA/nccl
src/debug.cc and src/init.cc, 2.14 to 2.28.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_HEAD = lazy(
    r"(?P<host>[\w.\-]{1,255}):(?P<pid>\d{1,18}):(?P<tid>\d{1,18}) \[(?P<device>-?\d{1,18})\] "
    r"(?:(?P<where>[\w/.]{1,200}:\d{1,18}) )?NCCL (?P<level>WARN|INFO) (?P<text>.*)"
)
_LOOSE = lazy(r"NCCL (?P<level>WARN) (?P<text>.*)")
_INIT = lazy(r"rank (?P<rank>\d{1,18}) nranks (?P<world_size>\d{1,18}).{0,300} - Init (?P<state>START|COMPLETE)")
_CHOSEN = lazy(
    r"NCCL_SOCKET_IFNAME set (?:by environment )?to (?P<set>\S{1,64})"
    r"|Bootstrap ?: Using (?:\[0\])?(?P<used>[\w.-]{1,32}):"
)
_CONNECTING = lazy(r"interface found|[Cc]onnect(?: to|:| failed)")
_VERSION = lazy(r"NCCL version (?P<version>\d{1,18}\.\d{1,18}\.\d{1,18})")


class Nccl:
    """See the module's text."""

    speaker = "nccl"
    triggers = (
        "NCCL WARN",
        "Init COMPLETE",
        "Init START",
        "NCCL version ",
        "NCCL_SOCKET_IFNAME set",
        "NCCL INFO Bootstrap",
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line."""
        chosen: dict[tuple[str, str], str] = {}
        for record in records:
            if "NCCL" not in record.text:
                continue
            head = _HEAD.search(record.text)
            loose = None if head else _LOOSE.match(record.text.lstrip())
            found = head or loose
            if found and found["level"] == "WARN":
                used = chosen.get((head["host"], head["pid"])) if head and _CONNECTING.search(head["text"]) else None
                yield _event(record, context, "warn", found["text"], head, {"interface": used} if used else None)
            elif head and (choice := _CHOSEN.search(head["text"])):
                chosen[head["host"], head["pid"]] = choice["set"] or choice["used"]
            elif head and (init := _INIT.search(head["text"])):
                fields = {"state": init["state"], "nranks": int(init["world_size"])}
                yield _event(record, context, "init", head["text"], head, fields, int(init["rank"]))
            elif (
                version := _VERSION.match(head["text"] if head else record.text.lstrip())
            ) and record.line.column == 0:
                fields = {"name": "nccl", "version": version["version"]}
                yield _event(record, context, "version", record.text, head, fields)


def _event(
    record: Record,
    context: Context,
    kind: str,
    message: str,
    head: re.Match[str] | None,
    fields: dict[str, Value] | None = None,
    rank: int | None = None,
) -> Event:
    known: dict[str, Value] = dict(fields or {})
    event = quote("nccl", kind, [record], context, known, message=message)
    if head:
        known["device"] = int(head["device"])
        event = replace(event, host=head["host"], pid=int(head["pid"]), fields=known)
    return event if rank is None else replace(event, rank=rank)


PARSER = Nccl()
