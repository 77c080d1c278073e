"""A script as shells within shells: who runs what, started by whom, in which folder."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from forensics.text.lazy import lazy
from forensics.text.shell import Command, statements

DEPTH = 6
"""Shells within shells that are read; nobody quotes deeper and knows what he does."""
MOST_SCOPES = 400
MOST_QUOTED = 1 << 20
"""Characters of quoted scripts that are read, those within others counted again."""
_PYTHON = lazy(r"python[\d.]*$")
LAUNCHERS = frozenset(
    {"torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "uv", "poetry"}
)
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
REMOTE = frozenset({"ssh", "pct", "docker", "podman", "kubectl", "lxc-attach", "singularity", "apptainer", "pdsh"})
MULTIPLEXERS = frozenset({"tmux", "screen"})
_PIPESTATUS = lazy(r"\$\{?(?:PIPESTATUS|pipestatus)\[")
_NEXT = 2
"""Lines below a pipeline that may still know its statuses."""
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


class Scope(Struct, frozen=True, dict=True, eq=False):
    """The commands that one shell runs. `via` is the command that started the shell, None for the script itself.

    What is asked for every command of a shell is found once: a script may have thousands.
    """

    commands: tuple[Command, ...]
    via: Command | None = None
    parent: Scope | None = None

    @cached_property
    def running(self) -> Mapping[int, Command]:
        """Return the commands that may be the run, by their identity."""
        return {id(c): c for c in self.commands if runs(c)}

    @cached_property
    def pipelines(self) -> Mapping[int, Sequence[Command]]:
        """Return the members of each pipeline, by its number."""
        found: dict[int, list[Command]] = {}
        for command in self.commands:
            if command.pipeline:
                found.setdefault(command.pipeline, []).append(command)
        return found

    def members(self, command: Command) -> Sequence[Command]:
        """Return the commands of the pipeline of which a command is one; none if it is not piped."""
        return self.pipelines.get(command.pipeline, ())

    @cached_property
    def _pipelines_that_run(self) -> frozenset[int]:
        return frozenset(c.pipeline for c in self.running.values() if c.pipeline)

    def piped_run(self, command: Command) -> bool:
        """Tell whether a command is in a pipeline with one that may be the run."""
        return command.pipeline in self._pipelines_that_run

    @cached_property
    def exported(self) -> frozenset[str]:
        """Return the names of the variables that the shell exports."""
        return frozenset(w.split("=")[0] for c in self.commands if c.name in {"export", "env"} for w in c.words[1:])

    @cached_property
    def moves(self) -> Sequence[tuple[int, int, Command]]:
        """Return the commands that change the folder or read another script: line, place, command, sorted."""
        names = {"cd", "pushd", "source", "."}
        return sorted((c.line, i, c) for i, c in enumerate(self.commands) if c.name in names)

    @cached_property
    def first_move(self) -> float:
        """Return the first line that changes the folder, infinity if none does."""
        return min((line for line, _, c in self.moves if c.name in {"cd", "pushd"}), default=float("inf"))

    @cached_property
    def last_wait(self) -> int:
        """Return the last line that waits for what runs in the background, 0 if none does."""
        return max((c.line for c in self.commands if c.name in {"wait", "disown"}), default=0)

    @cached_property
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


class Script(Struct, frozen=True):
    """A script's lines, and its shells in the order in which they begin."""

    lines: Sequence[str]
    scopes: list[Scope] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)
    inner: dict[int, list[Scope]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def inside(self, command: Command) -> Sequence[Scope]:
        """Return the shells that a command starts."""
        return self.inner.get(id(command), ())

    def wraps(self, command: Command) -> bool:
        """Tell whether a command only starts a shell in which the run is."""
        return any(s.running for s in self.inside(command))

    def keeps_status(self, line: int) -> bool:
        """Tell whether the statuses of all members of a pipeline are asked for right behind it."""
        return any(_PIPESTATUS.search(text[:4096]) for text in self.lines[line - 1 : line + _NEXT])

    def all(self) -> Iterator[tuple[Scope, Command]]:
        """Yield every command with its shell."""
        for scope in self.scopes:
            for command in scope.commands:
                yield scope, command


def read(text: str, variables: Mapping[str, str]) -> Script:
    """Read a script and the scripts quoted inside it."""
    text = text.replace("\r\n", "\n")
    script = Script(text.split("\n"), variables=variables)
    said = statements(text, 1, variables)
    script.unread.extend(said.unread)
    waiting = deque([(Scope(said.commands), 0)])
    room, taken = MOST_QUOTED, 1
    while waiting:
        scope, depth = waiting.popleft()
        script.scopes.append(scope)
        if scope.via is not None:
            script.inner.setdefault(id(scope.via), []).append(scope)
        if depth >= DEPTH:
            continue
        for via, quoted, line in _quoted(scope):
            room -= len(quoted)
            if taken == MOST_SCOPES or room < 0:
                script.unread.append(f"line {via.line}: further scripts quoted inside this one were not read")
                break
            taken += 1
            said = statements(quoted, line, variables)
            script.unread.extend(said.unread)
            waiting.append((Scope(said.commands, via, scope), depth + 1))
    return script


def _quoted(scope: Scope) -> Iterator[tuple[Command, str, int]]:
    """Yield the scripts that commands of a shell quote: the command, the script, its first line."""
    for command in scope.commands:
        if command.name not in _QUOTING:
            continue
        if command.heredoc:
            yield command, command.heredoc, command.heredoc_line
        for word in command.words[1:]:
            if " " in word.strip() and not word.startswith("-"):
                yield command, word, command.line + _line_inside(command, word)


def _line_inside(command: Command, word: str) -> int:
    """Return how many lines below its command a quoted script begins."""
    start = word.split("\n", 1)[0][:200]
    at = command.text.find(start) if start else -1
    return command.text.count("\n", 0, at) if at > 0 else 0


def bare(command: Command) -> tuple[str, ...]:
    """Return the words without what only prepares the run: `nohup stdbuf -oL timeout 3h python t.py` is python's."""
    words, at = command.words, 0
    while at < len(words):
        name = words[at].rsplit("/", 1)[-1]
        if name == "timeout":
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 1
            at += 1
        elif name in _PREFIXES and at + 1 < len(words):
            at += 1
            while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
                at += 1
        else:
            break
    return words[at:]


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
