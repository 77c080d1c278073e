"""What a log's name tells of the try it belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from forensics.sources.input import Input
from forensics.sources.names import unpacked
from forensics.sources.span import Span, span
from forensics.text.lazy import lazy

_TOGETHER = lazy(
    r"(?:global_?|local_?)?(?:rank|node|host|worker(?:log\.)?|gpu(?![_=-]?\d{4})|proc|task|pod|machine|server|nid|compute)"
    r"[_=-]?\[?\d+\]?(?!\.\d)"
    r"|(?<![a-z])(?:cn|gn|dgx|hgx)-?\d+|(?<![a-z])gpu-[a-z]\d+",
    re.IGNORECASE,
)
_EXPLICIT = frozenset({"attempt", "try", "retry", "restart", "resume"})
_NUMBERED = _EXPLICIT | {"run", "job", "launch", "exp", "slurm", "version", "v", "round", "trial"}
TRIES = frozenset({"attempt", "attempts", "try", "tries", "retry", "retries", "restart", "restarts"})
"""What a folder is called that holds a numbered one for each try."""
_LETTERED = frozenset({"run", "exp", "trial", "try", "attempt", "round"})
_SCHEDULED = frozenset({"slurm", "job"})
_AGES = {
    "old": -1, "prev": -1, "previous": -1, "earlier": -1, "older": -1, "former": -1, "backup": -1, "bak": -1,
    "orig": -1, "before": -1, "yesterday": -1, "first": -1,
    "oom": -1, "failed": -1, "crashed": -1, "wrong": -1, "broken": -1, "aborted": -1,
    "ok": -2, "good": -2, "works": -2, "baseline": -2,
    "resume": 1, "resumed": 1, "new": 1, "latest": 1, "final": 1, "again": 1, "rerun": 1,
    "after": 1,
}  # fmt: skip
_ASIDE = frozenset({
    "old", "older", "prev", "previous", "past", "earlier", "former", "backup", "backups", "bak", "archive",
    "archived", "archives", "orig", "original", "history", "historical", "superseded", "stale", "obsolete", "outdated",
    "deprecated", "trash",
})  # fmt: skip
_RUNS = frozenset(
    {"run", "runs", "log", "logs", "attempt", "attempts", "try", "tries", "job", "jobs", "output", "outputs"}
)
_STREAMS = frozenset({"stdout", "stderr", "out", "err", "log", "txt", "output", "console", "error"})
_PURPOSE = lazy(
    r"eval(?:uation)?|test|val(?:idation)?|infer(?:ence)?|serve|server|client|data|preprocess(?:ing)?|download|"
    r"tokeniz(?:e|er|ation)|debug|metrics|gpu|install|build|setup|monitor|system|dmesg|sft|dpo|rm|audit|summary|report|"
    r"pip|conda|mamba|apt|freeze|packages|requirements|history|journal(?:ctl)?|syslog|kubectl|sacct|squeue|"
    r"results?|plots?|warnings?|errors?|repro(?:duce[sd]?|duction)?|probe|bench(?:mark)?|sweep|smoke|profil(?:e|er|ing)"
)
_SETTING = 1000
"""Numbers below tell how a try was set, as a batch size does."""
_PEEKED = 8
"""Logs of a unit that are looked into for times."""
_TOKEN = lazy(r"[a-z]+|\d{1,18}")
_DATE = lazy(
    r"(?<!\d)(?P<year>20\d\d)[-_.](?P<month>0?[1-9]|1[0-2])[-_.](?P<day>0?[1-9]|[12]\d|3[01])(?!\d)"
    r"(?:[-_.T](?P<clock>[0-2]\d[-_.h:][0-5]\d(?:[-_.m:][0-5]\d)?)(?!\d))?"
)


class Unit(Struct):
    """Logs that were written side by side: the ranks, streams and rotated parts of one try."""

    stem: tuple[str, ...]
    explicit: int | None
    number: int | None
    age: int
    aside: bool = False
    """Whether a folder says that the logs in it were put aside: `old/`, `archive/2025-01-01/`."""
    first: bool = False
    """Whether the name counts tries from the first on, and this is it: `attempt1`, and not `retry1`."""
    job: bool = False
    """Whether the number is that of a scheduler's job, which rises from try to try."""
    inputs: list[Input] = field(default_factory=list)
    when: Span | None = None

    @property
    def other_purpose(self) -> bool:
        """Tell whether the name speaks of something beside training, such as an evaluation or a server."""
        return any(map(_PURPOSE.fullmatch, self.stem))


def read_name(path: str) -> Unit:
    """Read a log's path: what stays the same between tries, and what tells the try."""
    parts = _DATE.sub(_joined, _TOGETHER.sub(" ", unpacked(path))).replace("!", "/").lower().split("/")
    stem: list[str] = []
    explicit: int | None = None
    number: int | None = None
    age = 0
    first = job = False
    for at, part in enumerate(parts):
        tokens = _TOKEN.findall(part)
        if at < len(parts) - 1 and len(tokens) == 1 and tokens[0].isdecimal() and len(tokens[0]) < 5:
            if parts[at - 1 : at] and parts[at - 1] in TRIES:
                explicit = int(tokens[0])  # `attempts/2/train.log`
            continue  # torchelastic: one numbered folder a worker
        old = any(_AGES.get(token, 0) < 0 for token in tokens)
        only_age = all(t in _AGES or (old and t in _RUNS) or (age and t.isdecimal()) for t in tokens)
        if at < len(parts) - 1 and tokens and only_age:
            age = next((_AGES[token] for token in tokens if token in _AGES), age)
            continue  # `old/2026-11-28/train.log`, `failed_run/train.log` are `train.log` of another day
        words: list[str] = []
        for i, token in enumerate(tokens):
            before = tokens[i - 1] if i else ""
            if token.isdecimal():
                if before in _EXPLICIT:
                    explicit = int(token)
                    first = before in {"attempt", "try"} and explicit < 2 and not _holds_workers(parts, at)
                elif number is None or before in _NUMBERED:
                    number, job = int(token), before in _SCHEDULED
                elif number < _SETTING and len(token) > 3 and is_date(int(token)):
                    number = int(token)  # `train_bs512_0501.log`
                elif before and len(token) >= 4:
                    number = int(f"{number}{token}")  # a date and a time of day
            elif number is None and before in _LETTERED and len(token) == 1:
                number = ord(token)  # `run_a`, `run_b`
            elif token in _AGES and not (token in _EXPLICIT and "".join(tokens[i + 1 : i + 2]).isdecimal()):
                age = _AGES[token]
            elif token not in _STREAMS:
                words.append(token)
        named = [word for word in words if word not in _NUMBERED] or [word for word in words if word not in _EXPLICIT]
        stem += [*(named if named or at < len(parts) - 1 else words), "/"]
    return Unit(tuple(stem[:-1]), explicit, number, age, put_aside(path), first, job)


def _joined(date: re.Match[str]) -> str:
    """Return a date, and the time of day behind it, as one number: `2024_9_18_09_12_40` is 20240918091240."""
    day = f"{date['year']}{date['month']:0>2}{date['day']:0>2}"
    clock = re.sub(r"\D", "", date["clock"] or "")
    return f"{day}{clock:0<6}" if clock else day


def _holds_workers(parts: Sequence[str], at: int) -> bool:
    """Tell whether a folder is torchelastic's, `attempt_0/3/stderr.log`: each launch has one, a single one too."""
    inside = parts[at + 1 : -1]
    return bool(inside) and inside[0].isdecimal() and len(inside[0]) < 5


def is_date(number: int) -> bool:
    """Tell whether a number in a name can be a day: 0711 and 20250711, not 1000 and not the number of a job."""
    if len(str(number)) in {12, 14}:
        number = int(str(number)[:8])  # with a time of day behind it
    month, day = number // 100 % 100, number % 100
    return (number < 1300 or 20_000_000 < number < 22_000_000) and 0 < month < 13 and 0 < day < 32


def put_aside(path: str) -> bool:
    """Tell whether a folder of a path says that what is in it is of an earlier time: `old`, `prev_runs`, `logs.bak`."""
    for part in unpacked(path).replace("!", "/").lower().split("/")[:-1]:
        words = [token for token in _TOKEN.findall(part) if not token.isdecimal()]
        if _ASIDE.intersection(words) and _ASIDE.union(_RUNS, _AGES).issuperset(words):
            return True
    return False


def related(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Tell whether two stems differ at most by words added at the end, none of which names another purpose."""
    short, long = sorted((a, b), key=len)
    if not short and long:
        return False
    extra = long[len(short) :]
    return long[: len(short)] == short and "/" not in extra and not any(map(_PURPOSE.fullmatch, extra))


def peek(cluster: Sequence[Unit]) -> None:
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
