"""Drafter threads that meet where a checkpoint is due, so that one file holds the same step of each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from training_core import attention, checkpoint, report
from training_core.config import Config
from training_core.drafter import Trainer
from training_core.report import LOG, Report
from training_core.schedule import schedule


class Crew:
    """All drafters of a run, and how far they are."""

    def __init__(self, config: Config, trainers: list[Trainer], said: Report) -> None:
        self._config = config
        self._trainers = trainers
        self._report = said
        self._folder = Path(config.checkpoints) if config.checkpoints else None
        self._meeting = threading.Barrier(len(trainers), action=self._save)
        self._lost: list[int] = []
        self._done = 0

    def train(self, start: int) -> bool:
        """Train all drafters to the end; tell whether all got there."""
        self._done = start
        # Daemons, so that Ctrl-C ends the run at once and not at its last step.
        threads = [threading.Thread(target=self._run, args=(t, start), daemon=True) for t in self._trainers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return not self._lost

    def _run(self, trainer: Trainer, start: int) -> None:
        attention.allow_compiles(self._config, len({t.device for t in self._trainers}))
        try:
            for step in range(start, self._config.steps):
                self._report.step(trainer.step(step))
                if self._folder and ((step + 1) % self._config.every == 0 or step + 1 == self._config.steps):
                    self._done = step + 1
                    self._meeting.wait()
        except threading.BrokenBarrierError:
            # Another drafter is lost: no later checkpoint could be whole, so going on is wasted.
            LOG.info("[drafter %d] stopped: drafter %s is lost", trainer.number, self._lost[0] if self._lost else "?")
        except Exception:  # noqa: BLE001 - whatever it is, the other drafters have to hear of it
            self._lost.append(trainer.number)
            report.crashed(trainer.number)
            self._meeting.abort()

    def _save(self) -> None:
        """Write a checkpoint; every drafter waits, at the same step."""
        if self._folder is None:
            return
        if not all(trainer.finite for trainer in self._trainers):
            LOG.warning("no checkpoint of step %d: a loss or gradient is not finite", self._done)
            return
        path = checkpoint.path_of(self._folder, self._done)
        checkpoint.save(state(self._config, self._done, self._trainers), path)
        checkpoint.prune(self._folder, self._config.keep)
        LOG.info("saved checkpoint %s (step %d)", path, self._done)


SHAPE = ("threads", "layers", "heads", "head_dim", "vocab", "block_size", "seed")
"""What must not change between a checkpoint and the run that takes it up."""


def state(config: Config, step: int, trainers: list[Trainer]) -> dict[str, Any]:
    """Return the state of a run after so many steps: plain data and tensors."""
    return {
        "format": 1,
        "step": step,
        "shape": {name: getattr(config, name) for name in SHAPE},
        "schedule": schedule(config.lr, config.warmup_ratio, config.steps).state(),
        "drafters": [trainer.state() for trainer in trainers],
    }


def restore(config: Config, found: dict[str, Any], trainers: list[Trainer]) -> int:
    """Take up a state; return the step to go on with.

    Raises:
        ValueError: if it is the state of a run of another shape.
    """
    other = [
        f"{n} {found['shape'][n]}, not {getattr(config, n)}" for n in SHAPE if found["shape"][n] != getattr(config, n)
    ]
    if other:
        raise ValueError(f"the checkpoint is of a run with {', '.join(other)}")
    now = schedule(config.lr, config.warmup_ratio, config.steps).state()
    if found["schedule"] != now:
        LOG.warning("the schedule changes from %s to %s", found["schedule"], now)
    for trainer, kept in zip(trainers, found["drafters"], strict=True):
        trainer.restore(kept)
    return int(found["step"])
