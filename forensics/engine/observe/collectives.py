"""What several ranks' words on collectives show together: disagreement, and who is silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `mismatch` where ranks ran different collectives under one number."""
    timeouts = [e for e in seen.said("c10d", "timeout") if e.rank is not None and seen.is_current(e.path)]
    yield from _same_number(timeouts) or _recorders(seen, timeouts)
    yield from _silent(seen, timeouts)


def _same_number(timeouts: Sequence[Event]) -> list[Event]:
    """Two ranks wait under the same number for different operations or different sizes."""
    by_seq: dict[tuple[Value, Value], list[Event]] = defaultdict(list)
    for event in timeouts:
        by_seq[event.fields.get("pg"), event.fields.get("seq")].append(event)
    for (_, seq), events in by_seq.items():
        first = events[0]
        other = next((e for e in events if e.rank != first.rank and _what(e) != _what(first)), None)
        if other is None or seq is None:
            continue
        return [_mismatch([first, other], seq, {e.rank or 0: str(_what(e)[0]) for e in (first, other)})]
    return []


def _what(event: Event) -> tuple[Value, ...]:
    sizes = (event.fields.get("numel_in"), event.fields.get("numel_out"), event.fields.get("shape"))
    # A scatter or gather differs in size between root and the others; the operation does not.
    return (event.fields.get("collective"), *(sizes if event.fields.get("collective") == "ALLREDUCE" else ()))


def _recorders(seen: Seen, timeouts: Sequence[Event]) -> list[Event]:
    """The flight recorders of two ranks name different operations under one number."""
    calls: dict[tuple[Value, Value], dict[int, tuple[str, Event]]] = defaultdict(dict)
    for event in seen.said("flight-recorder", "recorder"):
        collectives = event.fields.get("collectives")
        if event.rank is None or not isinstance(collectives, tuple):
            continue
        for entry in collectives:
            if isinstance(entry, tuple) and len(entry) >= 3:
                calls[entry[0], entry[1]][event.rank] = (str(entry[2]), event)
    for (_, seq), ranks in sorted(calls.items(), key=lambda kv: (str(kv[0][0]), _number(kv[0][1]))):
        if len({name for name, _ in ranks.values()}) > 1:
            said = [e for e in timeouts if e.rank in ranks] or [e for _, e in ranks.values()]
            return [_mismatch(said, seq, {rank: name for rank, (name, _) in ranks.items()})]
    return []


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _mismatch(events: Sequence[Event], seq: Value, ops: dict[int, str]) -> Event:
    first, *rest = sorted(events, key=lambda e: (e.path, e.line))
    fields: dict[str, Value] = {"seq": seq, **{f"rank{r}_op": op for r, op in sorted(ops.items())[:16]}}
    if timeout := first.fields.get("timeout_ms"):
        fields["timeout_ms"] = timeout
    names = ", ".join(f"rank {r} {op}" for r, op in sorted(ops.items())[:8])
    return Event(
        speaker="observed",
        kind="mismatch",
        path=first.path,
        line=first.line,
        end_line=first.end_line,
        text=first.text,
        message=f"under sequence number {seq} the ranks run different collectives: {names}",
        time=first.time,
        rank=first.rank,
        fields=fields,
        also=tuple(Evidence(e.path, e.line, e.end_line, e.text) for e in rest[:3]),
    )


def _silent(seen: Seen, timeouts: Sequence[Event]) -> Iterator[Event]:
    """All ranks but one wait: the one that says nothing is the suspect."""
    waiting = {e.rank for e in timeouts}
    known = {s.rank for s in seen.current_steps() if s.rank is not None}
    known |= {e.rank for e in seen.events if e.rank is not None and seen.is_current(e.path)}
    missing = sorted(r for r in known - waiting if r is not None)
    if waiting and len(missing) == 1 and len(known) > 2:
        first = min(timeouts, key=lambda e: (e.path, e.line))
        yield Event(
            speaker="observed",
            kind="silent-rank",
            path=first.path,
            line=first.line,
            end_line=first.end_line,
            text=first.text,
            message=f"every rank but {missing[0]} reports a time-out",
            time=first.time,
            rank=missing[0],
            fields={"rank": missing[0], **{k: v for k, v in first.fields.items() if k in {"seq", "collective"}}},
        )
