"""Whether the times of a source run on."""

from __future__ import annotations

from forensics.model import Record

CLOCK_S = 120.0
"""Seconds by which a later line may be stamped earlier: ranks write past each other, clocks are set."""


class Clock:
    """Watches the times of one source: a clock that was set back, or a second one, puts later lines earlier."""

    def __init__(self) -> None:
        self.back = 0
        self._latest: float | None = None
        self._first: tuple[int, float] = 0, 0.0

    def see(self, record: Record) -> None:
        """Take note of the time of the next line."""
        if record.time is None:
            return
        if self._latest is not None and self._latest - record.time > CLOCK_S:
            self.back += 1
            if self.back == 1:
                self._first = record.line.number, self._latest - record.time
            self._latest = record.time
        self._latest = max(record.time, self._latest or record.time)

    def told(self) -> str:
        """Say where it first went back, and how often."""
        line, by = self._first
        more = f", and {self.back - 1} more times" if self.back > 1 else ""
        return f":{line}: the clock goes back by {by:.0f} s here{more}; times of this file order events only roughly"
