"""The findings that are known already: a JSON file to commit, one object a fingerprint.

{"schema": "dflash-forensics/baseline/1",
 "findings": [{"fingerprint": "…", "id": "train.loss-spike", "title": "…"}]}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from forensics.model import Check


class BaselineError(Exception):
    """A baseline that cannot be used; the message names the file and what to do."""


class Known(msgspec.Struct, frozen=True, order=True):
    """One finding that is known; `id` and `title` are for the people who read the file."""

    id: str
    fingerprint: str
    title: str = ""


class _File(msgspec.Struct, frozen=True):
    schema: Literal["dflash-forensics/baseline/1"]
    findings: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Findings that do not fail a run any more."""

    known: tuple[Known, ...] = ()
    path: str = ""
    prints: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Index the fingerprints."""
        object.__setattr__(self, "prints", frozenset(k.fingerprint for k in self.known))

    def with_these(self, checks: Iterable[Check]) -> Baseline:
        """Return a baseline of what these checks found: known before or not, and nothing else."""
        made = {c.fingerprint: Known(c.name, c.fingerprint, c.text) for c in checks if c.fingerprint}
        return Baseline(tuple(sorted(made.values())), self.path)

    def dump(self) -> bytes:
        """Return the file's content, one finding a line for readable differences."""
        rows = ",\n".join("  " + msgspec.json.encode(k).decode() for k in self.known)
        body = f"[\n{rows}\n ]" if rows else "[]"
        return f'{{"schema": "dflash-forensics/baseline/1",\n "findings": {body}}}\n'.encode()


def load_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the file is not there, or is no baseline.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as wrong:
        raise BaselineError(f"{path}: there is no such baseline; make it with --update-baseline") from wrong
    except OSError as wrong:
        raise BaselineError(f"{path}: cannot be read: {wrong.strerror or wrong}") from wrong
    try:
        found = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError as wrong:
        raise BaselineError(f"{path}: this is no baseline: {wrong}") from wrong
    return Baseline(found.findings, str(path))
