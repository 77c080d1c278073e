"""Steps that take longer from the moment on at which torch.compile gave a function up."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from forensics import timeline
from forensics.engine.observe.observed import observed
from forensics.engine.seen import Seen
from forensics.model import Event, Evidence, Value

MIN_RECORDS = 5
"""Records on either side: the first steps compile, and are slow for that reason."""
WINDOW = 50
"""Records before and after that are compared."""
SLOWER = 1.3


def observe(seen: Seen) -> Iterator[Event]:
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
