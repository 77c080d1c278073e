"""Which logs belong to which try of a run.

A folder often holds the logs of several tries. The report is about the last one, so
logs are numbered: attempt 0 is the oldest, the highest number is the run in question.
Logs of many ranks, nodes or streams are one try. The names propose, the times inside
decide: logs whose times overlap ran together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from os.path import commonpath

from msgspec.structs import replace

from forensics.model import Context, Line
from forensics.sources.earlier import SLACK, VOICES, earlier
from forensics.sources.input import Input
from forensics.sources.names import dotted_rotation, natural, rotation, unpacked
from forensics.sources.sniff import LOG_KINDS
from forensics.sources.span import ends
from forensics.sources.unit import TRIES, Unit, peek, read_name, related
from forensics.text.lazy import lazy
from forensics.text.prefix import peel

_DIGITS = lazy(r"\d+")
_OPENING = 8


def arrange(inputs: Sequence[Input]) -> list[Input]:
    """Order inputs by name, rotated parts oldest first, and number the attempts.

    Everything that is no log belongs to the highest attempt, unless its folder names one.
    """
    ordered = sorted(inputs, key=lambda made: natural(made.source.path))
    _rank_parts(ordered)
    ordered = _rotate(ordered)
    units = _units(ordered)
    gone = {id(made) for made in earlier(units, ordered)}
    clusters = _clusters(units)
    if len(units) > 1 and (any(len(cluster) > 1 for cluster in clusters) or any(unit.explicit for unit in units)):
        _number(units, [_older_first(_chain(cluster), gone) for cluster in clusters], ordered)
    _send_back(gone, ordered)
    return ordered


def _send_back(gone: AbstractSet[int], ordered: Sequence[Input]) -> None:
    """Count files as of an earlier try, whatever they are called, where their folder or their times say so."""
    ours = [made for made in ordered if id(made) not in gone and made.source.kind in VOICES]
    if not gone or not ours:
        return  # without a later run beside it, what is old by its name is the run in question
    logs = [made for made in ours if made.source.kind in LOG_KINDS]
    latest = max(made.source.attempt for made in logs or ours)
    up = 1 if latest == 0 else 0  # an earlier try needs a number below
    for made in ordered:
        old = id(made) in gone
        number = min(made.source.attempt, latest + up - 1) if old else min(made.source.attempt, latest) + up
        made.source = replace(made.source, attempt=number)


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
    logs = [made for made in ordered if _is_log(made)]
    shared = _shared(logs)
    for made in logs:
        path = made.source.path
        found = rotation(path) or dotted_rotation(path)
        if found is not None and (found.base in names or rotation(path)):
            path = found.base
        unit = read_name(path[shared:])
        key = (unit.stem, unit.explicit, unit.number, unit.age)
        units.setdefault(key, unit).inputs.append(made)
    plain = {(unit.stem, unit.number) for unit in units.values() if unit.explicit is None and not unit.age}
    for unit in units.values():
        if unit.first and (unit.stem, unit.number) in plain:
            unit.explicit, unit.age = None, -1  # `attempt1-train.log` was moved out of the way of `train.log`
    return list(units.values())


def _is_log(made: Input) -> bool:
    """Tell whether a file is a log, or what `script` or a copied terminal left under a log's name."""
    kind = made.source.kind
    return kind in LOG_KINDS or (kind in VOICES and made.source.path.endswith((".log", ".out")))


def _shared(logs: Iterable[Input]) -> int:
    """Return the length of the folder in which all logs lie: it tells none of them apart, unless it counts tries."""
    folders = [made.source.path.rpartition("/")[0] for made in logs]
    folder = commonpath(folders) if all(folders) and folders else ""
    return len(folder) + 1 if folder and folder.rpartition("/")[2].lower() not in TRIES else 0


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


def _older_first(chain: list[list[Unit]], gone: AbstractSet[int]) -> list[list[Unit]]:
    """Put the tries that are known to be earlier before the others, whatever their names count."""
    if not gone:
        return chain
    old = [[u for u in group if _known(u, gone)] for group in chain]
    rest = [[u for u in group if not _known(u, gone)] for group in chain]
    return [group for group in (*old, *rest) if group] if any(rest) else chain


def _known(unit: Unit, gone: AbstractSet[int]) -> bool:
    return all(id(made) in gone for made in unit.inputs)


def _number(units: Sequence[Unit], chains: Sequence[list[list[Unit]]], ordered: Sequence[Input]) -> None:
    named = sorted({unit.explicit for unit in units if unit.explicit is not None})
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
    peek(cluster)
    old = [unit for unit in cluster if unit.age < 0]
    if old and len(old) < len(cluster) and not _later(old, cluster):
        return [*_in_order(old), *_in_order([unit for unit in cluster if unit.age >= 0])]
    return _in_order(cluster)


def _in_order(units: list[Unit]) -> list[list[Unit]]:
    return _by_time(units) if all(unit.when is not None for unit in units) else _by_name(units)


def _later(old: Sequence[Unit], cluster: Sequence[Unit]) -> bool:
    """Tell whether the dates in logs that are called old contradict their names: they began after the others' end."""
    begin = [unit.when.first for unit in old if unit.when and unit.when.dated]
    end = [unit.when.last for unit in cluster if unit.age >= 0 and unit.when and unit.when.dated]
    return len(begin) == len(old) and bool(end) and min(begin) > max(end)


def _by_time(cluster: Sequence[Unit]) -> list[list[Unit]]:
    chain: list[list[Unit]] = []
    until = 0.0
    jobs = len({unit.stem for unit in cluster}) == 1 and all(unit.job for unit in cluster)
    for unit in sorted(cluster, key=lambda unit: (unit.number or 0) if jobs else unit.when.first if unit.when else 0.0):
        if unit.when is None:
            continue
        if chain and not jobs and unit.when.first < until - min(SLACK, (unit.when.last - unit.when.first) / 2):
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
