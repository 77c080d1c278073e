"""Recognising the many outputs of nvidia-smi, by what only they print."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forensics.text.lazy import lazy
from forensics.text.timestamps import leading_time

_TABLE_HEAD = lazy(r"^\| *NVIDIA-SMI \S+ .*(?:Driver|KMD) Version:", re.MULTILINE)
_TABLE_LINE = lazy(r" ?[|+]|Every \d+\.\d+s: ")
_CSV_COLUMN = lazy(r"(?P<name>[a-z][a-z0-9_.]+)(?: \[[\w%/ ]{1,12}\])?")
_CSV_KNOWN = lazy(
    r"timestamp|index|name|count|uuid|gpu_\w+|pid|process_name|used_memory|used_gpu_memory|driver_version|pstate|"
    r"serial|(?:memory|utilization|temperature|power|clocks|pci|ecc|fan|encoder|mig|compute|persistence|display|"
    r"retired|gpu|enforced|clocks_event_reasons|clocks_throttle_reasons|row_remapper|remapped_rows|vbios|inforom|"
    r"accounting|fabric|driver|pcie)[\w.]*"
)
_CSV_VALUE = lazy(
    r"-?[\d.]+ (?:MiB|%|W|MHz|C)|GPU-[0-9a-f-]{20,}|"
    r"\[(?:N/A|Not Supported|Unknown Error|GPU is lost|Insufficient Permissions|GPU requires reset)\]"
)
_CSV_TIME = lazy(r"20\d\d/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, ")
_CSV_NUMBERS = lazy(r"[\d.]+(?:, ?[^,]{1,60})+")
_DMON = lazy(r"# ?(?:(?:Date +)?Time +)?gpu\b(?P<rest>.*)")
_LIST = lazy(r"GPU \d{1,3}: .{1,100}\(UUID: GPU-[^)]+\)")
_MIG = lazy(r" {2,}MIG .{1,60}\(UUID: MIG-[^)]+\)")
_TOPO_HEAD = lazy(r"\s*GPU0\b.*(?:CPU Affinity|NUMA|GPU1|NIC0|mlx5_0)")
_TOPO_ROW = lazy(r"GPU0\s+X\s", re.IGNORECASE)
_LINK = lazy(r"\s+Link \d{1,2}: ")
_GPU_NAME = lazy(r"gpu|nvidia|smi|cuda", re.IGNORECASE)
_STRANGERS = 2
_MOSTLY = 0.6


def smi_kind(base: str, text: str, lines: Sequence[str]) -> str | None:
    """Tell which output of nvidia-smi a text is.

    A job's log that begins with such an output is none: what follows has to be of it too.

    Args:
        base: the file's name, which decides only whether bare numbers may be one.
        text: the beginning of the content.
        lines: its lines that are not blank.

    Returns:
        A kind beginning with `nvidia-smi-`, or None.
    """
    first = lines[0]
    if "<nvidia_smi_log" in text[:2000]:
        return "nvidia-smi-xml"
    if any("NVSMI LOG" in line and line.startswith("=") for line in lines[:4]):
        return "nvidia-smi-query"
    if "| NVIDIA-SMI " in text and _TABLE_HEAD.search(text) and _is_table(lines):
        return "nvidia-smi-table"
    header = _DMON.match(first)
    if header:
        return "nvidia-smi-pmon" if re.search(r"\b(?:pid|type)\b", header["rest"]) else "nvidia-smi-dmon"
    if _TOPO_HEAD.match(first) and any(_TOPO_ROW.match(line) for line in lines[1:4]):
        return "nvidia-smi-topo"
    if _LIST.match(first):
        listed = sum(_LIST.match(line) is not None or _MIG.match(line) is not None for line in lines)
        linked = sum(_LINK.match(line) is not None for line in lines)
        if linked:
            return "nvidia-smi-nvlink" if listed + linked >= _MOSTLY * len(lines) else None
        return "nvidia-smi-list" if listed == len(lines) else None
    return "nvidia-smi-csv" if _is_csv(base, lines) else None


def _is_table(lines: Sequence[str]) -> bool:
    strangers = sum(_TABLE_LINE.match(line) is None and leading_time(line)[1] == 0 for line in lines)
    return strangers <= max(_STRANGERS, len(lines) // 50)


def _is_csv(base: str, lines: Sequence[str]) -> bool:
    columns = [column.strip() for column in lines[0].split(",")]
    parsed = [_CSV_COLUMN.fullmatch(column) for column in columns]
    if all(match and _CSV_KNOWN.fullmatch(match["name"]) for match in parsed):
        telling = any("[" in column or "." in column or column.startswith("gpu_") for column in columns)
        rows = sum(line.count(",") == len(columns) - 1 for line in lines)
        return (telling or (len(columns) > 1 and _GPU_NAME.search(base) is not None)) and rows >= _MOSTLY * len(lines)
    sample = lines[:20]
    if all("," in line and (_CSV_TIME.match(line) or _has_unit(line)) for line in sample):
        return True
    return _GPU_NAME.search(base) is not None and all(_CSV_NUMBERS.fullmatch(line.strip()) for line in sample)


def _has_unit(line: str) -> bool:
    return any(_CSV_VALUE.fullmatch(value.strip()) for value in line.split(",")[:30])
