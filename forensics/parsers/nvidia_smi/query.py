"""`nvidia-smi -q` as text and as XML: the same tree of names and values, in two spellings.

Both become a list of entries per GPU: a path such as `ecc_errors/volatile/dram_uncorrectable`,
a value and a line. XML is cut at its tags rather than parsed: a loop writes several
documents into one file, the last may be torn, and entities are of no use here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from forensics.model import Context, Event, Value
from forensics.parsers.nvidia_smi.snapshot import (
    FAULTY_REASONS,
    REASONS,
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

_PAIR = lazy(r"(?P<indent> {0,40})(?P<key>\S.{0,80}?)\s{0,60}: (?P<value>.{0,300})")
_GPU = lazy(r"GPU (?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_TAG = lazy(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.-]{0,80})(?P<attributes>[^<>]{0,400})>(?P<value>[^<>]{0,2000})")
_ID = lazy(r"id=\"(?P<pci>[0-9A-Fa-f:.]{5,24})\"")
_REASON = lazy(r"(?:clocks_(?:throttle|event)_reason_)?(?P<reason>\w+)")
_KNOWN_REASONS = frozenset(name for _, name in REASONS)
_DEPTH = 24
_SILENT = 3  # values that cannot be read before a GPU counts as lost: one may be a sensor
_YES = frozenset({"yes", "active", "true"})


class _Entry(Struct, frozen=True):
    path: str
    value: str
    where: tuple[int, str]


class _Log(Struct):
    """One log: what stands above the GPUs, and the entries of each."""

    first: tuple[int, str]
    head: dict[str, str] = field(default_factory=dict)
    gpus: list[tuple[str, list[_Entry]]] = field(default_factory=list)
    last: int = 0


def read_text(lines: Lines, context: Context) -> tuple[list[Snapshot], list[Event]]:
    """Read `nvidia-smi -q`, one or more logs. Returns the snapshots, and what they complain of."""
    logs: list[_Log] = []
    path: list[tuple[int, str]] = []
    for number, text in lines:
        if "NVSMI LOG" in text:
            logs.append(_Log((number, text)))
            continue
        if not logs or not text.strip():
            continue
        log = logs[-1]
        log.last = number
        if match := _GPU.match(text):
            log.gpus.append((pci_address(match["pci"]), []))
            path = []
            continue
        pair = _PAIR.fullmatch(text.rstrip() + " " if text.rstrip().endswith(":") else text.rstrip())
        indent = len(text) - len(text.lstrip())
        key = _key(pair["key"] if pair else text)
        while path and path[-1][0] >= indent:
            path.pop()
        if pair and not log.gpus:
            log.head[key] = pair["value"].strip()
        elif pair:
            names = "/".join([*(name for _, name in path[-_DEPTH:]), key])
            log.gpus[-1][1].append(_Entry(names, pair["value"].strip(), (number, text)))
        if len(path) < _DEPTH:
            path.append((indent, key))
    return _all(logs, context)


def read_xml(lines: Lines, context: Context) -> tuple[list[Snapshot], list[Event]]:
    """Read `nvidia-smi -q -x`, one or more documents. Returns as `read_text` does."""
    logs: list[_Log] = []
    path: list[str] = []
    for number, text in lines:
        for tag in _TAG.finditer(text):
            name = tag["name"]
            if tag["close"]:
                if name in path:
                    del path[len(path) - 1 - path[::-1].index(name) :]
                continue
            if name == "nvidia_smi_log":
                logs.append(_Log((number, text)))
                path = []
            elif logs and name == "gpu" and (pci := _ID.search(tag["attributes"])):
                logs[-1].gpus.append((pci_address(pci["pci"]), []))
                path = []
            elif logs:
                _xml_value(logs[-1], path, tag, (number, text))
        if logs and text.strip():
            logs[-1].last = number
    return _all(logs, context)


def _xml_value(log: _Log, path: list[str], tag: re.Match[str], where: tuple[int, str]) -> None:
    value = tag["value"].strip()
    if not log.gpus:
        log.head[tag["name"]] = value
    elif value or tag["name"] == "processes":
        log.gpus[-1][1].append(_Entry("/".join([*path, tag["name"]]), value, where))
    if not tag["attributes"].rstrip().endswith("/") and len(path) < _DEPTH:
        path.append(tag["name"])


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.strip().lower()).strip("_")


def _all(logs: Iterable[_Log], context: Context) -> tuple[list[Snapshot], list[Event]]:
    snapshots: list[Snapshot] = []
    found: list[Event] = []
    for log in logs:
        snapshot = Snapshot(log.first[0], log.last or log.first[0], [log.first[1]])
        snapshot.time = when(log.head.get("timestamp", ""), context)
        snapshot.driver, snapshot.cuda = log.head.get("driver_version"), log.head.get("cuda_version")
        for index, (pci, entries) in enumerate(log.gpus):
            snapshot.gpus.append(_gpu(index, pci, entries))
            processes = _processes(index, entries)
            if processes is not None:
                snapshot.processes = [*(snapshot.processes or []), *processes]
            found.extend(_findings(index, pci, entries, snapshot.time, context))
        snapshots.append(snapshot)
    return snapshots, found


def _gpu(index: int, pci: str, entries: list[_Entry]) -> Gpu:
    gpu = Gpu(index=index, pci=pci)
    for entry in entries:
        path, value = entry.path, entry.value
        if path == "product_name":
            gpu.name = value
        elif path == "fb_memory_usage/used":
            gpu.memory_used = mebibytes(value)
        elif path == "fb_memory_usage/total":
            gpu.memory_total = mebibytes(value)
        elif path in {"utilization/gpu", "utilization/gpu_util"}:
            gpu.utilization = integer(value)
        elif path in {"temperature/gpu_current_temp", "temperature/gpu_temp"}:
            gpu.temperature = integer(value)
        elif path == "clocks/sm":
            gpu.clock_mhz = integer(value)
        elif re.fullmatch(r"(?:gpu_)?power_readings/(?:average_|instantaneous_|instant_)?power_draw", path):
            gpu.power_w = gpu.power_w if gpu.power_w is not None else real(value)
    gpu.throttle = tuple(reason for reason, _ in _active(entries))
    counts = [integer(e.value) or 0 for e in entries if _uncorrected(e.path)]
    gpu.uncorrected = sum(counts) if counts else None
    return gpu


def _active(entries: list[_Entry]) -> Iterator[tuple[str, _Entry]]:
    """Yield the reasons for low clocks that are active, without idleness."""
    for entry in entries:
        section, _, last = entry.path.rpartition("/")
        if re.match(r"clocks_(?:throttle|event)_reasons(?:/|$)", section) and entry.value.lower() == "active":
            match = _REASON.fullmatch(last)
            if match and match["reason"] in _KNOWN_REASONS:
                yield match["reason"], entry


def _uncorrected(path: str) -> bool:
    """Tell whether an entry counts uncorrected errors since the driver was loaded."""
    if not path.startswith("ecc_errors/volatile/"):
        return False
    last = path.rpartition("/")[2]
    return "uncorrectable" in last or ("/double_bit/" in path and last != "total")


def _processes(index: int, entries: list[_Entry]) -> list[Process] | None:
    """Return the processes of a GPU, or None where the log does not list them."""
    found: list[Process] | None = None
    for entry in entries:
        section, _, last = entry.path.rpartition("/")
        if not entry.path.startswith("processes"):
            continue
        found = found if found is not None else []
        if last in {"process_id", "pid"} and entry.value.isdecimal() and len(entry.value) <= 10:
            found.append(Process(int(entry.value), index, None, ""))
        elif found and last in {"name", "process_name"} and section != "processes":
            found[-1].name = entry.value
        elif found and last in {"used_gpu_memory", "used_memory"}:
            found[-1].memory = mebibytes(entry.value)
    return found


def _findings(index: int, pci: str, entries: list[_Entry], time: float | None, context: Context) -> Iterator[Event]:
    """Yield `ecc`, `throttle` and `error` events of one GPU, each at the line that tells most."""
    about: dict[str, Value] = {"device": index, "pci": pci}
    counts: dict[str, int] = {}
    decisive: _Entry | None = None
    states: dict[str, Value] = {}
    for entry in entries:
        last = entry.path.rpartition("/")[2]
        if _uncorrected(entry.path) and (count := integer(entry.value)):
            name = "dram_uncorrectable" if "dram" in last or "device_memory" in last else "sram_uncorrectable"
            counts[name] = counts.get(name, 0) + count
            decisive = decisive or entry
        elif (
            entry.path in {"remapped_rows/pending", "remapped_rows/remapped_row_pending"}
            and entry.value.lower() in _YES
        ):
            states["remap_pending"] = True
            decisive = decisive or entry
        elif entry.path in {"remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure"}:
            if entry.value.lower() in _YES:
                states["remap_failed"] = True
                decisive = decisive or entry
        elif last == "gpu_recovery_action" and entry.value not in {"None", "N/A", ""}:
            states["recovery_action"] = entry.value
            decisive = decisive or entry
        elif last in {"pending_page_blacklist", "pending_retirement"} and entry.value.lower() in _YES:
            states["retirement_pending"] = True
            decisive = decisive or entry
    if decisive is not None:
        yield told(context, "ecc", decisive.where, {**about, **counts, **states}, time)
    active = [(reason, entry) for reason, entry in _active(entries) if reason in FAULTY_REASONS]
    if active:
        names = tuple(dict.fromkeys(reason for reason, _ in active))
        yield told(context, "throttle", active[0][1].where, {**about, "throttle_reasons": names}, time)
    silent = [
        entry for entry in entries if entry.value in {"Unknown Error", "GPU is lost", "GPU requires reset", "ERR!"}
    ]
    if len(silent) >= _SILENT or any(entry.value.startswith("GPU ") for entry in silent):
        lost = silent[0]
        yield told(context, "error", lost.where, {**about, "topic": "gpu-lost", "reason": lost.value}, time)
