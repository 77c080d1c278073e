"""Whether a second try may be made: pure data and pure functions, no file, no clock.

A restart that cannot help is refused unless something was changed that mends the cause. What
has been tried too often, or brings no new checkpoint, is refused. Faults of hardware are
answered by leaving the hardware out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from forensics.model import Restart

Helps: TypeAlias = Literal["yes", "maybe", "no"]

HARDWARE = frozenset({
    "gpu.fell-off-bus", "gpu.ecc-uncorrectable", "gpu.nvlink-error", "gpu.gsp-timeout", "gpu.mmu-fault",
    "gpu.xid-other", "gpu.thermal-throttle", "scheduler.node-fail",
})  # fmt: skip
"""Causes that come back with the same GPU or node."""

REVEALING = frozenset({
    "CUDA_LAUNCH_BLOCKING", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "TORCH_DISTRIBUTED_DEBUG", "TORCH_LOGS", "TORCH_TRACE",
    "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_SHOW_CPP_STACKTRACES", "PYTHONFAULTHANDLER",
    "PYTHONUNBUFFERED", "TORCH_USE_CUDA_DSA", "TORCHDYNAMO_VERBOSE", "HF_DEBUG",
})  # fmt: skip
"""Variables that let the next failure tell more, and mend nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and how soon.

    `per_cause` and `in_all` count second tries, `without_progress` those that ended with the checkpoint
    they began with. The first further try may follow at once; before the next ones the wait
    grows by `growth` from `backoff_s` to `most_backoff_s`.
    """

    per_cause: int = 2
    in_all: int = 5
    without_progress: int = 1
    backoff_s: float = 30.0
    growth: float = 2.0
    most_backoff_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt as the policy sees it: the cause of its end, the newest checkpoint then, when it ended."""

    number: int
    cause: str | None
    checkpoint: str | None = None
    ended: float | None = None
    relaunched: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What the next try would be: whether it has a change that mends, hardware left out, or a person's own change."""

    restart: Restart
    mends: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    changed_by_hand: bool = False

    @property
    def differs(self) -> bool:
        """Tell whether the next try differs from the last in what matters."""
        return bool(self.mends or self.excludes or self.changed_by_hand)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it may start, whether it will help, why, and how long to wait before."""

    may: bool
    helps: Helps
    reasons: tuple[str, ...]
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Refusals:
    told: list[str] = field(default_factory=list)

    def add(self, holds: bool, text: str) -> None:  # noqa: FBT001 - reads as a sentence
        if holds:
            self.told.append(text)


def decide(policy: Policy, tries: Sequence[Try], asked: Asked, now: float) -> Decision:
    """Decide on the next try.

    Args:
        policy: how often and how soon.
        tries: the attempts so far, the oldest first; the last one is to be repeated.
        asked: what the next try would be.
        now: seconds since the epoch.
    """
    last = tries[-1] if tries else Try(0, None)
    again = [t for t in tries if t.relaunched]
    same = _row(tries, last.cause)
    refused = _Refusals()
    refused.add(
        len(again) >= policy.in_all,
        f"{len(again)} further tries have been made, and the budget is {policy.in_all} in all",
    )
    refused.add(
        last.cause is not None and not asked.differs and len(same) > policy.per_cause,
        f"{last.cause} ended {len(same)} attempts in a row, and the budget is {policy.per_cause} further tries",
    )
    refused.add(
        not asked.differs and _stuck(tries) > policy.without_progress,
        "no new checkpoint came since the try before, so the same stretch would fail again",
    )
    refused.add(
        last.cause in HARDWARE and not asked.excludes and not asked.changed_by_hand,
        f"{last.cause} is of the hardware, and the same GPU or node would be taken again: say which to leave out "
        "(--env CUDA_VISIBLE_DEVICES=..., or the node at the scheduler)",
    )
    refused.add(
        asked.restart == "no" and not asked.differs,
        "a restart repeats it: nothing that mends the cause is changed",
    )
    if refused.told:
        return Decision(may=False, helps="no", reasons=tuple(refused.told))
    helps, reason = _helps(asked)
    return Decision(may=True, helps=helps, reasons=(reason,), wait_s=wait(policy, again, last, now))


def wait(policy: Policy, again: Sequence[Try], last: Try, now: float) -> float:
    """Return for how many seconds the next try should wait, counted from the end of the last."""
    if last.ended is None:
        return 0.0
    pause = min(policy.most_backoff_s, policy.backoff_s * policy.growth ** (len(again) - 1)) if again else 0.0
    return max(0.0, min(pause, last.ended + pause - now))


def visible_without(visible: str | None, count: int | None, device: int) -> str | None:
    """Return CUDA_VISIBLE_DEVICES without a device, numbered as the program numbered it; None if nothing is left.

    Args:
        visible: the variable as it was; None where it was not set.
        count: GPUs of the machine, where known.
        device: the number that the program gave the GPU.
    """
    names = [n.strip() for n in visible.split(",")] if visible else [str(n) for n in range(count or 0)]
    kept = [name for at, name in enumerate(names) if at != device]
    return ",".join(kept) if kept and len(kept) < len(names) else None


def _helps(asked: Asked) -> tuple[Helps, str]:
    if asked.mends:
        return "yes", f"what caused it is changed: {', '.join(asked.mends)}"
    if asked.excludes:
        return "yes", f"what failed is left out: {', '.join(asked.excludes)}"
    if asked.restart == "yes":
        return "yes", "it was a matter of circumstances that a restart leaves behind"
    if asked.changed_by_hand:
        return "maybe", "the command was changed by hand; whether that mends the cause is not known here"
    return "maybe", "a restart may help; nothing that mends the cause is known to be changed"


def _row(tries: Sequence[Try], cause: str | None) -> list[Try]:
    row: list[Try] = []
    for one in reversed(tries):
        if one.cause != cause:
            break
        row.append(one)
    return row


def _stuck(tries: Sequence[Try]) -> int:
    """Return how many attempts at the end brought no checkpoint beyond that of the one before."""
    count = 0
    for earlier, later in zip(reversed(tries[:-1]), reversed(tries), strict=False):
        if earlier.checkpoint != later.checkpoint or not later.relaunched:
            break
        count += 1
    return count
