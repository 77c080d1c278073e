"""What a training program says about its own life: steps, checkpoints, settings, its end.

`STEP_HINT` finds candidates in bytes, `parse_step` reads one record into a `Step`,
`complete` judges an unterminated last one. `LIFE` and `SETTINGS` yield the events of the run's life.
"""

from forensics.parsers.metrics.life import LIFE, SETTINGS
from forensics.parsers.metrics.step import STEP_HINT, complete, parse_step

__all__ = ["LIFE", "SETTINGS", "STEP_HINT", "complete", "parse_step"]
