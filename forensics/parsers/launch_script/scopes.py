"""A script as shells within shells: who runs what, started by whom, in which folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forensics.text.lazy import lazy
from forensics.text.shell import Command, commands

DEPTH = 6
"""Shells within shells that are read; nobody quotes deeper and knows what he does."""
MOST_SCOPES = 400
_PYTHON = lazy(r"python[\d.]*$")
LAUNCHERS = frozenset(
    {"torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "uv", "poetry"}
)
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
REMOTE = frozenset({"ssh", "pct", "docker", "podman", "kubectl", "lxc-attach", "singularity", "apptainer", "pdsh"})
MULTIPLEXERS = frozenset({"tmux", "screen"})
_PREFIXES = frozenset(
    {
        "nohup",
        "exec",
        "time",
        "sudo",
        "setsid",
        "stdbuf",
        "nice",
        "ionice",
        "numactl",
        "env",
        "command",
        "eval",
    }
)
_QUOTING = SHELLS | REMOTE | MULTIPLEXERS | _PREFIXES | LAUNCHERS | {"timeout", "su", "sbatch", "parallel", "xargs"}

Found = tuple[int, str, dict]  # type: ignore[type-arg]  # line, kind, fields


@dataclass(frozen=True, slots=True)
class Scope:
    """The commands that one shell runs. `via` is the command that started the shell, None for the script itself."""

    commands: tuple[Command, ...]
    via: Command | None = None
    parent: Scope | None = None

    @property
    def pipefail(self) -> bool:
        """Tell whether this very shell has pipefail on: it is not inherited."""
        asked = any(c.name == "set" and "pipefail" in c.words for c in self.commands)
        return asked or (self.via is not None and self.via.name in SHELLS and "pipefail" in self.via.words)

    def starters(self) -> Iterator[Command]:
        """Yield the commands through which this shell was reached, the nearest first."""
        scope: Scope | None = self
        while scope is not None:
            if scope.via is not None:
                yield scope.via
            scope = scope.parent


@dataclass(frozen=True, slots=True)
class Script:
    """A script's lines, and its shells in the order in which they begin."""

    lines: Sequence[str]
    scopes: list[Scope] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> Iterator[tuple[Scope, Command]]:
        """Yield every command with its shell."""
        for scope in self.scopes:
            for command in scope.commands:
                yield scope, command


def read(text: str, variables: Mapping[str, str]) -> Script:
    """Read a script and the scripts quoted inside it."""
    text = text.replace("\r\n", "\n")
    script = Script(text.split("\n"), variables=variables)
    outer = Scope(tuple(commands(text, 1, variables)))
    waiting = [(outer, 0)]
    while waiting and len(script.scopes) < MOST_SCOPES:
        scope, depth = waiting.pop(0)
        script.scopes.append(scope)
        if depth < DEPTH:
            waiting += [(Scope(inner, via, scope), depth + 1) for via, inner in _quoted(scope, variables)]
    return script


def _quoted(scope: Scope, variables: Mapping[str, str]) -> Iterator[tuple[Command, tuple[Command, ...]]]:
    for command in scope.commands:
        if command.name not in _QUOTING:
            continue
        if command.heredoc:
            yield command, tuple(commands(command.heredoc, command.heredoc_line, variables))
        for word in command.words[1:]:
            if " " in word.strip() and not word.startswith("-"):
                yield command, tuple(commands(word, command.line + _line_inside(command, word), variables))


def _line_inside(command: Command, word: str) -> int:
    """Return how many lines below its command a quoted script begins."""
    start = word.split("\n", 1)[0][:200]
    at = command.text.find(start) if start else -1
    return command.text.count("\n", 0, at) if at > 0 else 0


def bare(command: Command) -> tuple[str, ...]:
    """Return the words without what only prepares the run: `nohup stdbuf -oL timeout 3h python t.py` is python's."""
    words = command.words
    while words:
        name = words[0].rsplit("/", 1)[-1]
        if name == "timeout":
            words = words[1:]
            while words and words[0].startswith("-"):
                words = words[1:]
            words = words[1:]
        elif name in _PREFIXES and len(words) > 1:
            words = words[1:]
            while words and (words[0].startswith("-") or "=" in words[0]):
                words = words[1:]
        else:
            break
    return words


def trains(command: Command) -> bool:
    """Tell whether a command is the training program, or its launcher."""
    words = bare(command)
    name = words[0].rsplit("/", 1)[-1] if words else ""
    if name in LAUNCHERS:
        return True
    return bool(_PYTHON.match(name)) and any(w.endswith(".py") or w == "-m" for w in words[1:])


def runs(command: Command) -> bool:
    """Tell whether a command may be the run: the program itself, or a script or another shell that starts it."""
    words = bare(command)
    name = words[0].rsplit("/", 1)[-1] if words else ""
    script = any(w.endswith((".sh", ".bash", ".sbatch", ".slurm")) for w in words[:3])
    quoted = name in SHELLS | REMOTE and any(" " in w or w.endswith((".py", ".sh")) for w in words[1:])
    return trains(command) or (script and name not in {"source", ".", "chmod", "cat", "ls", "cp"}) or quoted


def python_words(command: Command) -> tuple[str, ...]:
    """Return the words from `python` on, also behind a launcher; empty if no python is named."""
    words = command.words
    at = next((i for i, w in enumerate(words) if _PYTHON.match(w.rsplit("/", 1)[-1])), None)
    return () if at is None else words[at:]


def option(words: Sequence[str], *names: str) -> str | None:
    """Return the value of the first option that is there: `-o v`, `--out v`, `--out=v`, `-ov`."""
    for index, word in enumerate(words):
        for name in names:
            if word == name and index + 1 < len(words):
                return words[index + 1]
            if name.startswith("--") and word.startswith(f"{name}="):
                return word.partition("=")[2]
            if not name.startswith("--") and len(name) == 2 and word.startswith(name) and len(word) > 2:
                return word[2:]
    return None
