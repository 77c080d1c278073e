"""What `dflash-forensics run` left, read as it is meant: one log an attempt, with its begin and its end.

A folder with such a `run.json` has train.log, and beside it stdout.log and stderr.log with the
same bytes apart. Read twice, everything would have happened twice; so one of them is read. It
is train.log, unless the supervisor was killed before all of it was there.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from forensics.sources.input import Input

SCHEMA = "dflash-forensics/run/"
RECORD, MERGED, APART = "run.json", "train.log", ("stdout.log", "stderr.log")
_BESIDE = {
    "index": "when each line of train.log came",
    "heartbeat": "a sign of life of the supervisor",
}
_MOST = 1 << 20


def read_records(inputs: Sequence[Input]) -> None:
    """Find the folders of supervised attempts, and mark what in them is told twice."""
    folders: dict[str, list[Input]] = defaultdict(list)
    if not any(_name(made) == RECORD for made in inputs):
        return
    for made in inputs:
        folders[_folder(made)].append(made)
    for members in folders.values():
        record = next((found for made in members if _name(made) == RECORD and (found := _record(made))), None)
        if record is not None:
            _tell_apart(members, record)


def _tell_apart(members: Sequence[Input], record: Mapping[str, Any]) -> None:
    merged = [made for made in members if _of(made, (MERGED,))]
    apart = [made for made in members if _of(made, APART)]
    whole = _bytes(merged) >= _bytes(apart)
    twice, why = (apart, "train.log has it too") if whole else (merged, "stdout.log and stderr.log have more of it")
    for made in twice:
        made.source = replace(made.source, read="skipped", why=why)
    for made in members:
        if (name := _name(made)) in _BESIDE:
            made.source = replace(made.source, read="skipped", why=_BESIDE[name])
    for made in merged if whole else apart:
        made.source = replace(made.source, started=_time(record.get("started")), ended=_time(record.get("ended")))


def _record(made: Input) -> Mapping[str, Any] | None:
    try:
        found = json.loads(made.read(_MOST))
    except (ValueError, RecursionError, OSError):
        return None
    return found if isinstance(found, dict) and str(found.get("schema", "")).startswith(SCHEMA) else None


def _of(made: Input, names: Iterable[str]) -> bool:
    """Tell whether it is one of these logs, or a part that was rotated away: `train.log.1`."""
    name = _name(made)
    return any(name == log or (name.startswith(f"{log}.") and name[len(log) + 1 :].isdecimal()) for log in names)


def _bytes(inputs: Iterable[Input]) -> int:
    return sum(made.source.bytes for made in inputs)


def _name(made: Input) -> str:
    return PurePosixPath(made.source.path.replace("!", "/")).name


def _folder(made: Input) -> str:
    return str(PurePosixPath(made.source.path.replace("!", "/")).parent)


def _time(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
