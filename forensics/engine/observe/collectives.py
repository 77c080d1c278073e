"""What several ranks' words on collectives show together: disagreement, and who is silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value

_NAMED = 8
"""Ranks that are named one by one; more would hide the difference."""
_PLACE = 5
"""Where a recorder's entry holds the place of the call."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `mismatch` where ranks ran different collectives under one number."""
    timeouts = [e for e in seen.said("c10d", "timeout") if e.rank is not None and seen.is_current(e.path)]
    calls = _calls(seen)
    yield from _same_number(timeouts, calls) or _recorders(timeouts, calls)
    yield from _silent(seen, timeouts)


@dataclass(frozen=True, slots=True)
class _Call:
    """One rank's entry in its flight recorder."""

    operation: str
    place: str
    event: Event


_Calls: TypeAlias = Mapping[Value, Mapping[int, _Call]]


def _calls(seen: Seen) -> _Calls:
    """Return sequence number -> rank -> call, of the first process group that differs there."""
    groups: dict[Value, dict[Value, dict[int, _Call]]] = defaultdict(lambda: defaultdict(dict))
    for event in seen.said("flight-recorder", "recorder"):
        collectives = event.fields.get("collectives")
        if event.rank is None or not isinstance(collectives, tuple):
            continue
        for entry in collectives:
            if isinstance(entry, tuple) and len(entry) > _PLACE:
                groups[entry[0]][entry[1]][event.rank] = _Call(str(entry[2]), str(entry[_PLACE]), event)
    found: dict[Value, dict[int, _Call]] = {}
    for numbers in groups.values():
        for number, ranks in numbers.items():
            if number not in found or len({c.operation for c in ranks.values()}) > 1:
                found[number] = ranks
    return found


def _same_number(timeouts: Sequence[Event], calls: _Calls) -> list[Event]:
    """Two ranks wait under the same number for different operations or different sizes."""
    by_seq: dict[tuple[Value, Value], list[Event]] = defaultdict(list)
    for event in timeouts:
        by_seq[event.fields.get("pg"), event.fields.get("seq")].append(event)
    for (_, seq), events in by_seq.items():
        first = events[0]
        other = next((e for e in events if e.rank != first.rank and _what(e) != _what(first)), None)
        if other is not None and seq is not None:
            operations = {e.rank or 0: str(_what(e)[0]) for e in (first, other)}
            return [_mismatch([first, other], seq, operations, calls.get(seq, {}))]
    return []


def _what(event: Event) -> tuple[Value, ...]:
    sizes = (event.fields.get("numel_in"), event.fields.get("numel_out"), event.fields.get("shape"))
    # A scatter or gather differs in size between root and the others; the operation does not.
    return (event.fields.get("collective"), *(sizes if event.fields.get("collective") == "ALLREDUCE" else ()))


def _recorders(timeouts: Sequence[Event], calls: _Calls) -> list[Event]:
    """The flight recorders of two ranks name different operations under one number."""
    for seq, ranks in sorted(calls.items(), key=lambda kv: kv[0] if isinstance(kv[0], int) else 0):
        if len({call.operation for call in ranks.values()}) > 1:
            said = [e for e in timeouts if e.rank in ranks] or [c.event for c in ranks.values()]
            return [_mismatch(said, seq, {rank: c.operation for rank, c in ranks.items()}, ranks)]
    return []


def _mismatch(events: Sequence[Event], seq: Value, operations: Mapping[int, str], calls: Mapping[int, _Call]) -> Event:
    first, *rest = sorted(events, key=lambda e: (e.path, e.line))
    fields: dict[str, Value] = {"seq": seq, **{f"rank{r}_op": op for r, op in sorted(operations.items())[:_NAMED]}}
    fields |= {f"rank{r}_at": c.place for r, c in sorted(calls.items())[:_NAMED] if c.place}
    if timeout := first.fields.get("timeout_ms"):
        fields["timeout_ms"] = timeout
    names = ", ".join(f"rank {r} {_told(r, op, calls)}" for r, op in sorted(operations.items())[:_NAMED])
    fields["sentence"] = f"Under sequence number {seq} the ranks call different collectives: {names}"
    recorded = [
        Evidence(c.event.path, 0, 0, f"{seq}: {c.operation}{f' at {c.place}' if c.place else ''}")
        for _, c in sorted(calls.items())[:_NAMED]
    ]
    also = (*(e.place for e in rest[:3]), *recorded)
    return observed(first.place, "mismatch", str(fields["sentence"]), fields, also, first.time, first.rank)


def _told(rank: int, operation: str, calls: Mapping[int, _Call]) -> str:
    call = calls.get(rank)
    return f"{call.operation} at {call.place}" if call and call.place else operation


def _silent(seen: Seen, timeouts: Sequence[Event]) -> Iterator[Event]:
    """All ranks but one wait: the one that says nothing is the suspect."""
    waiting = {e.rank for e in timeouts}
    known = {s.rank for s in seen.current_steps() if s.rank is not None}
    known |= {e.rank for e in seen.events if e.rank is not None and seen.is_current(e.path)}
    missing = sorted(r for r in known - waiting if r is not None)
    if waiting and len(missing) == 1 and len(known) > 2:
        first = min(timeouts, key=lambda e: (e.path, e.line))
        message = f"every rank but {missing[0]} reports a time-out"
        fields = {"rank": missing[0], **{k: v for k, v in first.fields.items() if k in {"seq", "collective"}}}
        yield observed(first.place, "silent-rank", message, fields, time=first.time, rank=missing[0])
