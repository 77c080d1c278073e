"""The line monitors and listings: `dmon`, `pmon`, `topo -m`, `nvlink`, `-L`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.model import Context, Event, Value
from forensics.parsers.nvidia_smi.snapshot import Gpu, Lines, Process, Snapshot, integer, real, told, when
from forensics.text.lazy import lazy

_MEBIBYTE = 1 << 20
_CLOCK = lazy(r"(\d\d):(\d\d):(\d\d)")
_ESCAPES = lazy(r"\x1b\[[0-9;]{0,16}m")
_CELL = lazy(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|N/A")
_FAR = frozenset({"PHB", "NODE", "SYS", "SOC"})
_LISTED = lazy(r"GPU (?P<index>\d{1,3}): (?P<name>.{1,100}?) \(UUID: (?P<uuid>[\w-]{1,80})\)")
_LINK = lazy(r"\s+Link (?P<link>\d{1,3}): (?P<state>.{1,100})")
_COUNTER = lazy(r"(?P<counter>[A-Z][\w ]{2,40}?)\s?(?:Errors?|Error Count)?: (?P<count>\d{1,18})")


def read(lines: Lines, context: Context) -> tuple[list[Snapshot], list[Event]]:
    """Read `dmon` or `pmon`: one snapshot for each round over the GPUs."""
    columns: list[str] = []
    snapshots: list[Snapshot] = []
    last = -1
    for number, text in lines:
        if text.startswith("#"):
            names = text.lstrip("# ").lower().split()
            if "gpu" in names:
                columns = names
            continue
        cells = text.split()
        row = dict(zip(columns, cells, strict=False))
        index = integer(row.get("gpu", ""))
        if index is None or len(cells) < min(len(columns), 3):
            continue
        if not snapshots or index < last or (index == last and _again(snapshots[-1], row)):
            date, clock = row.get("date", ""), row.get("time", "")
            time = when(f"{date} {clock}", context) if date and clock else None
            snapshots.append(Snapshot(number, number, [], time, None if date else _of_day(clock)))
        last = index
        snapshot = snapshots[-1]
        snapshot.end_line = number
        snapshot.text.append(text)
        _row(snapshot, index, row)
    return snapshots, []


def _of_day(clock: str) -> int | None:
    """Return the seconds of a day at `14:08:22`, which `-o T` prints without a date."""
    found = _CLOCK.fullmatch(clock)
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) if found else None


def _again(snapshot: Snapshot, row: dict[str, str]) -> bool:
    """Tell whether a row of the GPU that the last row showed begins the next round."""
    pid = row.get("pid", "-")
    if not pid.isdecimal():
        return True
    return not snapshot.processes or any(str(process.pid) == pid for process in snapshot.processes)


def _row(snapshot: Snapshot, index: int, row: dict[str, str]) -> None:
    if "pid" in row:
        if not any(gpu.index == index for gpu in snapshot.gpus):
            snapshot.gpus.append(Gpu(index=index))
        snapshot.processes = snapshot.processes if snapshot.processes is not None else []
        if row["pid"].isdecimal() and len(row["pid"]) <= 10:
            memory = integer(row.get("fb", ""))
            used = memory * _MEBIBYTE if memory is not None else None
            snapshot.processes.append(Process(int(row["pid"]), index, used, row.get("command", row.get("name", ""))))
        return
    framebuffer = integer(row.get("fb", ""))
    snapshot.gpus.append(
        Gpu(
            index=index,
            memory_used=framebuffer * _MEBIBYTE if framebuffer is not None else None,
            utilization=integer(row.get("sm", "")),
            temperature=integer(row.get("gtemp", row.get("temp", ""))),
            power_w=real(row.get("pwr", "")),
            clock_mhz=integer(row.get("pclk", "")),
            throttle=("thermal_violation",) if row.get("tviol", "0") not in {"0", "-"} else (),
        )
    )


def topology(lines: Lines, context: Context) -> Iterator[Event]:
    """Yield `topology`: how many pairs are joined by NVLink, and which of their GPUs are not."""
    names: list[str] = []
    linked: set[tuple[str, str]] = set()
    far: list[tuple[str, str, str]] = []
    first: tuple[int, str] | None = None
    for number, raw in lines:
        cells = _ESCAPES.sub("", raw).split()
        if not cells or not cells[0].startswith("GPU"):
            continue
        if not names:
            names = [cell for cell in cells if re.fullmatch(r"GPU\d{1,3}", cell)]
            first = (number, raw)
        elif re.fullmatch(r"GPU\d{1,3}", cells[0]):
            for other, cell in zip(names, cells[1:], strict=False):
                if not _CELL.fullmatch(cell) or other <= cells[0]:
                    continue
                if cell.startswith("NV"):
                    linked.add((cells[0], other))
                elif cell in _FAR:
                    far.append((cells[0], other, cell))
    if first is None:
        return
    # Only where some pairs are joined is a pair that is not joined worth a word.
    on_switch = {name for pair in linked for name in pair}
    broken: Value = tuple(f"{a}-{b} {how}" for a, b, how in far if a in on_switch and b in on_switch)
    fields: dict[str, Value] = {"gpus": len(names), "nvlink_pairs": len(linked), "unlinked_pairs": broken}
    yield told(context, "topology", first, fields)


def links(lines: Lines, context: Context) -> Iterator[Event]:
    """Yield `nvlink` for each GPU of `nvidia-smi nvlink`: links active and inactive, errors counted."""
    where: tuple[int, str] | None = None
    fields: dict[str, Value] = {}
    active: list[int] = []
    inactive: list[int] = []
    errors = 0
    for number, text in [*lines, (0, "GPU 0: end (UUID: end)")]:
        if match := _LISTED.match(text):
            if where is not None and (active or inactive or errors):
                counts: dict[str, Value] = {"links": len(active), "inactive": tuple(inactive), "link_errors": errors}
                yield told(context, "nvlink", where, {**fields, **counts})
            where = (number, text)
            fields = {"device": int(match["index"]), "name": match["name"]}
            active, inactive, errors = [], [], 0
        elif match := _LINK.match(text):
            state = match["state"]
            if counter := _COUNTER.match(state):
                errors += int(counter["count"])
            else:
                (inactive if "inactive" in state else active).append(int(match["link"]))


def listing(lines: Lines, context: Context) -> Iterator[Event]:
    """Yield `list` for `nvidia-smi -L`: how many GPUs, and which."""
    found = [(number, text, match) for number, text in lines if (match := _LISTED.match(text))]
    if found:
        fields: dict[str, Value] = {"gpus": len(found), "names": tuple(match["name"] for _, _, match in found)}
        yield told(context, "list", found[0][:2], fields)
