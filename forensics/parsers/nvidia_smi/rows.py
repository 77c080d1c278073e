"""`nvidia-smi --query-gpu=... --format=csv` and `--query-compute-apps`, once or in a loop.

The header may be missing, units may be in the header or in the cells, lines of error
text may stand between the rows, and a restarted loop prints its header again.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from forensics.model import Context, Event, Value
from forensics.parsers.nvidia_smi.errors import complaint, kind_of
from forensics.parsers.nvidia_smi.snapshot import (
    FAULTY_REASONS,
    Gpu,
    Lines,
    Process,
    Snapshot,
    integer,
    is_lost,
    mebibytes,
    pci_address,
    real,
    reasons,
    told,
    when,
)
from forensics.text.lazy import lazy

_COLUMN = lazy(r"(?P<name>[a-z][a-z0-9_.]*)(?: \[[^\]]{1,12}\])?")
_CELL = lazy(r"\d+(?:\.\d+)? ?(?:MiB|%|W|MHz)?|\[(?:N/A|Not Supported|GPU is lost|Unknown Error)\]|0x[0-9a-f]{4,}")
_MOST_COLUMNS = 60
_MOST_ROWS = 40_000
_WINDOW = 64  # rows; more than two rounds over the GPUs of the largest machine
_TIME = lazy(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d")
_BOARD = lazy(r"(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN|A\d{2,3}\b|H\d{3}\b|L\d{1,2}\b|RTX)")
_SAME_INSTANT_S = 0.05
_ONE_LISTING = 16  # rows without index or time: as many as this are the GPUs of one machine
_CLOCK = ("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.current.graphics")
_POWER = ("power.draw", "power.draw.instant", "power.draw.average")
# A board without a fan may say "Unknown Error" about its fan; one that says it about these is gone.
_VITAL = frozenset({"memory.used", "memory.total", "utilization.gpu", "temperature.gpu", *_POWER})
_THROTTLE = lazy(r"clocks_(?:throttle|event)_reasons\.(?P<reason>\w+)")
_UNCORRECTED = lazy(r"ecc\.errors\.uncorrected\.volatile\.(?:total|dram|sram|device_memory)")


class _Reader(Struct):
    """What has been read of one file."""

    context: Context
    columns: list[str] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    found: list[Event] = field(default_factory=list)
    reported: set[tuple[str, Value]] = field(default_factory=set)
    fresh: bool = True  # the next row begins a snapshot


def is_header(text: str) -> bool:
    """Tell whether a line names columns."""
    if not text.lstrip()[:1].islower():
        return False
    cells = [cell.strip() for cell in text.split(",")[:_MOST_COLUMNS]]
    if not all(_COLUMN.fullmatch(cell) for cell in cells):
        return False
    if len(cells) == 1:
        return "." in cells[0] and "[" in cells[0]
    return any("." in cell or "_" in cell or "[" in cell or cell == "index" for cell in cells)


def is_row(text: str) -> bool:
    """Tell whether a line below a header in shared text is still one of its rows."""
    return len(text) < 1000 and any(_CELL.fullmatch(cell.strip()) for cell in text.split(",")[:_MOST_COLUMNS])


def read(lines: Lines, context: Context) -> tuple[list[Snapshot], list[Event]]:
    """Read the rows.

    Returns:
        The snapshots, and `error`, `ecc` and `throttle` events: the first of each GPU.
    """
    reader = _Reader(context)
    chosen = _choose(lines)
    for number, text in chosen:
        if not text.strip():
            reader.fresh = True
        elif is_header(text):
            reader.columns = [m["name"] if (m := _COLUMN.fullmatch(c.strip())) else "" for c in text.split(",")]
            reader.fresh = True
            if "pid" in reader.columns:  # that no row follows is the answer: no process
                reader.snapshots.append(Snapshot(number, number, [text], processes=[]))
                reader.fresh = False
        elif problem := complaint(text):
            topic, facts = problem
            reader.found.append(told(context, kind_of(topic), (number, text), {"topic": topic, **facts}))
        else:
            _row(reader, (number, text))
    if len(chosen) < len(lines):
        # What begins in the middle of a round shows a part of the GPUs.
        whole = max((len(snapshot.gpus) for snapshot in reader.snapshots), default=0)
        reader.snapshots = [snapshot for snapshot in reader.snapshots if len(snapshot.gpus) == whole]
        for snapshot in reader.snapshots:
            snapshot.decimated = True
    return reader.snapshots, reader.found


def _choose(lines: Lines) -> Lines:
    """Choose windows of a file that is too long to read in a second; a blank line marks each cut.

    The beginning, the end, and every line that is not a plain row stay.
    """
    stride = len(lines) // _MOST_ROWS
    if not stride:
        return lines
    chosen: list[tuple[int, str]] = []
    last = len(lines) - _WINDOW * 8
    for at, line in enumerate(lines):
        whole = at // _WINDOW % (stride + 1) == 0 or at < _WINDOW * 8 or at >= last
        if whole or not line[1][:1].isdecimal() or "[GPU " in line[1]:
            chosen.append(line)
        elif chosen[-1][1]:
            chosen.append((line[0], ""))
    return chosen


def _row(reader: _Reader, where: tuple[int, str]) -> None:
    cells = [cell.strip() for cell in where[1].split(",")]
    reader.columns = reader.columns or _guess(cells)  # the first row names the columns of all
    columns = reader.columns
    if len(cells) < 2 and "," not in where[1] and len(columns) != 1:
        return
    row = dict(zip(columns, cells, strict=False))
    row.pop("", None)
    if not row:
        return
    time = when(row["timestamp"], reader.context) if "timestamp" in row else None
    if "pid" in row:
        _process(reader, row, where, time)
        return
    gpu = _gpu(row)
    if not _joins(reader, gpu, time):
        reader.snapshots.append(Snapshot(where[0], where[0], [], time, driver=row.get("driver_version")))
    reader.fresh = False
    snapshot = reader.snapshots[-1]
    snapshot.gpus.append(gpu)
    snapshot.end_line = where[0]
    snapshot.text.append(where[1])
    reader.found.extend(_findings(reader, row, gpu, where, time))


def _guess(cells: list[str]) -> list[str]:
    """Name the columns of a row without a header, as far as the cells themselves tell."""
    names: list[str] = []
    for at, cell in enumerate(cells):
        name = ""
        if _TIME.match(cell):
            name = "timestamp"
        elif cell.endswith("MiB"):
            name = "memory.total" if "memory.used" in names else "memory.used"
        elif cell.endswith("%"):
            name = "utilization.memory" if "utilization.gpu" in names else "utilization.gpu"
        elif cell.endswith(" W"):
            name = "power.limit" if "power.draw" in names else "power.draw"
        elif cell.startswith("GPU-"):
            name = "gpu_uuid"
        elif _BOARD.match(cell):
            name = "name"
        elif cell.isdecimal() and len(cell) <= 2 and (at == 0 or (at == 1 and names[0] == "timestamp")):
            name = "index"
        names.append(name if name not in names else "")
    processes = (
        len(cells) in {2, 3, 4} and cells[0].isdecimal() and "name" not in names and not cells[1][:1].isdecimal()
    )
    if processes and cells[-1].endswith("MiB"):
        return ["pid", "process_name", "used_gpu_memory"] if len(cells) == 3 else ["pid", "used_gpu_memory"]
    return names


def _first(row: dict[str, str], names: tuple[str, ...]) -> str:
    return next((row[name] for name in names if name in row), "")


def _gpu(row: dict[str, str]) -> Gpu:
    throttle = reasons(row.get("clocks_event_reasons.active", row.get("clocks_throttle_reasons.active", "0")))
    active = [m["reason"] for k, v in row.items() if v == "Active" and (m := _THROTTLE.fullmatch(k))]
    errors = [integer(value) for name, value in row.items() if _UNCORRECTED.fullmatch(name)]
    used, total, free = (mebibytes(row.get(name, "")) for name in ("memory.used", "memory.total", "memory.free"))
    bus = row.get("pci.bus_id", row.get("gpu_bus_id", ""))
    return Gpu(
        index=integer(row.get("index", "")),
        name=row.get("name", row.get("gpu_name")),
        pci=pci_address(bus) if bus else None,
        memory_used=total - free if used is None and total is not None and free is not None else used,
        memory_total=total,
        utilization=integer(row.get("utilization.gpu", "")),
        temperature=integer(row.get("temperature.gpu", "")),
        power_w=real(_first(row, _POWER)),
        clock_mhz=integer(_first(row, _CLOCK)),
        uncorrected=max((count for count in errors if count is not None), default=None),
        throttle=throttle + tuple(reason for reason in active if reason not in throttle and "idle" not in reason),
    )


def _joins(reader: _Reader, gpu: Gpu, time: float | None) -> bool:
    """Tell whether a row shows another GPU of the instant that the last row shows."""
    if reader.fresh or not reader.snapshots:
        return False
    snapshot = reader.snapshots[-1]
    last = snapshot.gpus[-1] if snapshot.gpus else None
    if last is None:
        return False
    if gpu.index is not None and last.index is not None:
        return gpu.index > last.index
    if gpu.pci is not None and last.pci is not None:
        return all(gpu.pci != other.pci for other in snapshot.gpus)
    if time is not None and snapshot.time is not None:
        return abs(time - snapshot.time) <= _SAME_INSTANT_S
    return len(snapshot.gpus) < _ONE_LISTING


def _process(reader: _Reader, row: dict[str, str], where: tuple[int, str], time: float | None) -> None:
    if not row["pid"].isdecimal() or len(row["pid"]) > 10:
        return
    snapshot = reader.snapshots[-1] if reader.snapshots and not reader.fresh else None
    if snapshot is None or (time is not None and snapshot.time is not None and time - snapshot.time > _SAME_INSTANT_S):
        snapshot = Snapshot(where[0], where[0], [], time, processes=[])
        reader.snapshots.append(snapshot)
    reader.fresh = False
    memory = mebibytes(row.get("used_gpu_memory", row.get("used_memory", "")))
    snapshot.processes = [
        *(snapshot.processes or []),
        Process(int(row["pid"]), None, memory, row.get("process_name", "")),
    ]
    snapshot.end_line = where[0]
    snapshot.text.append(where[1])


def _findings(
    reader: _Reader, row: dict[str, str], gpu: Gpu, where: tuple[int, str], time: float | None
) -> Iterator[Event]:
    """Yield what a row complains of, once for each GPU and each complaint."""
    facts: dict[str, Value] = {"device": gpu.index, "pci": gpu.pci}
    complaints: list[tuple[str, str, dict[str, Value]]] = []
    gone = any(words in where[1] for words in ("GPU is lost", "GPU requires reset"))
    if gone or any(is_lost(cell) for name, cell in row.items() if name in _VITAL):
        complaints.append(("error", "gpu-lost", {"topic": "gpu-lost"}))
    if gpu.uncorrected:
        complaints.append(("ecc", "uncorrected", {"uncorrected_errors": gpu.uncorrected}))
    for name, fact in (("remapped_rows.pending", "remap_pending"), ("remapped_rows.failure", "remap_failed")):
        if row.get(name, "").lower() in {"yes", "1"}:
            complaints.append(("ecc", fact, {fact: True}))
    faulty = tuple(reason for reason in gpu.throttle if reason in FAULTY_REASONS)
    if faulty:
        complaints.append(("throttle", " ".join(faulty), {"throttle_reasons": faulty}))
    for kind, what, more in complaints:
        key = (f"{kind} {what}", gpu.pci or gpu.index)
        if key not in reader.reported:
            reader.reported.add(key)
            yield told(reader.context, kind, where, {**facts, **more}, time)
