"""Every progress record of a source that is too large for all of them to be held."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing

from msgspec.structs import replace

from forensics.engine.marks import marked
from forensics.model import Context, Step
from forensics.parsers.metrics import STEP_HINT, complete
from forensics.scan import Plan, Scan
from forensics.sources import Input, Watch

_RECENT = 50
"""Records before one that may be torn, which tell whether it is."""


def every_step(item: Input, context: Context, watch: Watch) -> Iterator[Step]:
    """Yield the progress records of a source in the order of its lines, with steps as they are printed."""
    plan = Plan({}, STEP_HINT, total_bytes=item.source.bytes)
    recent: deque[Step] = deque(maxlen=_RECENT)
    rank = context.source.rank
    with closing(watch.follow(item)) as pieces:
        for hit in Scan(plan, plan.matcher()).over(pieces):
            step = marked(hit, context).step
            if step is None or not (hit.line.complete or complete(step, list(recent))):
                continue
            recent.append(step)
            yield replace(step, rank=rank) if step.rank is None and rank is not None else step
