"""The snapshot of PyTorch's caching allocator: what held the memory, and the request that failed.

Events: `oom` (the last failed request of the trace: requested_bytes, free_bytes, device,
frames, file, file_line, function) and `snapshot` (allocated_bytes, reserved_bytes,
reserved_unallocated_bytes, largest_free_bytes, segments, consumers: the largest, each
`(place, bytes, blocks)`). The frames of an entry are innermost first, and C++ frames
stand among them in newer builds; a place is the innermost Python frame outside torch.
Format: torch/cuda/_memory_viz.py and torch/csrc/cuda/memory_snapshot.cpp, 1.13 to 2.11.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forensics.model import Context, Event, Value
from forensics.text.plain_pickle import Loaded, PlainPickleError, load
from forensics.text.sizes import format_size

_CONSUMERS = 5
_MOST_FRAMES = 60
_LIBRARY = ("site-packages/torch/", "dist-packages/torch/", "/torch/nn/", "<frozen", "<eval_with_key>")
_MICROSECONDS = 1e6


class MemorySnapshot:
    """See the module's text."""

    speaker = "allocator"
    kinds = frozenset({"memory-snapshot"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield `oom` where the trace has one, then `snapshot`."""
        try:
            loaded = load(data)
        except PlainPickleError:
            return
        dump = loaded.value
        if not isinstance(dump, Mapping):
            # Up to 2.0 the snapshot is the list of segments alone.
            dump = {"segments": dump} if isinstance(dump, list) else {}
        traces = _sequence(dump.get("device_traces"))
        failed = [
            (at, entry) for at, trace in enumerate(traces) for entry in _mappings(trace) if entry.get("action") == "oom"
        ]
        if failed:
            at, entry = max(failed, key=lambda pair: (_integer(pair[1].get("time_us")), pair[0]))
            yield _oom(at, entry, context)
        segments = list(_mappings(dump.get("segments")))
        if segments:
            yield _totals(segments, loaded, context)


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _mappings(value: Any) -> Iterator[Mapping[Any, Any]]:
    return (item for item in _sequence(value) if isinstance(item, Mapping))


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else 0


def _word(value: Any) -> str:
    return value[:400] if isinstance(value, str) else ""


def _python_frames(entry: Mapping[Any, Any]) -> list[tuple[str, int, str]]:
    """Return file, line and function of an entry's Python frames, innermost first."""
    frames = []
    for frame in _mappings(entry.get("frames")):
        file, line = _word(frame.get("filename")), _integer(frame.get("line"))
        if line > 0 and file not in {"", "??"}:
            frames.append((file, line, _word(frame.get("name"))))
    return frames


def _innermost(frames: list[tuple[str, int, str]]) -> tuple[str, int, str] | None:
    own = [frame for frame in frames if not any(mark in frame[0] for mark in _LIBRARY)]
    return next(iter(own or frames), None)


def _event(kind: str, message: str, fields: dict[str, Value], context: Context, time: float | None = None) -> Event:
    return Event(
        speaker="allocator",
        kind=kind,
        path=context.source.path,
        line=0,
        text=message,
        message=message,
        time=time,
        rank=context.source.rank,
        host=context.source.host,
        fields=fields,
    )


def _oom(device: int, entry: Mapping[Any, Any], context: Context) -> Event:
    frames = _python_frames(entry)
    requested = _integer(entry.get("size"))
    # The entry keeps the free bytes where others keep an address.
    free = _integer(entry.get("device_free", entry.get("addr")))
    fields: dict[str, Value] = {
        "device": device,
        "requested_bytes": requested,
        "free_bytes": free,
        "frames": "\n".join(f'File "{file}", line {line}, in {name}' for file, line, name in frames[:_MOST_FRAMES]),
    }
    place = _innermost(frames)
    where = ""
    if place:
        fields.update(file=place[0], file_line=place[1], function=place[2])
        where = f" at {place[0]}:{place[1]}"
    time = _integer(entry.get("time_us"))
    message = f"out of memory: {format_size(requested)} requested, {format_size(free)} free{where}"
    return _event("oom", message, fields, context, time / _MICROSECONDS if time > 0 else None)


def _totals(segments: list[Mapping[Any, Any]], loaded: Loaded, context: Context) -> Event:
    reserved = sum(_integer(segment.get("total_size")) for segment in segments)
    allocated = sum(_integer(segment.get("allocated_size")) for segment in segments)
    largest = 0
    held: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for segment in segments:
        for block in _mappings(segment.get("blocks")):
            size = _integer(block.get("size"))
            if block.get("state") == "inactive":
                largest = max(largest, size)
                continue
            place = _innermost(_python_frames(block) or _history(block))
            owner = held[f"{place[0]}:{place[1]} {place[2]}" if place else "unknown"]
            owner[0] += size
            owner[1] += 1
    top = sorted(held.items(), key=lambda item: (-item[1][0], item[0]))[:_CONSUMERS]
    fields: dict[str, Value] = {
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "reserved_unallocated_bytes": max(reserved - allocated, 0),
        "largest_free_bytes": largest,
        "segments": len(segments),
        "consumers": tuple((place, size, blocks) for place, (size, blocks) in top),
    }
    if not loaded.complete:
        fields["capped" if loaded.capped else "torn"] = True
    most = f"; most by {top[0][0]} ({format_size(top[0][1][0])})" if top else ""
    message = f"{format_size(allocated)} allocated of {format_size(reserved)} reserved{most}"
    return _event("snapshot", message, fields, context)


def _history(block: Mapping[Any, Any]) -> list[tuple[str, int, str]]:
    """Return the frames where 1.13 to 2.0 keep them: in the history of the block."""
    for entry in _mappings(block.get("history")):
        return _python_frames(entry)
    return []


PARSER = MemorySnapshot()
