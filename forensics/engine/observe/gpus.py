"""What nvidia-smi shows of all GPUs together."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value

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
    if last is None:
        return
    used = last.fields.get("memory_used_bytes")
    load = last.fields.get("utilization")
    if not isinstance(used, tuple) or not used or last.fields.get("pids"):
        return
    numbers = [u for u in used if isinstance(u, int)]
    busy = isinstance(load, tuple) and any(isinstance(x, (int, float)) and x > 0 for x in load)
    if len(numbers) == len(used) and max(numbers) <= IDLE_BYTES and not busy:
        fields: dict[str, Value] = {"gpus": len(used), "gpu_mem_used_bytes": max(numbers)}
        yield Event(
            speaker="observed",
            kind="all-idle",
            path=last.path,
            line=last.line,
            end_line=last.end_line,
            text=last.text,
            message=f"all {len(used)} GPUs are idle and empty",
            time=last.time,
            fields=fields,
            also=tuple(Evidence(e.path, e.line, e.end_line, e.text) for e in seen.said("tmux", "no-server"))[:1],
        )
