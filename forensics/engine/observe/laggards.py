"""The one rank that is slow, at fetching its data or at its work, while all the others wait for it in each step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Step, Value

_LEAST = 3
"""Reports in which the same rank is behind."""
_MOSTLY = 0.8
_TIMES = {"data-times": 5.0, "work-times": 1.25, "compute-times": 1.4}
"""How many times the others' time is too long."""
_SLOW_SCORE = 0.75
"""Part of the others' score below which NVIDIA's own detector calls a GPU a straggler."""
_SHARE = 0.1
"""Part of a step that the others lose by waiting."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `slow-rank` where reports of a log say to its end that one and the same rank needs far longer."""
    told: dict[tuple[str, str, Value], list[Event]] = defaultdict(list)
    for event in seen.said("timers", *_TIMES):
        told[event.path, event.kind, event.fields.get("section")].append(event)
    yield from _scored(seen)
    timed = [s for s in seen.current_steps() if s.step_time_s] if told else []
    for (path, _, _), reports in told.items():
        steps = [s for s in timed if s.path == path] or timed  # another rank may be the one that tells of its steps
        if len(reports) >= _LEAST and steps and (found := _behind(reports, steps)) is not None:
            yield found
            return


def _scored(seen: Seen) -> Iterator[Event]:
    """Yield `slow-rank` where the last scores of a log show a GPU that has long been slower than the others."""
    told: dict[str, list[Event]] = defaultdict(list)
    for event in seen.said("timers", "scores"):
        told[event.path].append(event)
    for reports in told.values():
        slow = [e for e in reports if e.fields["rank"] == reports[-1].fields["rank"] and _slow(e)]
        if len(slow) >= _LEAST and slow[-_LEAST:] == reports[-_LEAST:]:
            rank, score = slow[0].fields["rank"], slow[-1].fields["score"]
            text = f"the GPU of rank {rank} scores {score}, the others {slow[-1].fields['others_score']}"
            fields = {"rank": rank, "node": slow[0].fields.get("node")}
            also, number = tuple(e.place for e in slow[-2:]), rank if isinstance(rank, int) else None
            yield observed(slow[0].place, "slow-rank", text, fields, also, slow[0].time, number)


def _slow(report: Event) -> bool:
    return float(str(report.fields["score"])) < _SLOW_SCORE * float(str(report.fields["others_score"]))


def _behind(reports: list[Event], steps: list[Step]) -> Event | None:
    rank = reports[-1].fields["rank"]
    late = [e for e in reports if e.fields["rank"] == rank and _loses(e, steps)]
    if len(late) < _LEAST or late[-1] is not reports[-1]:
        return None
    since = reports[reports.index(late[0]) :]
    if len(late) < _MOSTLY * len(since):
        return None
    own = median([float(str(e.fields["slowest_ms"])) for e in late]) / 1000
    others = median([float(str(e.fields["others_ms"])) for e in late]) / 1000
    waits = reports[-1].kind == "data-times"
    name = "data_time_s" if waits else "step_time_s"
    fields: dict[str, Value] = {"rank": rank, name: round(own, 4), "others_s": round(others, 4)}
    text = f"rank {rank} needs {own:.3g} s a step for its {'data' if waits else 'work'}, the others {others:.3g} s"
    last = tuple(e.place for e in late[-2:])
    return observed(
        late[0].place, "slow-rank", text, fields, last, late[0].time, rank if isinstance(rank, int) else None
    )


def _loses(report: Event, steps: list[Step]) -> bool:
    """Tell whether what the others lose in a report is a part of the steps around it that counts."""
    near = sorted(steps, key=lambda s: abs(s.line - report.line))[:3]
    step_ms = median([(s.step_time_s or 0.0) * 1000 for s in near])
    slowest, others = float(str(report.fields["slowest_ms"])), float(str(report.fields["others_ms"]))
    return slowest > _TIMES[report.kind] * others and slowest - others > _SHARE * step_ms > 0
