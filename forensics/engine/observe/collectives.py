"""What several ranks' words on collectives show together: disagreement, and who is silent."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value
from forensics.text.lazy import lazy

_NAMED = 8
"""Ranks that are named one by one; more would hide the difference."""
_WENT_ON = 2
"""Progress records after a time-out that show it to be overcome."""
_OTHERS_WENT_ON = 5
"""The same where only other ranks report."""
_ANYONE = -1
_PLACE = 5
"""Where a recorder's entry holds the place of the call."""
_PAIRED = lazy(r"(?:nccl:)?(?:send|recv|SEND|RECV|COALESCED|coalesced)(?: |$)")
"""Point-to-point calls: a send answers a receive, and they are counted apart from collectives."""
_SAME_SIZES = lazy(r"(?i)(?:nccl:)?(?:all_?reduce|broadcast|_all_?gather_base|_reduce_?scatter_base)")
"""Calls whose input is equally large on all ranks; where a root scatters or gathers it is not."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `mismatch` where ranks ran different collectives under one number."""
    timeouts = [e for e in seen.said("c10d", "timeout") if e.rank is not None]
    timeouts = list(_lasting(seen, timeouts))
    calls = _calls(seen)
    yield from _same_number(_grouped(seen, timeouts), calls) or _recorders(timeouts, calls)
    yield from _silent(seen, timeouts)
    if not timeouts and not seen.logs():
        yield from _unfinished(seen)


def _lasting(seen: Seen, timeouts: Sequence[Event]) -> Iterator[Event]:
    """Leave out those after which the same rank went on: the workers were started again."""
    if not timeouts:
        return
    lines: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    for step in seen.current_steps():
        lines[step.path, step.rank].append(step.line)
        if step.rank is not None:
            lines[step.path, _ANYONE].append(step.line)
    for places in lines.values():
        places.sort()
    for event in timeouts:
        # A rank that reports no steps could not be left behind by those that do.
        whose = next((r for r in (event.rank, None, _ANYONE) if (event.path, r) in lines), None)
        places = lines.get((event.path, whose), [])
        if len(places) - bisect_right(places, event.line) < (_OTHERS_WENT_ON if whose == _ANYONE else _WENT_ON):
            yield event


class _Call(Struct, frozen=True):
    """One rank's entry in its flight recorder."""

    operation: str
    sizes: str
    state: str
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
            if isinstance(entry, tuple) and len(entry) > _PLACE and not _PAIRED.match(str(entry[2])):
                operation, sizes, state, place = (str(part) for part in entry[2 : _PLACE + 1])
                groups[entry[0]][entry[1]][event.rank] = _Call(operation, sizes, state, place, event)
    found: dict[Value, dict[int, _Call]] = {}
    for numbers in groups.values():
        for number, ranks in numbers.items():
            if number not in found or _told_apart(ranks.values()):
                found[number] = ranks
    return found


def _told_apart(calls: Collection[_Call]) -> str:
    """Return what calls under one number differ in: `operation`, `size`, or nothing."""
    if len({c.operation for c in calls}) > 1:
        return "operation"
    sized = all(_SAME_SIZES.match(c.operation) for c in calls) and len({c.sizes for c in calls}) > 1
    return "size" if sized and any(c.state != "completed" for c in calls) else ""


def _grouped(seen: Seen, timeouts: Sequence[Event]) -> dict[tuple[Value, Value], list[Event]]:
    """Return time-outs by process group and sequence number, of which each group has its own.

    The line of the time-out does not name its group, but the next one of that rank does (2.3 on).
    """
    said: dict[tuple[str, int | None, Value], Value] = {}
    for event in seen.said("c10d", "group-status", "watchdog"):
        group = event.fields.get("guid") or event.fields.get("pg")
        if group is not None:
            said[event.path, event.rank, event.fields.get("seq")] = str(group)
    groups = [said.get((e.path, e.rank, e.fields.get("seq"))) for e in timeouts]
    known = {g for g in groups if g is not None}
    found: dict[tuple[Value, Value], list[Event]] = defaultdict(list)
    if not known and any(e.fields.get("group_rank") not in {None, e.rank} for e in timeouts):
        return found  # groups of some of the ranks, and nothing tells them apart
    for event, group in zip(timeouts, groups, strict=True):
        if group is not None or len(known) < 2:
            found[group or next(iter(known), None), event.fields.get("seq")].append(event)
    return found


def _same_number(by_number: Mapping[tuple[Value, Value], Sequence[Event]], calls: _Calls) -> list[Event]:
    """Two ranks wait under the same number for different operations or different sizes."""
    for (_, seq), said in by_number.items():
        events = [e for e in said if not _PAIRED.match(str(e.fields.get("collective")))]
        if seq is None or not events:
            continue
        first = events[0]
        others = [e for e in events if _what(e) != _what(first)]
        if any(e.rank == first.rank for e in others):
            continue  # one rank cannot wait for two: these are several groups
        if others:
            pair = (first, others[0])
            apart = first.fields.get("collective") != others[0].fields.get("collective")
            operations = {e.rank or 0: _named(e, sized=not apart) for e in pair}
            return [_mismatch(pair, seq, operations, calls.get(seq, {}))]
    return []


def _what(event: Event) -> tuple[Value, ...]:
    sizes = (event.fields.get("numel_in"), event.fields.get("numel_out"), event.fields.get("shape"))
    operation = event.fields.get("collective")
    return (operation, *(sizes if _SAME_SIZES.match(str(operation)) else ()))


def _named(event: Event, *, sized: bool) -> str:
    size = event.fields.get("numel_in", event.fields.get("shape"))
    return f"{event.fields.get('collective')}{f' of {size} elements' if sized and size is not None else ''}"


def _recorders(timeouts: Sequence[Event], calls: _Calls) -> list[Event]:
    """The flight recorders of two ranks name different operations under one number."""
    for seq, ranks in sorted(calls.items(), key=lambda kv: kv[0] if isinstance(kv[0], int) else 0):
        if apart := _told_apart(ranks.values()):
            said = [e for e in timeouts if e.rank in ranks] or [c.event for c in ranks.values()]
            names = {r: f"{c.operation} of {c.sizes}" if apart == "size" else c.operation for r, c in ranks.items()}
            return [_mismatch(said, seq, names, ranks)]
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
    return f"{operation} at {call.place}" if call and call.place else operation


def _silent(seen: Seen, timeouts: Sequence[Event]) -> Iterator[Event]:
    """All ranks but one wait: the one that says nothing is the suspect."""
    waiting = {e.rank for e in timeouts}
    known = {s.rank for s in seen.current_steps() if s.rank is not None}
    known |= {e.rank for e in seen.events if e.rank is not None and seen.is_current(e.path)}
    missing = sorted(r for r in known - waiting if r is not None)
    if waiting and len(missing) == 1 and len(known) > 2:
        first = min(timeouts, key=lambda e: (e.path, e.line))
        message = f"every rank but {missing[0]} reports a time-out"
        fields = {"silent_rank": missing[0], **{k: v for k, v in first.fields.items() if k in {"seq", "collective"}}}
        fields["sentence"] = message.capitalize()
        yield observed(first.place, "silent-rank", message, fields, time=first.time, rank=missing[0])


def _unfinished(seen: Seen) -> Iterator[Event]:
    """Nothing but recorders, which are written when something hangs: who came least far in the widest group."""
    reached: dict[Value, dict[int, tuple[int, str]]] = defaultdict(dict)
    events = {e.rank: e for e in seen.said("flight-recorder", "recorder") if e.rank is not None}
    for rank, event in events.items():
        collectives = event.fields.get("collectives")
        for entry in collectives if isinstance(collectives, tuple) else ():
            if isinstance(entry, tuple) and isinstance(entry[1], int) and not _PAIRED.match(str(entry[2])):
                reached[entry[0]][rank] = entry[1], str(entry[2])
    if not reached or not any(e.fields.get("unfinished") for e in events.values()):
        return
    widest = max(reached.values(), key=len)
    far, operation = max(widest.values())
    behind = sorted(rank for rank, (number, _) in widest.items() if number < far)
    suspect = behind[0] if len(behind) == 1 else None
    fields: dict[str, Value] = {"seq": far, "collective": operation, "silent_rank": suspect}
    message = f"{len(events)} flight recorders end in collectives that did not complete"
    fields["sentence"] = message if suspect is None else f"{message}, and rank {suspect} came least far"
    place = events[min(events) if suspect is None else suspect].place
    yield observed(place, "unfinished", message, fields, rank=suspect)
