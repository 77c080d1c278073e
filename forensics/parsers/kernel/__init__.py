"""The kernel's voice: GPU faults, kills for memory, crashes, stalled storage, lost links.

    [Fri May  3 02:12:44 2024] NVRM: Xid (PCI:0000:bd:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable ...

Events: `xid`, `sxid`, `nvrm` and `amdgpu` (field topic), `oom-kill`, `oom-unit`, `segfault`,
`hung-task`, `nfs`, `nfs-ok`, `lustre`, `pids-cgroup`, `net-link`, `fs-readonly`, `io-error`,
`panic`, `core-dump`. In a kernel log every line is the kernel's; in other files only
lines with a kernel's or driver's head are. Formats: NVIDIA open kernel modules 515 to
595 (kernel_rc.c), Linux fault.c, traps.c, hung_task.c, clnt.c, pids.c, oom_kill.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from forensics.model import Context, Event, Hears, Record, Value
from forensics.parsers.kernel.forms import FORMS, NUMBERS
from forensics.parsers.kernel.oom import TRIGGERS, Report
from forensics.parsers.kernel.voice import Spoken, listen
from forensics.text.lazy import lazy
from forensics.text.quote import quote
from forensics.text.xids import XIDS

_XID = lazy(
    r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9A-Fa-f:.]{5,20})"
    r"(?: GPU-I:(?P<gi>\d{1,3}))?(?: GPU-CI:(?P<ci>\d{1,3}))?\): (?P<xid>\d{1,5})(?:, |$)"
    r"(?:pid=(?P<pid>\d{1,9}|'?<unknown>'?)(?:, |$))?(?:name=(?P<name>[^,]{0,64})(?:, |$))?(?P<detail>.*)"
)
_PREVIOUS = lazy(r" caused by previous Xid (?P<previous_xid>\d{1,5})")
_GAP = r"(?:\s|#01[12]|NVRM: )+"
"""Between the lines of one message; rsyslog writes their ends as #012."""
_MISMATCH = lazy(
    rf"(?:client '(?P<name>[^']{{0,64}})' \(pid (?P<pid>\d{{1,9}})\)|client){_GAP}has the version "
    rf"(?P<library>[\d.]{{3,20}}), but{_GAP}this kernel module has{_GAP}the version "
    r"(?P<kernel_module>[\d.]{3,20}?)\.?(?:\s|#|$)"
)
_PCI = lazy(r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_BLOCKED = lazy(
    r"(?:INFO: )?task (?P<comm>.{1,64}?):(?P<pid>\d{1,9}) blocked for more than (?P<seconds>\d{1,9}) seconds"
)
_STACK = lazy(r"\s{1,8}(?:\? )?[\w.]{1,128}\+0x[0-9a-f]+/0x|\s*(?:Not t|T)ainted|\"echo 0|task:|Call Trace|\s*</?TASK>")
_WAITS = (
    ("nfs", lazy(r"\b(?:nfs|rpc|xprt)\w*_")),
    ("lustre", lazy(r"\b(?:ll_|cl_|ldlm_|ptlrpc_|osc_|lov_)")),
    ("fuse", lazy(r"\bfuse_")),
    ("gpu-driver", lazy(r"\[nvidia|\bnvidia|\buvm_|\b_nv\d{6}|\bos_acquire")),
    ("disk", lazy(r"\b(?:jbd2|xfs|ext4|blk|bio|wait_on_page|folio_wait|submit_bio|io_schedule)")),
)


# Messages of several lines: how they begin, how they go on, how they end.
_BLOCKS = (
    ("hung-task", _BLOCKED, _STACK, lazy(r"(?!)"), 40),
    (
        "api-mismatch",
        lazy(r"NVRM: API mismatch:"),
        lazy(r"NVRM: (?!API mismatch|Xid|GPU|The NVIDIA)"),
        lazy(r"NVRM: .{0,20}have the same version"),
        6,
    ),
    (
        "fell-off-bus",
        lazy(r"NVRM: The NVIDIA GPU [0-9a-fA-F:.]{5,20}"),
        lazy(r"NVRM: (?:\(PCI ID|fallen off)"),
        lazy(r"NVRM: fallen off"),
        3,
    ),
)


class _Open(Struct):
    """A message of several lines that may go on."""

    name: str
    goes_on: re.Pattern[str]
    ends: re.Pattern[str]
    limit: int
    records: list[Record]
    texts: list[str]


class Kernel:
    """See the module's text."""

    speaker = "kernel"
    triggers: tuple[str, ...] = (
        *TRIGGERS,
        "NVRM: ",
        "amdgpu",
        ": SXid (",
        "segfault at ",
        "traps: ",
        ": unhandled ",
        " blocked for more than ",
        "nfs: server ",
        "LustreError: ",
        "fork rejected by pids",
        "ink down",
        "ink DOWN",
        "ink Down",
        "ink is Down",
        "ink is down",
        "definitely down",
        "NETDEV WATCHDOG",
        "read-only",
        "forced readonly",
        "EXT4-fs error",
        "I/O error",
        "critical medium error",
        "critical target error",
        "controller is down",
        "Kernel panic",
        "dumped core",
        "core_pipe_limit",
    )
    follow = 24
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        own_file = context.source.kind == "kernel-log"
        reports: dict[str | None, Report] = {}
        block: _Open | None = None
        for record in records:
            spoken = listen(record, own_file=own_file)
            if block and not _goes_on(block, spoken, record):
                yield _close(block, context)
                block = None
            if spoken is None or block:
                continue
            block = _opens(spoken, record)
            event = None if block else _one(spoken, record, context)
            if event:
                yield event
            if event or block:
                for report in reports.values():
                    report.overtake()
            elif record.host in reports or any(words in spoken.text for words in TRIGGERS):
                report = reports.setdefault(record.host, Report(context))
                yield from report.hear(spoken.text, record)
        if block:
            yield _close(block, context)
        for report in reports.values():
            yield from report.close()


def _opens(spoken: Spoken, record: Record) -> _Open | None:
    for name, begins, goes_on, ends, limit in _BLOCKS:
        if begins.match(spoken.text) and (spoken.sure or spoken.text.startswith("NVRM")):
            return _Open(name, goes_on, ends, limit, [record], [spoken.text])
    return None


def _goes_on(block: _Open, spoken: Spoken | None, record: Record) -> bool:
    """Take a line into the message, if it belongs there."""
    last = block.texts[-1]
    if (
        spoken is None
        or record.line.gap
        or len(block.texts) >= block.limit
        or block.ends.match(last)
        or not block.goes_on.match(spoken.text)
    ):
        return False
    block.records.append(record)
    block.texts.append(spoken.text)
    return True


def _close(block: _Open, context: Context) -> Event:
    message = "\n".join(block.texts)
    if block.name == "hung-task":
        found = _BLOCKED.match(message)
        waits = next((name for name, pattern in _WAITS if pattern.search(message)), None)
        return quote(
            "kernel",
            "hung-task",
            block.records,
            context,
            {
                "comm": found["comm"] if found else None,
                "pid": int(found["pid"]) if found else None,
                "blocked_ms": int(found["seconds"]) * 1000 if found else None,
                "waits_for": waits,
            },
            message,
        )
    fields: dict[str, Value] = {"topic": block.name}
    if found := _MISMATCH.search(message.replace("NVRM: ", " ")):
        fields.update(_numbered(found.groupdict()))
    elif found := _PCI.search(message):
        fields["pci"] = _address(found["pci"])
    return quote("kernel", "nvrm", block.records, context, fields, message)


def _one(spoken: Spoken, record: Record, context: Context) -> Event | None:
    """Return the event of a message of one line, if it is one."""
    if match := _XID.match(spoken.text):
        return quote("kernel", "xid", [record], context, _xid(match, spoken), spoken.text)
    for form in FORMS:
        if not (spoken.sure or form.plain):
            continue
        if match := form.pattern.match(spoken.text):
            fields = {**form.fields, **_numbered(match.groupdict()), "uptime_s": spoken.uptime_s}
            if form.kind == "nvrm" and (found := _PCI.search(spoken.text)):
                fields["pci"] = _address(found["pci"])
            return quote("kernel", form.kind, [record], context, fields, spoken.text)
    return None


def _xid(match: re.Match[str], spoken: Spoken) -> dict[str, Value]:
    """Return the facts of an Xid line: its own, and what the number means."""
    number = int(match["xid"])
    known = XIDS.get(number)
    pid, name = match["pid"] or "", match["name"] or ""
    previous = _PREVIOUS.search(match["detail"])
    return {
        "xid": number,
        "pci": _address(match["pci"]),
        "gi": int(match["gi"]) if match["gi"] else None,
        "ci": int(match["ci"]) if match["ci"] else None,
        "pid": int(pid) if pid.isdecimal() else None,
        "name": name if name and "<unknown>" not in name else None,
        "xid_name": known.name if known else None,
        "xid_action": known.action if known and known.action else None,
        "xid_role": known.role if known else None,
        "previous_xid": int(previous["previous_xid"]) if previous else None,
        "uptime_s": spoken.uptime_s,
    }


def _numbered(groups: dict[str, str | None]) -> dict[str, Value]:
    """Turn captures into facts: numbers as numbers, alternatives under one name."""
    fields: dict[str, Value] = {}
    for name, value in groups.items():
        if value is None:
            continue
        plain = {"pid2": "pid", "comm2": "comm", "server2": "server"}.get(name, name)
        if plain in {"fs", "buffer", "dev", "xfs", "nvme"}:
            plain = "disk"
        if plain == "pci":
            fields[plain] = _address(value)
        else:
            fields[plain] = int(value) if plain in NUMBERS else value
    return fields


def _address(pci: str) -> str:
    """Bring a PCI address to one form: lower case, domain of four digits, no function."""
    parts = pci.lower().split(".")[0].split(":")
    domain = parts[0][-4:].rjust(4, "0") if len(parts) > 2 else "0000"
    return ":".join((domain, *parts[-2:]))


PARSER = Kernel()
