"""The table that plain `nvidia-smi` prints, in every width from 7x to 580, once or in a loop.

The widths and names of columns differ between versions, so cells are cut at the bars and
read by what is in them. A table may be torn: what is missing stays None.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from forensics.model import Context, Event
from forensics.parsers.nvidia_smi.snapshot import (
    Gpu,
    Lines,
    Process,
    Snapshot,
    integer,
    mebibytes,
    pci_address,
    real,
    told,
    when,
)
from forensics.text.lazy import lazy

HEADER = lazy(
    r"\|\s{0,4}NVIDIA-SMI (?P<smi>[\w.]{1,24})\s+(?:KMD|Driver) Version: (?P<driver>[\w.]{1,24})"
    r"(?:\s+CUDA(?: UMD)? Version: (?P<cuda>[\w./]{1,12}))?"
)
_GPU = lazy(r"\s{0,6}(?P<index>\d{1,3})\s{1,4}(?P<name>.{1,60}?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s*")
_BUS = lazy(r"(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])")
_STATE = lazy(
    r"\s*(?:\S{1,6}\s+)?(?P<temperature>\d{1,3}C|N/A|ERR!)\s+(?P<perf>P\d{1,2}|N/A|ERR!)\s+(?P<power>\S{1,8})\s*/"
)
_MEMORY = lazy(r"(?P<used>\d{1,9}MiB|N/A|ERR!)\s*/\s*(?P<total>\d{1,9}MiB|N/A|ERR!)")
_UTILIZATION = lazy(r"\s*(?P<utilization>\d{1,3}%|N/A|ERR!)\s")
_PROCESS = lazy(
    r"\|\s{1,6}(?P<gpu>\d{1,3})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?(?P<pid>\d{1,10})\s+(?:C|G|M|C\+G|M\+C|G\+C)\s+"
    r"(?P<name>.{0,60}?)\s+(?P<memory>\d{1,9}MiB|N/A|\d{1,9}\.\.\.|\S{1,8}\.\.\.)\s*\|"
)
_MIG = lazy(r"\|\s+\d{1,3}\s+\d{1,3}\s+\d{1,3}\s+\d{1,3}\s*\|\s*\d")


def read(lines: Lines, context: Context) -> tuple[list[Snapshot], list[Event]]:
    """Read all tables in the lines.

    Returns:
        The snapshots, and an `error` for the first table in which a GPU shows `ERR!`.
    """
    starts = [at for at, (_, text) in enumerate(lines) if HEADER.search(text)]
    snapshots: list[Snapshot] = []
    errors: list[Event] = []
    lost: set[int | None] = set()
    for start, end in pairwise([*starts, len(lines)]):
        first = start - 1 if start and lines[start - 1][1].lstrip().startswith("+-") else start
        stop = _before_next(lines, end) if end < len(lines) else end
        snapshot = _one(lines[start:stop])
        dated = next((at for at in range(first - 1, max(first - 3, -1), -1) if lines[at][1].strip()), None)
        if dated is not None:
            snapshot.time = when(lines[dated][1], context)
            first = dated if snapshot.time is not None else first
        snapshot.line = lines[first][0]
        snapshot.text = [text for _, text in lines[first:stop]]
        snapshots.append(snapshot)
        for topic, index, where in _lost(lines[start:stop]):
            if index not in lost:
                lost.add(index)
                errors.append(told(context, "error", where, {"topic": topic, "device": index}, snapshot.time))
    return snapshots, errors


def _before_next(lines: Lines, end: int) -> int:
    """Return where the table before the header at `end` ends; its border and its date are the next one's."""
    while end > 0 and (lines[end - 1][1].lstrip().startswith("+-") or not lines[end - 1][1].lstrip().startswith("|")):
        end -= 1
    return end


def _one(lines: Lines) -> Snapshot:
    """Read one table, from its header on."""
    head = HEADER.search(lines[0][1])
    snapshot = Snapshot(lines[0][0], lines[0][0], [])
    if head:
        snapshot.driver, snapshot.cuda = head["driver"], head["cuda"]
    section = "head"
    for number, text in lines:
        if not text.lstrip().startswith(("|", "+")):
            if section == "processes" and text.strip():
                break
            continue
        snapshot.end_line = number
        if "Processes:" in text:
            section = "processes"
            snapshot.processes = []
        elif "MIG devices:" in text:
            section = "mig"
        elif text.lstrip().startswith("|==="):
            section = "gpus" if section == "head" else section
        elif section == "gpus":
            _gpu_row(text, snapshot)
        elif section == "mig" and _MIG.match(text):
            snapshot.mig_devices += 1
        elif section == "processes" and snapshot.processes is not None and (found := _PROCESS.match(text)):
            process = Process(int(found["pid"]), int(found["gpu"]), mebibytes(found["memory"]), found["name"].strip())
            snapshot.processes.append(process)
    return snapshot


def _cells(text: str) -> list[str]:
    return text.strip().strip("|").split("|")


def _gpu_row(text: str, snapshot: Snapshot) -> None:
    """Read one of the rows of a GPU: its name, or its state."""
    cells = _cells(text)
    name = _GPU.fullmatch(cells[0]) if cells else None
    if name:
        gpu = Gpu(index=int(name["index"]), name=name["name"].strip())
        if len(cells) > 1 and (bus := _BUS.search(cells[1])):
            gpu.pci = pci_address(bus["pci"])
        if len(cells) > 2:
            gpu.uncorrected = integer(cells[2])
        snapshot.gpus.append(gpu)
        return
    state = _STATE.match(cells[0]) if cells else None
    if state is None or not snapshot.gpus:
        return
    gpu = snapshot.gpus[-1]
    gpu.temperature, gpu.power_w = integer(state["temperature"]), real(state["power"])
    if len(cells) > 1 and (memory := _MEMORY.search(cells[1])):
        gpu.memory_used, gpu.memory_total = mebibytes(memory["used"]), mebibytes(memory["total"])
    if len(cells) > 2 and (used := _UTILIZATION.match(cells[2])):
        gpu.utilization = integer(used["utilization"])


def _lost(lines: Lines) -> Iterator[tuple[str, int | None, tuple[int, str]]]:
    """Yield topic, index and place of the GPUs that show `ERR!`: all of it, or one sensor."""
    index: int | None = None
    for number, text in lines:
        if "Processes:" in text:
            return
        cells = _cells(text)
        if name := _GPU.fullmatch(cells[0]):
            index = int(name["index"])
        if "ERR!" in text:
            vital = text.count("ERR!") > 1 or "ERR!" not in cells[0]
            yield "gpu-lost" if vital else "sensor", index, (number, text)
