"""Questions asked of a run's steps and events, and the one table of all of them.

The questions are plain Python, because every analysis asks them and importing polars
costs more than answering. Only what makes or writes tables loads it.
"""

from forensics.timeline.epochs import through_epochs
from forensics.timeline.questions import (
    Gaps,
    durations,
    first_nonfinite,
    gaps,
    last_checkpoint,
    last_checkpoint_event,
    last_step,
    last_step_of,
    placed,
    reached_total,
    span,
    total_steps,
)
from forensics.timeline.rows import Choice, stream, write_stream
from forensics.timeline.table import Format, filter, table, write, written  # noqa: A004 - see table.filter

__all__ = [
    "Choice",
    "Format",
    "Gaps",
    "durations",
    "filter",
    "first_nonfinite",
    "gaps",
    "last_checkpoint",
    "last_checkpoint_event",
    "last_step",
    "last_step_of",
    "placed",
    "reached_total",
    "span",
    "stream",
    "table",
    "through_epochs",
    "total_steps",
    "write",
    "write_stream",
    "written",
]
