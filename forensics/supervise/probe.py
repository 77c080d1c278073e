"""Does the first compile of a run survive its threads? Tried for real, in processes of its own.

A run whose threads call `torch.compile(flex_attention)` for the first time at once may die of it or
not, as the threads happen to meet. So it is tried: as many threads as the run has, gradients, its
shapes; once behind a lock, and with nothing between them, several times if need be. Torch is
loaded by the child processes only, by the interpreter that will run the training.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

CHILD = Path(__file__).with_name("probe_child.py")
MARK = "PROBE-RESULT "
"""What stands before the child's answer; everything else that it prints is torch's."""
_GRACE_S = 15.0
_LEAST_S = 20.0
PATIENCE = 6
"""How many times as long as behind the lock a try without it may take before it counts as hung."""
_TAIL = 2000

State = Literal["ran", "no-torch", "no-gpu", "no-python", "failed"]
Survivor = Literal["both", "lock", "neither", "unknown"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a run compiles: lengths in tokens, threads that call it, calls a thread makes for one loss."""

    threads: int = 4
    heads: int = 8
    head_dim: int = 64
    ctx: int = 2048
    anchors: int = 64
    block_size: int = 32
    layers: int = 2
    dtype: str = "bfloat16"


@dataclass(frozen=True, slots=True)
class Trial:
    """One try in one process.

    Attributes:
        locked: whether the first compile was behind a lock.
        passed: whether every thread finished, forward and backward, and none ran dense.
        failed: threads that raised.
        hung: threads that had not finished at the time limit.
        exception: the type of the first exception, empty if none.
        message: its message, or what is known of the end of the process.
        dense: whether attention ran unfused on some thread.
        seconds: how long the threads took, compiling included; 0 if the process died.
        peak_bytes: memory allocated on the GPU at most, 0 where there is none.
    """

    locked: bool
    passed: bool
    failed: int = 0
    hung: int = 0
    exception: str = ""
    message: str = ""
    dense: bool = False
    seconds: float = 0.0
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of a probe: its state, why it is that, and the tries in order."""

    state: State
    why: str
    shape: Shape
    torch: str = ""
    device: str = ""
    trials: tuple[Trial, ...] = ()

    @property
    def survives(self) -> Survivor:
        """Tell which way of compiling survives: both, only the lock, neither; unknown if it was not tried."""
        raced = [trial.passed for trial in self.trials if not trial.locked]
        locked = [trial.passed for trial in self.trials if trial.locked]
        if locked and not all(locked):
            return "neither"
        if not raced or not locked:
            return "unknown"
        return "both" if all(raced) else "lock"

    def plain(self) -> dict[str, Any]:
        """Return the probe as plain data, for JSON."""
        return {**asdict(self), "trials": [asdict(trial) for trial in self.trials], "survives": self.survives}


def probe(
    shape: Shape,
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    tries: int = 3,
    limit_s: float = 240.0,
    cpu: bool = False,
) -> Probe:
    """Compile flex_attention with gradients as a run would, and say which way survives.

    Args:
        shape: what the run compiles, and on how many threads.
        python: the interpreter that will run the training.
        environment: its environment; this process's if not given. Compiled kernels go to a folder of their own.
        tries: how often to let the threads race, until one try fails: a race is lost by chance.
        limit_s: time limit of one try, in seconds; with nothing between the threads it is at most `PATIENCE` times
            what the try behind the lock, which comes first, took.
        cpu: try without a GPU too. FlexAttention has no gradients there, so plain attention is traced instead:
            it shows that the probe works, not what a GPU would do.
    """
    trials: list[Trial] = []
    torch = device = ""
    for locked in (True, *[False] * tries):
        if any(not trial.passed for trial in trials):
            break
        if not locked:
            # Threads side by side need no longer than one after the other; what takes many times that hangs.
            limit_s = min(limit_s, max(_LEAST_S, PATIENCE * trials[0].seconds))
        answer = _try(shape, locked=locked, python=python, environment=environment, limit_s=limit_s, cpu=cpu)
        if answer["state"] != "ran":
            return Probe(answer["state"], answer["why"], shape, answer.get("torch", ""))
        torch, device = answer.get("torch", torch), answer.get("device", device)
        trials.append(_trial(answer, locked=locked))
    return Probe("ran", "", shape, torch, device, tuple(trials))


def asked(words: Sequence[str]) -> Shape:
    """Return the shape that a command line asks for: `--threads 4 --ctx=2048`; what it leaves open stays as it is."""
    found: dict[str, int] = {}
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        field = _OPTIONS.get(name.lstrip("-").replace("_", "-")) if name.startswith("-") else None
        if not equals and index + 1 < len(words):
            value = words[index + 1]
        # The first of several lengths: each is compiled for itself.
        number = re.match(r"\d{1,9}(?=,|$)", value)
        if field and number:
            found[field] = int(number[0])
    return Shape(**found)  # type: ignore[arg-type]


_OPTIONS = {
    "threads": "threads", "drafters": "threads", "num-drafters": "threads", "num-threads": "threads",
    "heads": "heads", "num-heads": "heads", "n-heads": "heads", "num-attention-heads": "heads",
    "head-dim": "head_dim", "head-size": "head_dim",
    "ctx": "ctx", "context": "ctx", "context-length": "ctx", "max-seq-length": "ctx", "max-length": "ctx",
    "anchors": "anchors", "max-anchors": "anchors", "num-anchors": "anchors",
    "block-size": "block_size",
    "layers": "layers", "num-layers": "layers", "draft-layers": "layers", "num-draft-layers": "layers",
}  # fmt: skip


def _try(
    shape: Shape, *, locked: bool, python: str, environment: Mapping[str, str] | None, limit_s: float, cpu: bool
) -> dict[str, Any]:
    """Run one child; return its answer, or what is known instead."""
    order = json.dumps({**asdict(shape), "locked": locked, "limit_s": limit_s, "cpu": cpu})
    with tempfile.TemporaryDirectory(prefix="probe-", ignore_cleanup_errors=True) as folder:
        # A cache that already holds the kernels would make the race look harmless.
        own = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}
        try:
            child = subprocess.Popen(  # noqa: S603 - the interpreter of the run, and a file of this package
                [python, str(CHILD), order],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**(os.environ if environment is None else environment), **own},
                start_new_session=True,
            )
        except OSError as error:
            return {"state": "no-python", "why": f"{python} cannot be started: {error.strerror}"}
        try:
            printed, _ = child.communicate(timeout=limit_s + _GRACE_S)
        except subprocess.TimeoutExpired:
            # The child keeps the time itself; past that, not even its main thread gets a turn.
            why = f"the process did not answer within {limit_s + _GRACE_S:.0f} s"
            return {"state": "ran", "hung": shape.threads, "message": why}
        finally:
            # The compiler's own helpers are in the child's session and outlive a child that hangs.
            _end(child)
    return _answer(printed.decode("utf-8", "replace"), child.returncode)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def _answer(printed: str, status: int) -> dict[str, Any]:
    """Return the child's answer; one that died on the way is no answer about its threads, so it says how it died."""
    for line in reversed(printed.splitlines()):
        if line.startswith(MARK):
            found: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return found
    if status < 0:
        name = signal.Signals(-status).name
        return {"state": "ran", "failed": 1, "exception": name, "message": f"the process died of {name}"}
    return {"state": "failed", "why": f"the probe ended with status {status}: {printed.strip()[-_TAIL:]}"}


def _trial(answer: Mapping[str, Any], *, locked: bool) -> Trial:
    failed, hung = int(answer.get("failed", 0)), int(answer.get("hung", 0))
    return Trial(
        locked=locked,
        passed=not failed and not hung and not answer.get("dense", False),
        failed=failed,
        hung=hung,
        exception=str(answer.get("exception", "")),
        message=str(answer.get("message", "")),
        dense=bool(answer.get("dense", False)),
        seconds=float(answer.get("seconds", 0.0)),
        peak_bytes=int(answer.get("peak_bytes", 0)),
    )
