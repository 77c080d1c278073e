"""What a run says: lines for people, JSON objects for programs."""

from __future__ import annotations

import json
import logging
import resource
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

LOG = logging.getLogger("training_core")
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Step:
    """What one optimizer step of one drafter came to; sizes in bytes, rates in tokens a second."""

    step: int
    drafter: int
    loss: float
    lr: float
    grad_norm: float
    ctx: int
    tokens_per_s: float
    peak_bytes: int

    def line(self, steps: int) -> str:
        """Return the step for people."""
        return (
            f"[drafter {self.drafter}] step {self.step}/{steps} | loss {self.loss:.4f} | lr {self.lr:.2e}"
            f" | grad_norm {self.grad_norm:.3f} | ctx {self.ctx} | {self.tokens_per_s / 1000:.1f}k tok/s"
            f" | mem {self.peak_bytes / GIB:.2f} GiB"
        )


class Report:
    """The log on standard output and, if asked for, a file of JSON lines; whole lines from any thread."""

    def __init__(self, steps: int, path: str) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        # Opened to append: a resumed run goes on in the file of the one before it.
        self._file = open(path, "a", encoding="utf-8", buffering=1) if path else None  # noqa: SIM115

    def step(self, done: Step) -> None:
        """Say a step."""
        LOG.info(done.line(self._steps))
        if self._file:
            # Floats are written so that they read back to the same bits; NaN as NaN.
            line = json.dumps({"time": round(time.time(), 3), **asdict(done)})
            with self._lock:
                self._file.write(f"{line}\n")

    def close(self) -> None:
        """Close the file of JSON lines."""
        if self._file:
            self._file.close()


def start_log() -> None:
    """Log to standard output, each line at once."""
    logging.basicConfig(
        stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s", datefmt="%F %T"
    )


def crashed(drafter: int) -> None:
    """Say that a drafter died of the exception at hand, in one piece."""
    sys.stdout.flush()
    sys.stderr.write(f"[drafter {drafter}] crashed\n{traceback.format_exc()}")
    sys.stderr.flush()


def peak_bytes(device: torch.device) -> int:
    """Return the most memory used so far: allocated on the GPU, or of the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    # ru_maxrss counts KiB on Linux and bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
