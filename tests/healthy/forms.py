"""What the healthy logs are made of: one trained run, and progress in common forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trained:
    """The log of a run that went well; `verdict` is unknown where nothing in it says the end."""

    name: str
    log: str
    last_step: int | None
    verdict: str = "healthy"
    file: str = "train.log"


def lines(made: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in made)


def clock(second: int) -> str:
    return f"{10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def bar(n: int, total: int, name: str = "", postfix: str = "", unit: str = "it") -> str:
    """Draw a record of tqdm as it stands in a file, without what ends it."""
    percent = 100 * n // total
    filled = "█" * (percent // 10)
    after = f", {postfix}" if postfix else ""
    left = f"{(total - n) // 60:02d}:{(total - n) % 60:02d}"
    head = f"{name}: " if name else ""
    return f"{head}{percent:3d}%|{filled:<10}| {n}/{total} [{n // 60:02d}:{n % 60:02d}<{left},  1.02{unit}/s{after}]"


def falling(step: int, start: float = 4.0) -> float:
    return start / (1 + step / 10)
