"""What commands told about the machine: `df`, `free`, `ulimit -a`, `/proc/meminfo`, `/proc/PID/limits`.

    Filesystem      Size  Used Avail Use% Mounted on
    shm              64M   64M   64K 100% /dev/shm

Events: `filesystem` for each that is full or nearly so, and always for /dev/shm (fields
mount, size_bytes, used_bytes, free_bytes, use_percent, inodes where `df -i` counts
those); `memory` (total_bytes, used_bytes, free_bytes, available_bytes, swap_total_bytes,
swap_free_bytes); `limits` (open_files, processes, locked_memory_bytes,
virtual_memory_bytes, file_size_bytes, stack_bytes); `listing` for a file in a long listing
(fields name, size_bytes; its time is when the file was last written, by the machine's own
clock, whatever its zone); `command` for what was typed at a prompt of a session; `process` for
a program at work that `ps` shows. Formats: coreutils df and ls, procps free, bash and dash ulimit.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from forensics.model import Context, Event, Value
from forensics.parsers.host_record.processes import processes
from forensics.sources.sniff import PROMPT, SHOWN_KINDS
from forensics.text.lazy import lazy
from forensics.text.months import in_english
from forensics.text.quote import quote_lines
from forensics.text.sizes import parse_size
from forensics.text.timestamps import leading_time

NEARLY_FULL = 98
_DF = lazy(r"Filesystem\s+(?:Type\s+)?(?P<unit>\S*(?:blocks|Size|Inodes))\s.*Mounted on\s*$")
_DF_ROW = lazy(
    r"(?P<filesystem>\S.{0,300}?)?\s+(?:(?P<type>[a-z][\w.]{1,30})\s+)?(?P<size>[\d.]{1,20}[KMGTPE]?)\s+(?P<used>[\d.]{1,20}[KMGTPE]?)\s+"
    r"(?P<free>-?[\d.]{1,20}[KMGTPE]?)\s+(?P<percent>\d{1,3}%|-)\s+(?P<mount>/.{0,400})"
)
_UNIT = lazy(r"(?P<count>\d{1,6})(?P<unit>[BKMG]?)-blocks")
_READ_ONLY = lazy(r"/snap/|/media/|/cdrom|/boot/efi|/sys/|/proc/|/run/")
_FREE = lazy(r"\s+total\s+used\s+free\b(?P<rest>.*)")
_FREE_ROW = lazy(r"(?P<name>Mem|Swap):\s+(?P<cells>[\d.A-Za-z ]{3,200})")
_MEMINFO = lazy(r"(?P<name>MemTotal|MemFree|MemAvailable|SwapTotal|SwapFree):\s+(?P<kib>\d{1,18}) kB")
_MEMINFO_FACTS = {
    "MemTotal": "total_bytes",
    "MemFree": "free_bytes",
    "MemAvailable": "available_bytes",
    "SwapTotal": "swap_total_bytes",
    "SwapFree": "swap_free_bytes",
}
_VALUE = r"(?P<value>\d{1,18}|unlimited)"
_LIMITS = (
    lazy(rf"(?P<name>[A-Za-z][a-zA-Z -]{{2,40}}?)\s+\((?P<unit>[^)]{{0,24}}?),? ?-\w\)\s+{_VALUE}\s*"),  # bash
    lazy(rf"-\w: (?P<name>[a-z][a-z -]{{2,40}}?)(?: \((?P<unit>\w{{1,16}})\))?\s+{_VALUE}\s*"),  # zsh
    lazy(rf"(?P<name>[a-z][a-z ]{{2,40}}?)(?:\((?P<unit>\w{{1,16}})\)\s+|\s{{2,}}){_VALUE}\s*"),  # dash
    lazy(rf"Max (?P<name>[a-z][a-z ]{{2,40}}?)\s{{2,}}{_VALUE}\s+(?:\d{{1,18}}|unlimited)\s*(?P<unit>\w{{0,16}})\s*"),
)
_LIMIT_FACTS = {
    "open files": "open_files",
    "file descriptors": "open_files",
    "nofiles": "open_files",
    "process": "processes",
    "vmemory": "virtual_memory_bytes",
    "max user processes": "processes",
    "processes": "processes",
    "max locked memory": "locked_memory_bytes",
    "locked memory": "locked_memory_bytes",
    "virtual memory": "virtual_memory_bytes",
    "address space": "virtual_memory_bytes",
    "file size": "file_size_bytes",
    "stack size": "stack_bytes",
    "stack": "stack_bytes",
}
_FACTORS = {"blocks": 512, "kbytes": 1024, "mbytes": 1 << 20, "bytes": 1}
_ULIMIT = lazy(r".{0,300}[$#%>] ?ulimit (?:-[SH] )?-(?P<flag>[nulvsf])")
_FLAGS = {
    "n": ("open_files", 1),
    "u": ("processes", 1),
    "l": ("locked_memory_bytes", 1024),
    "v": ("virtual_memory_bytes", 1024),
    "s": ("stack_bytes", 1024),
    "f": ("file_size_bytes", 1024),
}
_LISTED = lazy(
    r"-[rwxsStT-]{9}[.+@]? +\d{1,6} +\S{1,64} +\S{1,64} +(?P<size>\d{1,18}|\d[\d.]{0,8}[KMGT]) +"
    r"(?P<when>[^\s\d]{2,8} +\d{1,2} +\d\d:\d\d|\d{1,2}月 +\d{1,2} +\d\d:\d\d|"
    r"20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?: [-+]\d{4})? +"
    r"(?P<name>\S.{0,400}?)"
)
_STATED = lazy(
    r"(?P<when>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) [-+]\d{4} {1,4}(?P<size>\d{1,18}) {1,4}"
    r"(?P<name>[^\s\[].{0,400}?)"
)
"""`stat -c '%y %s %n'`, and `ls --full-time` without its permissions."""
_MOST_LISTED = 500
_MOST_LINES = 20_000


class HostRecord:
    """See the module's text."""

    speaker = "host"
    kinds = SHOWN_KINDS | {"host-record"}

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")[:_MOST_LINES]
        readers = (_filesystems, _memory, _meminfo, _limits, _asked, _listed, _typed, processes)
        found = [event for reader in readers for event in reader(lines, context)]
        yield from sorted(found, key=lambda event: event.line)


def _event(kind: str, lines: list[str], first: int, last: int, fields: dict[str, Value], context: Context) -> Event:
    """Build an event of the lines from index `first` to `last`."""
    return quote_lines("host", kind, lines[first : last + 1], first + 1, context, fields)


def _filesystems(lines: list[str], context: Context) -> Iterator[Event]:
    unit = ""
    for at, line in enumerate(lines):
        if head := _DF.match(line):
            unit = head["unit"]
            continue
        row = _DF_ROW.fullmatch(line.rstrip()) if unit and len(line) < 1000 else None
        if row is None:
            # A long name stands on a line of its own, above its numbers.
            unit = unit if not line.strip() or " " not in line.strip() else ""
            continue
        percent = int(row["percent"][:-1]) if row["percent"] != "-" else None
        mount = row["mount"].strip()
        name = (row["filesystem"] or "").strip()
        if mount != "/dev/shm" and (  # noqa: S108 - the name of a mount in a listing
            percent is None
            or percent < NEARLY_FULL
            or _READ_ONLY.match(mount)
            or name.startswith(("/dev/loop", "/dev/sr"))
        ):
            continue
        fields: dict[str, Value] = {"mount": mount, "use_percent": percent, "filesystem": name or None}
        if "Inodes" in unit:
            fields["inodes"] = True
        else:
            fields["size_bytes"] = _blocks(row["size"], unit)
            fields["used_bytes"] = _blocks(row["used"], unit)
            fields["free_bytes"] = _blocks(row["free"].lstrip("-"), unit)
        yield _event("filesystem", lines, at, at, fields, context)


def _listed(lines: list[str], context: Context) -> Iterator[Event]:
    left = _MOST_LISTED
    for at, line in enumerate(lines):
        row = None
        if line[:1] in {"-", "2"} and len(line) < 800 and left:
            row = (_LISTED if line.startswith("-") else _STATED).fullmatch(line.rstrip())
        when = row["when"] if row else ""
        # A clock without seconds is no form of a log's time; `ls` shows one for files of the last half year.
        whole = when if when.count(":") == 2 else in_english(f"{when}:00 ")
        time = leading_time(whole, year=context.default_year)[0] if row else None
        if row is None or time is None:
            continue
        left -= 1
        fields: dict[str, Value] = {"name": row["name"], "size_bytes": parse_size(row["size"])}
        yield replace(_event("listing", lines, at, at, fields, context), time=time)


def _typed(lines: list[str], context: Context) -> Iterator[Event]:
    if context.source.kind != "transcript":
        return
    left = _MOST_LISTED
    for at, line in enumerate(lines):
        if left and len(line) < 4000 and PROMPT.match(line):
            left -= 1
            yield _event("command", lines, at, at, {}, context)


def _blocks(cell: str, unit: str) -> int | None:
    """Read a cell of `df`: with a suffix, or in blocks of the unit that the header names."""
    match = _UNIT.fullmatch(unit)
    if not cell.isdecimal() or match is None:
        return parse_size(cell)
    return int(cell) * int(match["count"]) * (parse_size(f"1{match['unit']}") or 1)


def _memory(lines: list[str], context: Context) -> Iterator[Event]:
    for at, line in enumerate(lines):
        head = _FREE.match(line) if len(line) < 300 else None
        if head is None:
            continue
        names = ["total", "used", "free", *head["rest"].split()]
        fields: dict[str, Value] = {}
        last = at
        unit = ""
        for below in range(at + 1, min(at + 5, len(lines))):
            row = _FREE_ROW.match(lines[below])
            if row is None:
                continue
            cells = dict(zip(names, row["cells"].split(), strict=False))
            unit = _unit(cells.get("total", "")) if row["name"] == "Mem" else unit
            sizes = {name: _size(cell, unit) for name, cell in cells.items()}
            if row["name"] == "Mem":
                for name in ("total", "used", "free", "available"):
                    fields[f"{name}_bytes"] = sizes.get(name)
            else:
                fields["swap_total_bytes"], fields["swap_free_bytes"] = sizes.get("total"), sizes.get("free")
            last = below
        if "total_bytes" in fields:
            yield _event("memory", lines, at, last, fields, context)


def _unit(total: str) -> str:
    """Guess the unit of `free`, which prints none: KiB unless asked otherwise.

    Machines that train have between 4 GiB and 10 TiB, which tells the units apart.
    """
    if not total.isdecimal() or len(total) > 18:
        return ""
    number = int(total)
    if number >= 10_000_000_000:
        return ""
    if number >= 4_000_000:
        return "K"
    return "M" if number >= 4_000 else "G"


def _size(cell: str, unit: str) -> int | None:
    return parse_size(cell + unit if cell.isdecimal() else cell)


def _meminfo(lines: list[str], context: Context) -> Iterator[Event]:
    fields: dict[str, Value] = {}
    first = last = 0
    for at, line in enumerate(lines):
        if match := _MEMINFO.match(line):
            first = at if not fields else first
            last = at
            fields[_MEMINFO_FACTS[match["name"]]] = int(match["kib"]) * 1024
    if "total_bytes" in fields or "available_bytes" in fields:
        yield _event("memory", lines, first, last, fields, context)


def _limits(lines: list[str], context: Context) -> Iterator[Event]:
    fields: dict[str, Value] = {}
    first = last = 0
    for at, line in enumerate(lines):
        match = next((m for form in _LIMITS if (m := form.fullmatch(line))), None) if len(line) < 200 else None
        name = _LIMIT_FACTS.get(match["name"]) if match else None
        if fields and (match is None or name in fields):
            yield _event("limits", lines, first, last, fields, context)
            fields = {}
        if match is None or name is None:
            continue
        first = at if not fields else first
        last = at
        unit = (match["unit"] or "").split(",")[0]
        factor = _FACTORS.get(unit, 1) if name.endswith("_bytes") else 1
        fields[name] = int(match["value"]) * factor if match["value"].isdecimal() else None
    if fields:
        yield _event("limits", lines, first, last, fields, context)


def _asked(lines: list[str], context: Context) -> Iterator[Event]:
    """Yield `limits` for `$ ulimit -u` in a session, with the answer on the next line."""
    for at, line in enumerate(lines[:-1]):
        asked = _ULIMIT.fullmatch(line.rstrip()) if len(line) < 400 else None
        answer = lines[at + 1].strip()
        if asked and answer.isdecimal() and len(answer) < 19:
            name, factor = _FLAGS[asked["flag"]]
            yield _event("limits", lines, at, at + 1, {name: int(answer) * factor}, context)


PARSER = HostRecord()
