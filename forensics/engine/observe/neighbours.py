"""Who else was on the GPU whose memory did not suffice: nvidia-smi's processes beside the failed allocation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event
from forensics.text.lazy import lazy
from forensics.text.sizes import parse_size

_FAILED = lazy(
    r"(?i)out of memory.{0,200}?\b(?:GPU|gpu|device|cuda:) ?(?P<device>\d{1,3})\b.{0,200}?"
    r"|\b(?:GPU|gpu|device|cuda:) ?(?P<device2>\d{1,3})\b.{0,120}?out of memory"
)
_ASKED = lazy(
    r"(?i)(?:tried to|cannot|failed to) allocate (?P<size>[\d.]{1,16} ?(?:bytes|[KMGT]i?B)|[\d.]{1,16}[KMGT]?B)"
)
NEAR_S = 900.0
"""Seconds from the failure within which a look at the GPUs shows who was there then."""
LEAST_SHARE = 0.1
"""Share of the card from which on another process matters; contexts and desktops take less."""
_MOST = 8


class _Process(Struct, frozen=True):
    pid: int
    bytes: int
    name: str


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `neighbour` for the first failed allocation on a card that another process holds much of."""
    shots = [e for e in seen.said("nvidia-smi", "snapshot") if e.fields.get("pids")]
    if not shots:
        return
    failed = [e for e in seen.events if e.speaker in {"exception", "torchelastic", "log", "output"}]
    for event in [e for e in failed if seen.is_current(e.path) and "memory" in e.message][: _MOST * 4]:
        found = _FAILED.search(event.message)
        asked = _ASKED.search(event.message)
        size = parse_size(asked["size"]) if asked else None
        if found is None or size is None:
            continue
        device = int(found["device"] or found["device2"])
        for shot in shots[-_MOST:]:
            others = _others(seen, event, shot, device)
            held = sum(p.bytes for p in others)
            if others and held >= size and held >= LEAST_SHARE * (_card(shot, device) or 0):
                fields = {"device": device, "foreign_bytes": held, "pid": others[0].pid, "requested_bytes": size}
                text = f"process {others[0].pid} ({others[0].name}) holds memory of GPU {device} too"
                yield observed(event.place, "neighbour", text, fields, (shot.place,), event.time, event.rank)
                return


def _others(seen: Seen, event: Event, shot: Event, device: int) -> list[_Process]:
    """Return who was on the card and is not ours: there before our log began, or under another name at that time."""
    there = _processes(shot, device)
    log = seen.source(event.path)
    if log is not None and log.started is not None and shot.time is not None and shot.time < log.started:
        return sorted(there, key=lambda p: -p.bytes)
    known = [moment for moment in seen.moments(event) if math.isfinite(moment)]
    near = not known or shot.time is None or min(abs(shot.time - moment) for moment in known) <= NEAR_S
    if not near or len(there) < 2:
        return []
    pids = {e.pid for e in seen.events if e.pid is not None and e.path == event.path}
    mine = [p for p in there if p.pid in pids] or [p for p in there if p.name in _started(seen)]
    names = {p.name for p in mine}
    # Ranks of one run on one card are called alike: they are not each other's strangers.
    return sorted((p for p in there if mine and p.name not in names), key=lambda p: -p.bytes)


def _processes(shot: Event, device: int) -> list[_Process]:
    rows = [shot.fields.get(n) for n in ("pids", "process_gpus", "process_memory_bytes", "process_names")]
    if not all(isinstance(row, tuple) for row in rows):
        return []
    listed: Sequence[tuple[object, ...]] = list(zip(*(row for row in rows if isinstance(row, tuple)), strict=False))
    return [
        _Process(pid, size, str(name))
        for pid, gpu, size, name in listed
        if gpu == device and isinstance(pid, int) and isinstance(size, int)
    ]


def _card(shot: Event, device: int) -> int | None:
    indices, sizes = shot.fields.get("indices"), shot.fields.get("memory_total_bytes")
    if not isinstance(indices, tuple) or not isinstance(sizes, tuple) or device not in indices:
        return None
    size = sizes[indices.index(device)]
    return size if isinstance(size, int) else None


def _started(seen: Seen) -> set[str]:
    """Return the words that launch lines begin their programs with, as a list of processes shows them."""
    return {str(e.fields.get("start_command") or "").split(" ")[0] for e in seen.said("launch", "start")} | {"python"}
