"""nvidia-smi's voice: how the GPUs were, in every form in which it can be printed.

    |   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |
    | N/A   35C    P0            121W /  700W |  113167MiB / 143771MiB |      0%      Default |

`PARSER` reads files of its output: the table, `-q`, `-q -x`, `--query-... --format=csv`,
`dmon`, `pmon`, `topo`, `nvlink`, `-L`; each may be a loop and may be torn. Events:
`snapshot` (tuples over the GPUs), `error` (field topic), `ecc`, `throttle`, `topology`,
`nvlink`, `list`. `ERRORS` finds error texts, tables and query headers in text that others
share. Formats: nvidia-smi 7x to 580; a table's widths change, the order of its cells not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TypeAlias

from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record
from forensics.parsers.nvidia_smi import monitor, query, rows, table
from forensics.parsers.nvidia_smi.errors import TRIGGERS, complaint, joined, kind_of
from forensics.parsers.nvidia_smi.snapshot import Lines, Snapshot, events, told
from forensics.sources.sniff import SHOWN_KINDS
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_Reader: TypeAlias = Callable[[Lines, Context], tuple[list[Snapshot], list[Event]]]
_READERS: dict[str, _Reader] = {
    "nvidia-smi-table": table.read,
    "nvidia-smi-csv": rows.read,
    "nvidia-smi-query": query.read_text,
    "nvidia-smi-xml": query.read_xml,
    "nvidia-smi-dmon": monitor.read,
    "nvidia-smi-pmon": monitor.read,
}
_ASKED = lazy(
    r"\bnvidia-smi\b.{0,200}? --query-(?:gpu|compute-apps)=(?P<columns>[a-z][\w.,]{1,600})"
    r"(?=.{0,200}--format=\S{0,20}csv\S{0,20}noheader)"
)
"""A command that has rows printed without the names of their columns, where somebody typed it."""
_LISTINGS: dict[str, Callable[[Lines, Context], Iterator[Event]]] = {
    "nvidia-smi-topo": monitor.topology,
    "nvidia-smi-nvlink": monitor.links,
    "nvidia-smi-list": monitor.listing,
}


class NvidiaSmi:
    """Reads a file that holds output of nvidia-smi and nothing else."""

    speaker = "nvidia-smi"
    kinds = frozenset({*_READERS, *_LISTINGS})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        text = data.decode("utf-8", "replace")
        lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)]
        kind = context.source.kind
        if listing := _LISTINGS.get(kind):
            yield from listing(lines, context)
            return
        snapshots, found = _READERS.get(kind, table.read)(lines, context)
        known = {event.line for event in found}
        for number, line in lines:
            if number not in known and (problem := complaint(line)):
                topic, facts = problem
                found.append(told(context, kind_of(topic), (number, line), {"topic": topic, **facts}))
        yield from joined(sorted((*events(snapshots, context), *found), key=lambda event: event.line))


class NvidiaSmiErrors:
    """Finds nvidia-smi's voice in logs, transcripts and captures."""

    speaker = "nvidia-smi"
    triggers: tuple[str, ...] = (
        *TRIGGERS,
        "| NVIDIA-SMI ",
        "memory.used [MiB]",
        "utilization.gpu [%]",
        "used_gpu_memory [MiB]",
        "# gpu  ",
        " --query-gpu=",
    )
    follow = 160
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        if context.source.kind not in NvidiaSmi.kinds:  # else `PARSER` has read it all
            yield from joined(_listen(records, context))


def _listen(records: Iterable[Record], context: Context) -> Iterator[Event]:
    shown: list[Record] = []  # the table, or the rows, that are being printed
    reader: _Reader = table.read
    before: list[Record] = []  # the two lines above: a table's date and its border
    asked_at: float | None = None  # what `date` has answered last in a session
    for record in records:
        text = record.text
        if shown and (record.line.gap or not _continues(text, reader)):
            yield from _embedded(reader, shown, context, asked_at)
            shown = []
        if record.time is not None and not text.strip() and context.source.kind in SHOWN_KINDS:
            asked_at = record.time
        if shown:
            shown.append(record)
        elif table.HEADER.search(text):
            reader, shown = table.read, [*_above(before), record]
        elif record.level is None and "[" in text and rows.is_header(text):
            reader, shown = rows.read, [record]
        elif asked := _ASKED.search(text):
            reader, shown = rows.read, [replace(record, text=asked["columns"].replace(",", ", "))]
        elif text.startswith("# gpu ") and ("pwr" in text or " sm " in text):
            reader, shown = monitor.read, [record]
        elif record.level is None and (problem := complaint(text)):
            topic, facts = problem
            yield quote("nvidia-smi", kind_of(topic), [record], context, {"topic": topic, **facts})
        before = [record] if record.line.gap else [*before[-1:], record]
    yield from _embedded(reader, shown, context, asked_at)


def _above(before: list[Record]) -> list[Record]:
    """Return the lines directly above a header that belong to its table."""
    found = list(takewhile(_heads, reversed(before)))
    return found[::-1]


def _heads(record: Record) -> bool:
    """Tell whether a line above a table's header is its date, which is all prefix, or its border."""
    return record.text.startswith("+-") or (record.time is not None and not record.text.strip())


def _continues(text: str, reader: _Reader) -> bool:
    """Tell whether a line belongs to the table (or to the rows) above it."""
    if reader is monitor.read:
        return text.startswith("#") or text.strip()[:1].isdigit()
    if reader is rows.read:
        return rows.is_row(text)
    return text.lstrip()[:1] in {"|", "+", ""}


def _embedded(reader: _Reader, shown: list[Record], context: Context, asked_at: float | None) -> Iterator[Event]:
    """Yield what a part of a text shows: rows without a time are of that at which somebody asked."""
    if not shown:
        return
    lines = [(record.line.number, record.text if record.text.strip() else record.raw) for record in shown]
    snapshots, found = reader(lines, context)
    raw = {record.line.number: record.raw for record in shown}
    for event in sorted((*events(snapshots, context), *found), key=lambda event: event.line):
        quoted = [raw[n] for n in range(event.line, event.end_line + 1) if n in raw]
        time = event.time if event.time is not None else asked_at
        yield replace(event, text="\n".join(quoted[: event.text.count("\n") + 1]), time=time)


PARSER = NvidiaSmi()
ERRORS = NvidiaSmiErrors()
