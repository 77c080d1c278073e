"""Which logs of a folder are of earlier tries, told by more than their numbers.

By where they lie (`old/`, `run1/` beside `run2/`), by what they are called beside others
(`pretrain_0711.log`, `train.log.bs64`), and by when they were written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from forensics.model import Context, Line
from forensics.sources.input import Input
from forensics.sources.names import dotted_rotation, natural, rotation, unpacked
from forensics.sources.sniff import LOG_KINDS
from forensics.sources.span import ends
from forensics.sources.unit import TRIES, Unit, is_date, peek, put_aside, read_name
from forensics.text.lazy import lazy
from forensics.text.prefix import peel

VOICES = LOG_KINDS | {"transcript"}
_DIGITS = lazy(r"\d+")
_COUNTED = lazy(r"(?:run|try|attempt|trial|exp|round|launch|restart|resume)[_.-]?\d", re.IGNORECASE)
"""What a folder of one of several tries is called; what stands in numbered folders of ranks and nodes ran together."""
_SETTING = lazy(
    r"(?:bs|batch|lr|seed|seq|ctx|len|mbs|gbs|acc|ga|tp|pp|dp|cp|zero|hd|bf|fp|mem|v|try|run|attempt)[_-]?\d[\w-]*"
    r"|oom|failed|crashed|old|prev|previous|first|before|bak|backup|orig",
    re.IGNORECASE,
)
"""What in the middle of a name tells how another try was set, or how it went."""
_AGAIN = frozenset({"resume", "resumed", "restart", "restarted", "relaunch", "rerun", "retry", "continue", "continued"})
_STEP = lazy(
    r"\b(?:step|iter(?:ation)?)s?\b[\s:=#\[\]'\"]{1,12}(?P<step>\d{1,12})\b|\d% ?\|[^|\n]{0,80}\| (?P<bar>\d{1,12})/",
    re.IGNORECASE,
)
SLACK = 60.0
"""Seconds by which one log may end after another begins that followed it."""
_LONG = 6 * 3600.0
"""Seconds between the end of one log and the begin of another that make the first one of an earlier try."""
_FEW = 8
_TELLING = 20
"""Characters of a line from which on its like is no coincidence."""


def earlier(units: Sequence[Unit], ordered: Sequence[Input]) -> list[Input]:
    """Return the files that are of earlier tries than others of the folder."""
    aside = {id(made) for made in ordered if put_aside(made.source.path) or _outdated(made, units)}
    if all(id(made) in aside or made.source.kind not in VOICES for made in ordered):
        return []  # without a later run beside it, what lies in `old/` is the run in question
    told = (
        *_left_behind([u for u in units if not u.aside]),
        *_firsts(units),
        *_dated(units),
        *_outrun(units),
        *_before_resumption(units),
        *_by_name(units),
        *_kept_tries(units),
    )
    alone = (*_whole_parts(ordered), *_renamed(ordered), *_of_earlier_folders(units, ordered))
    gone = aside | {id(made) for made in (*(made for unit in told for made in unit.inputs), *alone)}
    return [made for made in ordered if id(made) in gone]


def _outdated(made: Input, units: Sequence[Unit]) -> bool:
    """Tell whether the name of a session's record says that it is of an earlier time, or of an earlier job."""
    if made.source.kind != "transcript":
        return False
    name = read_name(made.source.path)
    return name.age < 0 or any(
        name.job and unit.job and unit.stem == name.stem and (unit.number or 0) > (name.number or 0) for unit in units
    )


def _whole_parts(ordered: Sequence[Input]) -> list[Input]:
    """Return numbered parts that are runs of their own, `nohup.out.1`.

    The log without a number begins just as they do, or with the same step.
    """
    by_name = {unpacked(made.source.path): made for made in ordered if made.source.kind in LOG_KINDS}
    found = []
    for made in by_name.values():
        part = rotation(made.source.path) or dotted_rotation(made.source.path)
        base = by_name.get(part.base) if part is not None else None
        if base is None or base is made:
            continue
        if _begins(made) & _begins(base) or _first_step(made) == _first_step(base) is not None:
            found.append(made)
    return found


def _first_step(made: Input) -> int | None:
    """Return the number of the first step that a log tells of."""
    found = _STEP.search(ends(made)[0])
    return int(found["bar"] or found["step"]) if found else None


def _renamed(ordered: Sequence[Input]) -> list[Input]:
    """Return logs put out of the way of the next try by a word in their name: `train.log.bs64`, `train.bs64.log`."""
    names = {unpacked(made.source.path) for made in ordered if made.source.kind in LOG_KINDS}
    found = []
    for made in ordered:
        path = unpacked(made.source.path)
        base, _, word = path.rpartition(".")
        stem, _, infix = base.rpartition(".")
        behind = base in names and not word.isdecimal() and rotation(made.source.path) is None
        within = f"{stem}.{word}" in names and _SETTING.fullmatch(infix) is not None
        if made.source.kind in VOICES | {"text"} and (behind or within):
            found.append(made)
    return found


def _begins(made: Input) -> set[str]:
    """Return the first lines of a log, without their numbers, as far as they are more than a step's."""
    opening = ends(made)[0].split("\n", 12)[:3]
    lines = [line for line in opening if len(line.strip()) > _TELLING and not re.search("(?i)loss|step", line)]
    return {_DIGITS.sub("0", peel(Line(1, 0, 0, line[:400]), Context(made.source)).text) for line in lines}


def _firsts(units: Sequence[Unit]) -> list[Unit]:
    """Return first attempts beside a log of training whose name counts no tries: `attempt1_bs32.log`, `finetune.log`.

    A later job's number counts none either: `logs_attempt1/slurm-77.out`, `slurm-81.out`.
    """
    others = [u for u in units if u.explicit is None and not u.age and not u.other_purpose]
    plain = any(u.number is None for u in others)
    last = max((u.number or 0 for u in others if u.job), default=0)
    counted = {unit.explicit for unit in units if unit.explicit is not None}
    firsts = [u for u in units if u.first and (plain or (u.job and (u.number or 0) < last))]
    return firsts if counted <= {0, 1} else []


def _left_behind(units: Sequence[Unit]) -> list[Unit]:
    """Return units deeper in the folder that were done long before the run beside their folder began.

    A launcher may be silent for hours while its workers' logs, in folders, tell of the run; an
    evaluation or a server may run long after it. So only logs with losses of their own tell.
    """
    depth = min(map(_depth, units), default=0)
    deeper = [unit for unit in units if _depth(unit) > depth]
    top = [unit for unit in units if _depth(unit) == depth and deeper and _learns(unit)]
    if not top:
        return []
    peek([*top, *deeper])
    began = [unit.when.first for unit in top if unit.when is not None]
    if len(began) < len(top):
        return []
    return [unit for unit in deeper if unit.when is not None and unit.when.last < min(began) - _LONG]


def _of_earlier_folders(units: Sequence[Unit], ordered: Sequence[Input]) -> list[Input]:
    """Return all that lies in `monday_run1/` beside `friday_run2/`, whatever the logs in the two are called.

    Numbers and times must agree, and nothing may have run in two of them at a time.
    """
    held: dict[str, dict[str, list[Unit]]] = {}
    for unit in units:
        folder, inside, _ = unit.inputs[0].source.path.replace("!", "/").partition("/")
        if inside and _COUNTED.search(folder):
            held.setdefault(_DIGITS.sub("0", folder), {}).setdefault(folder, []).append(unit)
    gone: set[str] = set()
    for folders in (folders for folders in held.values() if len(folders) > 1):
        peek([unit for inside in folders.values() for unit in inside])
        names = sorted(folders, key=natural)
        times = [[unit.when for unit in folders[name] if unit.when is not None] for name in names]
        if all(times) and all(max(w.last for w in a) < min(w.first for w in b) for a, b in pairwise(times)):
            gone.update(names[:-1])
    return [made for made in ordered if made.source.path.replace("!", "/").partition("/")[0] in gone]


def _dated(units: Sequence[Unit]) -> list[Unit]:
    """Return logs put away under a date, `pretrain_0711.log`, beside one of the same program that has none."""
    plain = [u for u in units if u.explicit is None and u.number is None and not u.age and not u.other_purpose]
    dated = [u for u in units if u.number is not None and is_date(u.number)]
    if not plain or not dated:
        return []  # files are looked into only where names ask for it
    peek(units)
    return [unit for unit in dated if any(_named_alike(p, unit) and _may_follow(p, unit) for p in plain)]


def _named_alike(one: Unit, other: Unit) -> bool:
    """Tell whether two logs of one folder are called by the same first word: the folder's own words say nothing."""
    folder = _folder(one)
    return folder == _folder(other) and one.stem[len(folder) :][:1] == other.stem[len(folder) :][:1]


def _before_resumption(units: Sequence[Unit]) -> list[Unit]:
    """Return the logs beside `resume_0425.log`, or another that is called after going on, which ran before it."""
    logs = [u for u in units if (u.explicit is None or is_date(u.explicit)) and not u.age and not u.other_purpose]
    later = [u for u in logs if _AGAIN & set(u.stem)]
    if not later:
        return []  # files are looked into only where names ask for it
    peek(logs)
    return [u for u in logs if u not in later and any(_folder(r) == _folder(u) and _may_follow(r, u) for r in later)]


def _by_name(units: Sequence[Unit]) -> list[Unit]:
    """Return logs whose name says that they are old, or how they failed, beside one whose name does not.

    Both must be trainings, or begin with the same word. Dates in them may say otherwise.
    """
    old = [u for u in units if u.age < 0 and not u.aside]
    others = [u for u in units if u.age >= 0] if old else []
    if not others:
        return []
    peek([*old, *others])
    learning = {id(u) for u in (*old, *others) if _learns(u)}
    return [
        u
        for u in old
        if any(
            _inside(u, o) and _may_precede(u, o)
            for o in others
            if {id(u), id(o)} <= learning or (u.stem and _named_alike(o, u))
        )
    ]


def _kept_tries(units: Sequence[Unit]) -> list[Unit]:
    """Return the tries kept in `attempts/` beside the log of a later one, even if that failed before its first step."""
    kept = [u for u in units if _in_tries(u)]
    others = [u for u in units if u not in kept and not (u.aside or u.other_purpose or u.age < 0)]
    if not kept or not others:
        return []
    peek([*kept, *others])
    began = [u.when.first for u in others if u.when is not None]
    return [u for u in kept if u.when is not None and began and u.when.last <= max(began)]


def _in_tries(unit: Unit) -> bool:
    return not TRIES.isdisjoint(unit.inputs[0].source.path.replace("!", "/").lower().split("/")[:-1])


def _inside(unit: Unit, other: Unit) -> bool:
    """Tell whether a log lies in the folder of another, or deeper."""
    folder = _folder(other)
    return _folder(unit)[: len(folder)] == folder


def _may_precede(unit: Unit, later: Unit) -> bool:
    if unit.when is None or later.when is None or not (unit.when.dated and later.when.dated):
        return True
    return unit.when.first < later.when.last


def _folder(unit: Unit) -> tuple[str, ...]:
    return unit.stem[: len(unit.stem) - unit.stem[::-1].index("/")] if "/" in unit.stem else ()


def _may_follow(later: Unit, unit: Unit) -> bool:
    return later.when is None or unit.when is None or unit.when.last <= later.when.first


def _outrun(units: Sequence[Unit]) -> list[Unit]:
    """Return trainings that had ended when another one of the folder began, whatever the two are called.

    Only logs with losses of their own on both sides count: an evaluation or a repetition for the
    sake of finding the fault comes after the run that is asked about, and has another purpose.
    """
    learning = [unit for unit in units if not unit.aside and unit.age >= 0 and _learns(unit)]
    if len(learning) < 2:
        return []
    peek(learning)
    if any(unit.when is None for unit in learning):
        return []
    latest = max(learning, key=lambda unit: unit.when.first if unit.when else 0.0)
    began = latest.when.first if latest.when else 0.0
    # Numbers of jobs rise, and a clock in a log may be wrong.
    return [
        unit
        for unit in learning
        if unit.when is not None
        and unit.when.last < began - SLACK
        and not (unit.job and latest.job and (unit.number or 0) > (latest.number or 0))
    ]


def _learns(unit: Unit) -> bool:
    return not unit.other_purpose and any("loss" in text.lower() for made in unit.inputs[:_FEW] for text in ends(made))


def _depth(unit: Unit) -> int:
    return min(made.source.path.replace("!", "/").count("/") for made in unit.inputs)
