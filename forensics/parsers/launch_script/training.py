"""What the run was started with: the program and its arguments, environment, session, limits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from shlex import quote

from forensics.model import Value
from forensics.parsers.launch_script.scopes import (
    MULTIPLEXERS,
    REMOTE,
    Found,
    Scope,
    Script,
    bare,
    option,
    trains,
)
from forensics.text.lazy import lazy
from forensics.text.shell import Command

MOST_BEFORE = 50
"""Changes of folder before a command, in one shell, that its start by hand repeats: the nearest."""
_INNER = lazy(r"(?:python[\d.]*|torchrun) \S")
"""A word that is itself a command, which a launcher of its own kind starts on each machine: DGL's `launch.py`."""
_NUMBER = lazy(r"-?\d{1,18}$")
_DURATION = lazy(r"(?P<n>\d+(?:\.\d+)?)(?P<unit>[smhd]?)$")
_CLOCK = lazy(r"(?:(?P<d>\d+)-)?(?P<h>\d+)(?::(?P<m>\d+))?(?::(?P<s>\d+))?$")
_SBATCH_TIME = lazy(r"#SBATCH\s+(?:-t\s*|--time[= ]\s*)(?P<time>\S+)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SECRET = lazy(r"(?i)key|token|secret|passw|credential")


def settings(script: Script) -> Iterator[Found]:
    """Yield the command, its environment, the session and the time limits."""
    for _, command in script.all():
        if trains(command):
            yield command.line, "command", arguments(bare(command))
            for inner in (word for word in command.words[1:] if _INNER.match(word)):
                yield command.line, "command", arguments(tuple(inner.split()))
        if command.environment:
            yield command.line, "environment", _hidden(dict(command.environment))
        if command.name in {"export", "declare"}:
            pairs = dict(w.split("=", 1) for w in command.words[1:] if "=" in w)
            if pairs:
                yield command.line, "environment", _hidden(pairs)
        if command.name == "tmux" and (session := option(command.words, "-s")):
            yield command.line, "session", {"session": session}
        if command.name == "screen" and (session := option(command.words, "-S", "-dmS")):
            yield command.line, "session", {"session": session}
        if command.name in {"source", "."} and len(command.words) > 1:
            yield command.line, "include", {"missing_path": command.words[1]}
        if "timeout" in command.words[:4] and (limit := _timeout(command.words)):
            yield command.line, "time-limit", {"limit_s": limit}
        if command.name in {"srun", "sbatch"} and (time := option(command.words, "--time", "-t")):
            yield command.line, "time-limit", {"limit_s": clock(time)}
    yield from _starts(script)
    for number, line in enumerate(script.lines, 1):
        if found := _SBATCH_TIME.match(line):
            yield number, "time-limit", {"limit_s": clock(found["time"])}


def _starts(script: Script) -> Iterator[Found]:
    """Yield the run's own command, without the sessions, pipes and files that its start wraps around it."""
    for scope, command in script.all():
        if id(command) in scope.running and not script.wraps(command):
            yield command.line, "start", {"start_command": _by_hand(script, scope, command)}


def _by_hand(script: Script, scope: Scope, command: Command) -> str:
    """Return what to type in a shell on the machine: folder and environment first, as the launch sets them."""
    before: list[tuple[str, ...]] = []
    shell: Scope | None = scope
    names = {"cd", "source", "."}
    while shell is not None:
        until = bisect_right(shell.moves, command.line, key=lambda move: move[0])
        if until > MOST_BEFORE:
            script.unread.append(
                f"a command by hand repeats only the nearest {MOST_BEFORE} changes of folder before it"
            )
        earlier = [c for _, _, c in shell.moves[max(0, until - MOST_BEFORE) : until] if c is not command]
        before[:0] = [c.words for c in earlier if c.name in names]
        if shell.via is not None and shell.via.name in MULTIPLEXERS:
            names = {"cd"}  # a session begins in the folder of who asks for it, with the server's environment
        # A shell on another machine or in a container begins with nothing of this script's.
        shell = None if shell.via is not None and shell.via.name in REMOTE else shell.parent
    words = bare(command) if command.name == "nohup" else command.words
    given = [f"{name}={_quoted('***' if _SECRET.search(name) else value)}" for name, value in command.environment]
    return " && ".join([*(" ".join(map(_quoted, w)) for w in before), " ".join([*given, *map(_quoted, words)])])


def _quoted(word: str) -> str:
    """Return a word as a shell reads it; one with a variable that nobody knows stays a variable."""
    return f'"{word}"' if "$" in word and '"' not in word else quote(word)


def arguments(words: Sequence[str]) -> dict[str, Value]:
    """Return `--name value`, `--name=value` and `name=value` words, names without dashes, and `program`."""
    given: dict[str, Value] = {}
    program = next((w for w in words[1:] if w.endswith(".py")), None)
    for word, following in pairwise([*words, "--"]):
        if "=" in word:
            name, _, value = word.lstrip("-").partition("=")
            given[name.replace("-", "_")] = _typed(value)
        elif word.startswith("--"):
            name = word.lstrip("-").replace("-", "_")
            given[name] = True if following.startswith("-") else _typed(following)
    given = {k: v for k, v in given.items() if k}
    return given if program is None else {"program": program, **given}


def clock(text: str) -> int | None:
    """Return the seconds of Slurm's `minutes`, `h:m:s`, `d-h:m:s`."""
    found = _CLOCK.match(text)
    if not found:
        return None
    days, first, second, third = (int(found[g] or 0) for g in ("d", "h", "m", "s"))
    if found["d"] is not None:
        return days * 86400 + first * 3600 + second * 60 + third
    if found["s"] is not None:
        return first * 3600 + second * 60 + third
    return first * 60 + second


def _timeout(words: Sequence[str]) -> int | None:
    for word in words[words.index("timeout") + 1 :]:
        if not word.startswith("-"):
            found = _DURATION.match(word)
            return int(float(found["n"]) * _UNITS[found["unit"]]) if found else None
    return None


def _hidden(pairs: dict[str, str]) -> dict[str, Value]:
    """A report is for showing around: what looks like a secret is not repeated in it as a fact."""
    return {k: "***" if _SECRET.search(k) else v for k, v in pairs.items() if k}


def _typed(text: str) -> Value:
    return int(text) if _NUMBER.match(text) else text
