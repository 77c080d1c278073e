"""Which file a path became that a launch script promised: `logs/train.$SLURM_JOB_ID.txt` is `train.77.txt` here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forensics.model import Source, Value
from forensics.text.lazy import lazy

_PLACEHOLDER = lazy(r"%[a-zA-Z]|\$\{?\w+\}?|\$\([^)]*\)|`[^`]*`")
_DIGITS = lazy(r"\d+")


def base(path: Value) -> str:
    """Return the last part of a path."""
    return str(path or "").rsplit("/", 1)[-1]


def filled(path: str) -> re.Pattern[str]:
    """Return what the name of a promised path may have become: its placeholders filled, rotated, packed."""
    return lazy(".*".join(map(re.escape, _PLACEHOLDER.split(base(path)))) + r"(?:\.(?:gz|zst|xz|bz2|\d+))*$")


def promised_file(path: str, sources: Sequence[Source]) -> Source | None:
    """Return the source that a promised path became, whatever filled its placeholders."""
    pattern = filled(path)
    named = (s for s in sources if pattern.fullmatch(base(s.path).rsplit("!", 1)[-1]))
    return next((s for s in named if not _numbered_apart(path, s.path)), None)


def _numbered_apart(promised: str, present: str) -> bool:
    """Tell whether the folders differ by a number only: `runs/exp13` holds another run than `runs/exp14`."""
    ours, other = promised.split("/")[-2:-1], present.split("/")[-2:-1]
    return bool(ours and other) and ours != other and _DIGITS.sub("0", ours[0]) == _DIGITS.sub("0", other[0])
