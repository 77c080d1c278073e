"""Failures on request. Each is the real thing: what follows is torch's and the kernel's own doing."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

from training_core.config import Config


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure: what, when, and by which drafter."""

    kind: str
    step: int
    drafter: int
    once: str

    def due(self, kind: str, step: int, drafter: int) -> bool:
        """Tell whether this failure is to happen now; with a marker file, only the first time it could."""
        return (kind, step, drafter) == (self.kind, self.step, self.drafter) and self._first()

    def _first(self) -> bool:
        if not self.once:
            return True
        try:
            os.close(os.open(self.once, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        # The marker has to outlive a machine that dies of the failure.
        folder = os.open(Path(self.once).resolve().parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        return True


def fault(config: Config) -> Fault:
    """Return the failure a run is asked for."""
    return Fault(config.fail, config.fail_step, config.fail_drafter, config.fail_once)


def kill() -> None:
    """Die as the kernel's OOM killer makes a process die: no handler, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def hang(busy: threading.Lock) -> None:
    """Ask for a target that is never given back: a deadlock, which the other drafters run into too."""
    # Two at once, as two functions that each think they are the outer one.
    busy.acquire()
    busy.acquire()
