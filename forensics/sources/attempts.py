"""Which logs belong to which try of a run.

A folder often holds the logs of several tries. The report is about the last one, so
logs are numbered: attempt 0 is the oldest, the highest number is the run in question.
Logs of many ranks, nodes or streams are one try. The names propose, the times inside
decide: logs whose times overlap ran together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from msgspec.structs import replace

from forensics.model import Context, Line
from forensics.sources.input import Input
from forensics.sources.names import dotted_rotation, natural, rotation, unpacked
from forensics.sources.sniff import LOG_KINDS
from forensics.sources.span import Span, ends, span
from forensics.sources.unit import Unit, put_aside, read_name, related
from forensics.text.lazy import lazy
from forensics.text.prefix import peel

_DIGITS = lazy(r"\d+")
_OPENING = 8
_VOICES = LOG_KINDS | {"transcript"}
_COUNTED = lazy(r"(?:run|try|attempt|trial|exp|round|launch|restart|resume)[_.-]?\d", re.IGNORECASE)
"""What a folder of one of several tries is called; what stands in numbered folders of ranks and nodes ran together."""
_AGAIN = frozenset({"resume", "resumed", "restart", "restarted", "relaunch", "rerun", "retry", "continue", "continued"})
_SLACK = 60.0
_LONG = 6 * 3600.0
"""Seconds between the end of one log and the begin of another that make the first one of an earlier try."""
_PEEKED = 8
_TELLING = 20
"""Characters of a line from which on its like is no coincidence."""


def arrange(inputs: Sequence[Input]) -> list[Input]:
    """Order inputs by name, rotated parts oldest first, and number the attempts.

    Everything that is no log belongs to the highest attempt, unless its folder names one.
    """
    ordered = sorted(inputs, key=lambda made: natural(made.source.path))
    _rank_parts(ordered)
    ordered = _rotate(ordered)
    units = _units(ordered)
    clusters = _clusters(units)
    if len(units) > 1 and (any(len(cluster) > 1 for cluster in clusters) or any(unit.explicit for unit in units)):
        _number(units, clusters, ordered)
    _send_back(units, ordered)
    return ordered


def _send_back(units: Sequence[Unit], ordered: Sequence[Input]) -> None:
    """Count files as of an earlier try, whatever they are called, where their folder or their times say so."""
    gone = {id(made) for made in ordered if put_aside(made.source.path) or _outdated(made, units)}
    if all(id(made) in gone or made.source.kind not in _VOICES for made in ordered):
        return  # without a later run beside it, what lies in `old/` is the run in question
    gone |= {id(made) for unit in _left_behind([u for u in units if not u.aside]) for made in unit.inputs}
    gone |= {id(made) for made in (*_whole_parts(ordered), *_renamed(ordered), *_of_earlier_folders(units, ordered))}
    before = (*_firsts(units), *_dated(units), *_outrun(units), *_before_resumption(units))
    gone |= {id(made) for unit in before for made in unit.inputs}
    if not gone:
        return
    ours = [made for made in ordered if id(made) not in gone]
    latest = max(made.source.attempt for made in ours if made.source.kind in _VOICES)
    up = 1 if latest == 0 else 0  # an earlier try needs a number below
    for made in ordered:
        old = id(made) in gone
        number = min(made.source.attempt, latest + up - 1) if old else min(made.source.attempt, latest) + up
        made.source = replace(made.source, attempt=number)


def _outdated(made: Input, units: Sequence[Unit]) -> bool:
    """Tell whether the name of a session's record says that it is of an earlier time, or of an earlier job."""
    if made.source.kind != "transcript":
        return False
    name = read_name(made.source.path)
    return name.age < 0 or any(
        name.job and unit.job and unit.stem == name.stem and (unit.number or 0) > (name.number or 0) for unit in units
    )


def _whole_parts(ordered: Sequence[Input]) -> list[Input]:
    """Return numbered parts that are runs of their own, `nohup.out.1`: they begin just as the log without a number."""
    by_name = {unpacked(made.source.path): made for made in ordered if made.source.kind in LOG_KINDS}
    found = []
    for made in by_name.values():
        part = rotation(made.source.path) or dotted_rotation(made.source.path)
        base = by_name.get(part.base) if part is not None else None
        if base is not None and base is not made and _begins(made) & _begins(base):
            found.append(made)
    return found


def _renamed(ordered: Sequence[Input]) -> list[Input]:
    """Return logs that were put out of the way of the next try by a word behind their name: `train.log.bs64`."""
    names = {unpacked(made.source.path) for made in ordered if made.source.kind in LOG_KINDS}
    found = []
    for made in ordered:
        base, _, word = unpacked(made.source.path).rpartition(".")
        if (
            base in names
            and made.source.kind in _VOICES
            and not word.isdecimal()
            and rotation(made.source.path) is None
        ):
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
    _peek([*top, *deeper])
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
        _peek([unit for inside in folders.values() for unit in inside])
        names = sorted(folders, key=natural)
        times = [[unit.when for unit in folders[name] if unit.when is not None] for name in names]
        if all(times) and all(max(w.last for w in a) < min(w.first for w in b) for a, b in pairwise(times)):
            gone.update(names[:-1])
    return [made for made in ordered if made.source.path.replace("!", "/").partition("/")[0] in gone]


def _dated(units: Sequence[Unit]) -> list[Unit]:
    """Return logs put away under a date, `pretrain_0711.log`, beside one of the same program that has none."""
    plain = [u for u in units if u.explicit is None and u.number is None and not u.age and not u.other_purpose]
    dated = [u for u in units if u.number is not None and _is_date(u.number)]
    if not plain or not dated:
        return []  # files are looked into only where names ask for it
    _peek(units)
    return [unit for unit in dated if any(p.stem[:1] == unit.stem[:1] and _may_follow(p, unit) for p in plain)]


def _before_resumption(units: Sequence[Unit]) -> list[Unit]:
    """Return the logs beside `resume_0425.log`, or another that is called after going on, which ran before it."""
    logs = [u for u in units if (u.explicit is None or _is_date(u.explicit)) and not u.age and not u.other_purpose]
    later = [u for u in logs if _AGAIN & set(u.stem)]
    if not later:
        return []  # files are looked into only where names ask for it
    _peek(logs)
    return [u for u in logs if u not in later and any(_folder(r) == _folder(u) and _may_follow(r, u) for r in later)]


def _folder(unit: Unit) -> tuple[str, ...]:
    return unit.stem[: len(unit.stem) - unit.stem[::-1].index("/")] if "/" in unit.stem else ()


def _may_follow(later: Unit, unit: Unit) -> bool:
    return later.when is None or unit.when is None or unit.when.last < later.when.first


def _is_date(number: int) -> bool:
    """Tell whether a number in a name can be a day: 0711 and 20250711, not 1000 and not the number of a job."""
    month, day = number // 100 % 100, number % 100
    return (number < 1300 or 20_000_000 < number < 22_000_000) and 0 < month < 13 and 0 < day < 32


def _outrun(units: Sequence[Unit]) -> list[Unit]:
    """Return trainings that had ended when another one of the folder began, whatever the two are called.

    Only logs with losses of their own on both sides count: an evaluation or a repetition for the
    sake of finding the fault comes after the run that is asked about, and has another purpose.
    """
    learning = [unit for unit in units if not unit.aside and unit.age >= 0 and _learns(unit)]
    if len(learning) < 2:
        return []
    _peek(learning)
    if any(unit.when is None for unit in learning):
        return []
    latest = max(learning, key=lambda unit: unit.when.first if unit.when else 0.0)
    began = latest.when.first if latest.when else 0.0
    # Numbers of jobs rise, and a clock in a log may be wrong.
    return [
        unit
        for unit in learning
        if unit.when is not None
        and unit.when.last < began - _SLACK
        and not (unit.job and latest.job and (unit.number or 0) > (latest.number or 0))
    ]


def _learns(unit: Unit) -> bool:
    return not unit.other_purpose and any(
        "loss" in text.lower() for made in unit.inputs[:_PEEKED] for text in ends(made)
    )


def _depth(unit: Unit) -> int:
    return min(made.source.path.replace("!", "/").count("/") for made in unit.inputs)


def _rank_parts(ordered: Sequence[Input]) -> None:
    """Give ranks to `train.log.0`, `train.log.1`, ... where they are no rotation: nothing was rotated away."""
    names = {made.source.path for made in ordered}
    parts: dict[str, list[tuple[int, Input]]] = {}
    for made in ordered:
        found = rotation(made.source.path)
        if found is not None and found.part is not None and found.base not in names:
            parts.setdefault(found.base, []).append((found.part, made))
    for numbered in parts.values():
        if len(numbered) > 1 and sorted(number for number, _ in numbered) == list(range(len(numbered))):
            for number, made in numbered:
                made.source = replace(made.source, rank=number)


def _rotate(ordered: list[Input]) -> list[Input]:
    """Put the rotated parts of a log before it, oldest first."""
    names = {unpacked(made.source.path) for made in ordered}
    places: list[tuple[object, ...]] = []
    for made in ordered:
        path = made.source.path
        found = rotation(path) or dotted_rotation(path)
        if found is not None and found.base in names and found.base != unpacked(path):
            places.append((natural(found.base), 0, found.newness, natural(path)))
        else:
            alone = rotation(path)
            base, newness = (alone.base, alone.newness) if alone else (unpacked(path), 0.0)
            places.append((natural(base), 1, newness, natural(path)))
    return [ordered[i] for i in sorted(range(len(ordered)), key=places.__getitem__)]


def _units(ordered: Iterable[Input]) -> list[Unit]:
    names = {unpacked(made.source.path) for made in ordered}
    units: dict[tuple[object, ...], Unit] = {}
    for made in ordered:
        if made.source.kind not in LOG_KINDS:
            continue
        path = made.source.path
        found = rotation(path) or dotted_rotation(path)
        if found is not None and (found.base in names or rotation(path)):
            path = found.base
        unit = read_name(path)
        key = (unit.stem, unit.explicit, unit.number, unit.age)
        units.setdefault(key, unit).inputs.append(made)
    plain = {unit.stem for unit in units.values() if unit.explicit is None and unit.number is None and not unit.age}
    for unit in units.values():
        if unit.first and unit.stem in plain:
            unit.explicit, unit.age = None, -1  # `attempt1-train.log` was moved out of the way of `train.log`
    return list(units.values())


def _clusters(units: Sequence[Unit]) -> list[list[Unit]]:
    """Group the units whose names make them candidates for tries of one thing."""
    clusters: dict[tuple[str, ...], list[Unit]] = {}  # by the stem of the first, which is its shortest
    order: dict[tuple[str, ...], int] = {}
    for unit in sorted(units, key=lambda unit: len(unit.stem)):
        # Only what a stem begins with is related to it: looking at all clusters is quadratic, and there are folders
        # with thousands of logs that have nothing to do with one another.
        begun = [unit.stem[:size] for size in range(len(unit.stem) + 1)]
        for stem in sorted((stem for stem in begun if stem in clusters), key=order.__getitem__):
            first = clusters[stem][0]
            if related(stem, unit.stem) and _alike(first, unit):
                clusters[stem].append(unit)
                break
        else:
            order[unit.stem] = len(clusters)
            clusters[unit.stem] = [unit]
    return list(clusters.values())


def _alike(one: Unit, other: Unit) -> bool:
    """Tell whether logs of different words come from one program: they begin with a line of one form."""
    return one.stem == other.stem or bool(_opening(one) & _opening(other))


def _opening(unit: Unit) -> set[str]:
    source = unit.inputs[0].source
    lines = [line for line in ends(unit.inputs[0])[0].split("\n", 40)[:40] if line.strip()][:_OPENING]
    peeled = (peel(Line(1, 0, 0, line[:400]), Context(source)).text for line in lines)
    return {_DIGITS.sub("0", text) for text in peeled if text.strip("*=-# ")}


def _number(units: Sequence[Unit], clusters: Sequence[list[Unit]], ordered: Sequence[Input]) -> None:
    named = sorted({unit.explicit for unit in units if unit.explicit is not None})
    chains = [_chain(cluster) for cluster in clusters]
    total = max(len(named), *(len(chain) for chain in chains))
    attempts: dict[int, int] = {}
    for chain in chains:
        for back, group in enumerate(reversed(chain)):
            for unit in group:
                attempt = total - 1 - back
                if unit.explicit is not None:
                    attempt = total - len(named) + named.index(unit.explicit)
                attempts.update((id(made), attempt) for made in unit.inputs)
    for group in (group for chain in chains for group in chain):
        if len(group) > 1 and all(not unit.stem and unit.number is not None for unit in group):
            _rank(group)  # `0.log`, `1.log`: nothing but a number each, written at one time
    for made in ordered:
        attempt = attempts.get(id(made), total - 1)
        if id(made) not in attempts:
            explicit = read_name(made.source.path).explicit
            if explicit in named:
                attempt = total - len(named) + named.index(explicit)
        made.source = replace(made.source, attempt=attempt)


def _rank(group: Iterable[Unit]) -> None:
    for unit in group:
        for made in unit.inputs:
            if made.source.rank is None:
                made.source = replace(made.source, rank=unit.number)


def _chain(cluster: list[Unit]) -> list[list[Unit]]:
    """Order the units of a cluster into tries, oldest first; units of one try stand together."""
    if len(cluster) == 1:
        return [cluster]
    if all(unit.explicit is not None for unit in cluster):
        numbers = sorted({unit.explicit for unit in cluster if unit.explicit is not None})
        return [[unit for unit in cluster if unit.explicit == number] for number in numbers]
    _peek(cluster)
    timed = [unit for unit in cluster if unit.when is not None]
    if len(timed) == len(cluster):
        return _by_time(cluster)
    return _by_name(cluster)


def _peek(cluster: Sequence[Unit]) -> None:
    """Fill in when the units were written; logs without years take the year of one that has it."""
    for unit in cluster:
        unit.when = _union(unit, None)
    dated = next((unit.when for unit in cluster if unit.when and unit.when.dated), None)
    for unit in cluster:
        if dated and unit.when and not unit.when.dated:
            unit.when = _union(unit, datetime.fromtimestamp(dated.first, UTC).year)


def _union(unit: Unit, year: int | None) -> Span | None:
    spans = [found for made in unit.inputs[:_PEEKED] if (found := span(made, year))]
    if not spans:
        return None
    return Span(min(s.first for s in spans), max(s.last for s in spans), dated=all(s.dated for s in spans))


def _by_time(cluster: Sequence[Unit]) -> list[list[Unit]]:
    chain: list[list[Unit]] = []
    until = 0.0
    jobs = len({unit.stem for unit in cluster}) == 1 and all(unit.job for unit in cluster)
    for unit in sorted(cluster, key=lambda unit: (unit.number or 0) if jobs else unit.when.first if unit.when else 0.0):
        if unit.when is None:
            continue
        if chain and not jobs and unit.when.first < until - min(_SLACK, (unit.when.last - unit.when.first) / 2):
            chain[-1].append(unit)
            until = max(until, unit.when.last)
        else:
            chain.append([unit])
            until = unit.when.last
    return chain


def _by_name(cluster: Sequence[Unit]) -> list[list[Unit]]:
    """Order by what the names tell: `train`, `train_flex`, `train_flex2`.

    Names make tries only where one of them counts or says old or new; and numbers
    from 0 on, with nothing else to tell them apart, are ranks.
    """
    counted = [unit for unit in cluster if unit.number is not None or unit.explicit is not None or unit.age]
    numbers = sorted(unit.number for unit in cluster if unit.number is not None)
    stems = {unit.stem for unit in cluster}
    if not counted or (len(stems) == 1 and len(cluster) > 1 and numbers == list(range(len(cluster)))):
        return [list(cluster)]
    chain: dict[tuple[int, int, int], list[Unit]] = {}
    for unit in cluster:
        chain.setdefault((unit.age, len(unit.stem), unit.explicit or unit.number or 0), []).append(unit)
    return [chain[order] for order in sorted(chain)]
