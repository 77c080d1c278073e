"""What the prefixes of one line have told so far."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

LEVEL_WORDS = "DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE"
_LEVELS = {
    "d": "debug", "v": "debug", "debug": "debug", "trace": "debug",
    "i": "info", "info": "info", "notice": "info",
    "w": "warning", "warn": "warning", "warning": "warning",
    "e": "error", "err": "error", "error": "error",
    "c": "critical", "f": "critical", "crit": "critical", "critical": "critical", "fatal": "critical",
    "alert": "critical", "emerg": "critical",
}  # fmt: skip


class Peeled(Struct):
    """Facts gathered while prefixes come off; what is written first, and outermost, stands.

    `local` is a rank within a node: it counts where no global one is named. `stamped`
    says that a time was seen, `dated` that it was in syslog's form, `headed` that a C++
    logger's head (glog) was, `closed` that a logger has named its level, so that only
    bracketed prefixes can follow, and `labelled` that srun's label is all that names the rank.
    """

    time: float | None = None
    rank: int | None = None
    local: int | None = None
    lane: str | None = None
    host: str | None = None
    pid: int | None = None
    level: str | None = None
    stamped: bool = False
    dated: bool = False
    headed: bool = False
    closed: bool = False
    labelled: bool = False

    def say_level(self, word: str) -> None:
        """Keep the level a word or a letter stands for, unless one is known."""
        self.level = self.level or _LEVELS.get(word.lower())

    def say_rank(self, digits: str) -> None:
        """Keep a global rank, unless one is known."""
        if self.rank is None:
            self.rank = int(digits)


Peeler = Callable[[str, int, Peeled], int]
"""Looks at a text from a position on, and returns where the prefix it knows ends, or the position."""
