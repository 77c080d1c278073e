"""What nvidia-smi shows of all GPUs together."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event

IDLE_BYTES = 600 << 20
"""A card of a stopped job holds at most its driver's reserve."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `all-idle` for the last snapshot in which every GPU is empty and at 0 %.

    After an end that somebody recorded, idle GPUs are what one expects, and say nothing.
    """
    if any(True for _ in seen.said("status", "exit")) or any(True for _ in seen.said("progress", "complete")):
        return
    last = None
    for event in seen.said("nvidia-smi", "snapshot"):
        last = event if last is None or (event.time or 0) >= (last.time or 0) else last
    if last is None or last.fields.get("pids") or not empty(last) or any(load > 0 for load in loads(last)):
        return
    used = memory(last)
    also = tuple(e.place for e in seen.said("tmux", "no-server"))[:1]
    fields = {"gpus": len(used), "gpu_mem_used_bytes": max(used)}
    yield observed(last.place, "all-idle", f"all {len(used)} GPUs are idle and empty", fields, also, last.time)


def empty(snapshot: Event) -> bool:
    """Tell whether every GPU of a snapshot is known to hold nothing of a job."""
    row = snapshot.fields.get("memory_used_bytes")
    used = memory(snapshot)
    return isinstance(row, tuple) and 0 < len(used) == len(row) and max(used) <= IDLE_BYTES


def memory(snapshot: Event) -> tuple[int, ...]:
    """Return the bytes in use on each GPU of a snapshot, as far as they are known."""
    row = snapshot.fields.get("memory_used_bytes")
    return tuple(used for used in row if isinstance(used, int)) if isinstance(row, tuple) else ()


def loads(snapshot: Event) -> tuple[int | float, ...]:
    """Return the utilization in percent of each GPU of a snapshot, as far as it is known."""
    row = snapshot.fields.get("utilization")
    return tuple(load for load in row if isinstance(load, int | float)) if isinstance(row, tuple) else ()
