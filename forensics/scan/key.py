"""What is learned of a format of progress records, and who learns it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Key(Struct, frozen=True):
    """How one format shows its loss: the literal before it, and how far before it a rank may stand (0: no rank)."""

    literal: bytes
    reach: int = 0


Slot = tuple[int, int, str]
"""Which key, which rank plus one (0: nobody's), and what for: `first`, `low`, `high`, `last`, `break 7`."""

Learn = Callable[[bytes], Key | None]
"""Tells from the bytes of a progress record what stands before its loss."""
