"""What torch.compile's giving up costs: steps that take longer from then on, or a comparison of speeds that fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from forensics import timeline
from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value
from forensics.text.lazy import lazy

MIN_RECORDS = 5
"""Records on either side: the first steps compile, and are slow for that reason."""
WINDOW = 50
"""Records before and after that are compared."""
SLOWER = 1.3
_GATE = lazy(
    r"\b(?:perf(?:ormance)?|throughput|speed)[ _-]?(?:gate|guard|check|regression|test)s?\b.{0,200}"
    r"\b(?:fail(?:ed|ure)?|below|slower|regress\w*|stopping|abort\w*)\b"
    r"|\bthroughput\b.{0,80}\bbelow\b.{0,80}\b(?:baseline|threshold|minimum|floor|gate)\b.{0,80}"
    r"\b(?:fail\w*|abort\w*|stopping|exit\w*)\b",
    re.IGNORECASE,
)
"""How a check of a run's speed says that it was too slow."""


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `slower-eager` and `slow-breaks`."""
    yield from _slower(seen)
    yield from _gated(seen)


def _gated(seen: Seen) -> Iterator[Event]:
    """Yield `slow-breaks` for the first graph break of a run that was found too slow, where nothing else cost it."""
    broke = next(seen.said("dynamo", "graph-break"), None)
    if broke is None or next(seen.said("dynamo", "recompile-limit"), None) is not None:
        return
    for path, tail in seen.tails.items():
        told = next((line for line in tail if _GATE.search(line.text)), None) if seen.is_current(path) else None
        if told is not None:
            text = f"the graph breaks, and the run is found too slow: {told.text.strip()[:160]}"
            at = Evidence(path, told.number, told.end, told.text[:400])
            fields: dict[str, Value] = {"where": broke.fields.get("where"), "reason": broke.fields.get("reason")}
            yield observed(broke.place, "slow-breaks", text, fields, (at,), broke.time, broke.rank, broke.lane)
            return


def _slower(seen: Seen) -> Iterator[Event]:
    """Yield `slower-eager` for the first recompile limit after which the same log shows slower steps."""
    for limit in seen.said("dynamo", "recompile-limit"):
        steps = [s for s in timeline.placed(seen.current_steps()) if s.path == limit.path and s.rank == limit.rank]
        before = timeline.durations([s for s in steps if s.line < limit.line])[-WINDOW:]
        after = timeline.durations(behind := [s for s in steps if s.line > limit.line])[:WINDOW]
        if min(len(before), len(after)) < MIN_RECORDS:
            continue
        fast, slow = median(before), median(after)
        if slow < SLOWER * fast:
            continue
        first = behind[0]
        fields: dict[str, Value] = {
            "first_slow_step": first.step,
            "step_time_before_s": round(fast, 4),
            "step_time_after_s": round(slow, 4),
        }
        text = f"steps take {slow:.3g} s after torch.compile gave up, and took {fast:.3g} s before"
        at = Evidence(first.path, first.line, first.line, "", first.column)
        yield observed(at, "slower-eager", text, fields, (limit.place,), first.time, first.rank, first.lane)
        return
