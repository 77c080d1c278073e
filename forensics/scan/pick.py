"""Lines by their numbers, for quoting: one pass, nothing else decoded."""

from __future__ import annotations

from collections.abc import Collection, Iterable

QUOTED = 4000
"""Bytes of a line that are quoted."""


def pick(chunks: Iterable[bytes], numbers: Collection[int]) -> dict[int, str]:
    r"""Return number -> text of the wanted lines (`\n` lines, from 1); stops behind the last one."""
    found: dict[int, str] = {}
    if not numbers:
        return found
    last, number, rest = max(numbers), 1, b""
    for chunk in chunks:
        if len(rest) >= QUOTED and b"\n" not in chunk:
            continue  # a line may be gigabytes long, and its beginning is there
        block = rest + chunk
        lines = block.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if number in numbers:
                found[number] = line[:QUOTED].decode("utf-8", "replace").rstrip("\r")
            number += 1
        if number > last:
            return found
        rest = rest[:QUOTED]
    if rest and number in numbers:
        found[number] = rest[:QUOTED].decode("utf-8", "replace").rstrip("\r")
    return found
