"""The dump of PyTorch's flight recorder: the last collectives of one rank, and how far each got.

One event `recorder` for each file. Fields: rank (from the file's name, or the dump),
version, entries (how many), collectives (the newest, each `(process group, sequence
number, operation, sizes, state, place)`, where place is the innermost frame outside
the libraries; a point-to-point operation has its own numbers),
last_enqueued, last_started, last_completed of the default group, unfinished (how many
are not completed), frames (Python stack of the oldest unfinished one), timeout_ms.
`torn` says that the dump ends early, `capped` that it is larger than what is read.
Format: torch 2.1 to 2.11 ProcessGroupNCCL / FlightRecorder.hpp; pickle or JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forensics.model import Context, Event, Value
from forensics.text.lazy import lazy
from forensics.text.plain_pickle import Loaded, PlainPickleError, load

MOST_COLLECTIVES = 512
_MOST_FRAMES = 40
_NANOSECONDS = 1e9
_LIBRARIES = ("site-packages", "dist-packages", "/lib/python3", "<frozen", "??")
_RANK = lazy(r"(?:rank_?|[_-])(?P<rank>\d{1,6})(?:\.\w{1,8})?$")


class FlightRecorder:
    """See the module's text."""

    speaker = "flight-recorder"
    kinds = frozenset({"flight-recorder"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield one event `recorder`, or none where the file is no dump."""
        loaded = _load(data)
        if loaded is None or not isinstance(loaded.value, Mapping):
            return
        dump = loaded.value
        entries = [entry for entry in _sequence(dump.get("entries")) if isinstance(entry, Mapping)]
        if not entries and "pg_config" not in dump:
            return
        entries.sort(key=lambda entry: _integer(entry.get("record_id")) or 0)
        newest = entries[-MOST_COLLECTIVES:]
        unfinished = [entry for entry in entries if _word(entry.get("state")) not in {"completed", None}]
        rank = _rank(dump, context)
        fields: dict[str, Value] = {
            "rank": rank,
            "version": _word(dump.get("version")),
            "entries": len(entries),
            "collectives": tuple(_collective(entry) for entry in newest),
            "unfinished": len(unfinished),
            **_status(dump),
            "frames": _frames(unfinished[0]) if unfinished else None,
            "timeout_ms": next((t for t in (_integer(e.get("timeout_ms")) for e in reversed(entries)) if t), None),
            "torn": None if loaded.complete or loaded.capped else True,
            "capped": True if loaded.capped else None,
        }
        last = newest[-1] if newest else {}
        words = " ".join(str(part) for part in _collective(last)[:3]) if newest else "no entries"
        yield Event(
            speaker="flight-recorder",
            kind="recorder",
            path=context.source.path,
            line=0,
            text=f"{len(entries)} entries, {len(unfinished)} not completed; the newest: {words}",
            message=f"{len(entries)} entries, {len(unfinished)} not completed; the newest: {words}",
            time=_time(last),
            rank=rank,
            host=context.source.host,
            fields={name: value for name, value in fields.items() if value is not None},
        )


def _rank(dump: Mapping[Any, Any], context: Context) -> int | None:
    """Return the rank: the dump itself does not know it, its file's name ends in it."""
    if context.source.rank is not None:
        return context.source.rank
    named = _RANK.search(context.source.path)
    return int(named["rank"]) if named else _integer(dump.get("rank"))


def _load(data: bytes) -> Loaded | None:
    if data.lstrip()[:1] == b"{":
        try:
            return Loaded(json.loads(data), complete=True)
        except (ValueError, RecursionError):
            return None
    try:
        return load(data)
    except PlainPickleError:
        return None


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def _word(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) else None


def _sizes(value: Any) -> str:
    """Show `[[1543168], [2, 3]]` as `1543168 2x3`."""
    shapes = []
    for shape in _sequence(value)[:16]:
        numbers = [_integer(n) for n in _sequence(shape)[:16]]
        shapes.append("x".join(str(n) for n in numbers if n is not None))
    return " ".join(shapes)


def _collective(entry: Mapping[Any, Any]) -> tuple[Value, ...]:
    group = _sequence(entry.get("process_group"))
    name = _word(group[0]) if group else None
    if name is None:
        name = str(_integer(entry.get("pg_id")) or 0)
    peer = entry.get("is_p2p") is True
    number = _integer(entry.get("p2p_seq_id" if peer else "collective_seq_id"))
    if number is None:  # up to 2.3 there is one sequence
        number = _integer(entry.get("seq_id"))
    sizes = _sizes(entry.get("input_sizes")) or _sizes(entry.get("output_sizes"))
    operation, state = _word(entry.get("profiling_name")) or "", _word(entry.get("state")) or ""
    return name, number, operation, sizes, state, _place(entry)


def _status(dump: Mapping[Any, Any]) -> dict[str, Value]:
    """Return how far the default group got; -1 is none."""
    status = dump.get("pg_status")
    groups = status if isinstance(status, Mapping) else {}
    first = groups.get("0", groups.get(0, next(iter(groups.values()), None)))
    if not isinstance(first, Mapping):
        return {}
    return {
        name.removesuffix("_collective"): _integer(first.get(name))
        for name in ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    }


def _frames(entry: Mapping[Any, Any]) -> str | None:
    """Return the stack of an entry, innermost frame first."""
    lines = []
    for frame in _sequence(entry.get("frames"))[:_MOST_FRAMES]:
        if isinstance(frame, Mapping):
            file, line, name = _word(frame.get("filename")), _integer(frame.get("line")), _word(frame.get("name"))
            lines.append(f'File "{file}", line {line}, in {name}')
    return "\n".join(lines) or None


def _place(entry: Mapping[Any, Any]) -> str:
    """Return `file:line` of the innermost frame that is not in a library; frames are innermost first."""
    for frame in _sequence(entry.get("frames"))[:_MOST_FRAMES]:
        if isinstance(frame, Mapping):
            file, line = _word(frame.get("filename")), _integer(frame.get("line"))
            if file and line and not any(mark in file for mark in _LIBRARIES):
                return f"{file}:{line}"
    return ""


def _time(entry: Mapping[Any, Any]) -> float | None:
    created = _integer(entry.get("time_created_ns"))
    return created / _NANOSECONDS if created and created > 0 else None


PARSER = FlightRecorder()
