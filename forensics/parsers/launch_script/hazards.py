"""What in a launch will cost the evidence when the run dies.

Each hazard is an event whose kind a rule of the family `launch` explains and proves.
The rules say what is wrong, the supervisor mends it. Kinds: masked-status, tail-window,
buffered, no-log-folder, relative-log, truncates-log, session-unchecked, no-remain-on-exit,
start-unchecked, log-window, log-limit, ssh-foreground, status-unrecorded, cache-removed, unwaited,
keys-unentered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

from forensics.parsers.launch_script.promises import is_file
from forensics.parsers.launch_script.scopes import (
    MULTIPLEXERS,
    REMOTE,
    Found,
    Scope,
    Script,
    option,
    python_words,
)
from forensics.text.lazy import lazy
from forensics.text.shell import Command

_WINDOWS = frozenset({"tail", "head", "grep"})
_KEEPERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "docker-compose"})
_COUNT = lazy(r"-{1,2}(?:n|lines)?[= ]?(?P<count>\d{1,9})$")
_VARIED = lazy(r"\$|%|\d{8}|`")
_CACHE = lazy(r"torchinductor|inductor_cache|\.triton|triton_cache|torch_extensions|nv/ComputeCache|__pycache__")
_SENDS = frozenset({"send-keys", "send"})
_ENTER = frozenset({"Enter", "KPEnter", "C-m", "C-j", "^M", "ENTER", "enter"})
_TRAINS = lazy(r"python|torchrun|accelerate|deepspeed|srun|mpirun|\.(?:py|sh)\b")
_LOOKS = frozenset({"ls", "list-sessions", "has-session", "has", "list-panes", "capture-pane", "pgrep"})
_STATUS = lazy(r"\$\?|PIPESTATUS|\$\{?(?:rc|status|code|ret)\b")


def hazards(script: Script) -> Iterator[Found]:
    """Yield the hazards of a script."""
    facts = _Whole.of(script)
    for scope in script.scopes:
        yield from _pipelines(script, scope)
        yield from _cut_logs(scope)
        yield from _of_run(script, scope, facts)
        yield from _logs(scope, facts)
        yield from _sessions(scope, facts)
    yield from _unentered(script)


class _Whole(Struct, frozen=True):
    """What is asked of the whole script for each of its commands, found once."""

    batch: bool  # such a job has no terminal
    words: frozenset[str]
    made: tuple[str, ...]
    folders: frozenset[str]
    by_dirname: bool
    lookers: tuple[Command, ...]
    status_line: int

    @classmethod
    def of(cls, script: Script) -> _Whole:
        """Look through a script once."""
        commands = [c for _, c in script.all()]
        lookers = sorted((c for c in commands if _LOOKS & set(c.words)), key=lambda c: c.line)
        made = {w for c in commands if c.name in {"mkdir", "install"} for w in c.words[1:]}
        return cls(
            batch=any(line.startswith("#SBATCH") for line in script.lines[:200]),
            words=frozenset(w for c in commands for w in c.words),
            made=tuple(sorted(made)),
            folders=frozenset(m.rstrip("/") for m in made),
            by_dirname=any("dirname" in m for m in made),
            lookers=tuple(lookers[-2:]),
            status_line=max((n for n, line in enumerate(script.lines, 1) if _STATUS.search(line)), default=0),
        )

    def looks_after(self, command: Command) -> bool:
        """Tell whether another command, not above that one, looks at what runs: the last two lines that do decide."""
        return any(c.line >= command.line and c is not command for c in self.lookers)

    def makes(self, folder: str) -> bool:
        """Tell whether the script makes the folder: by its name, or by `mkdir -p $(dirname ...)`."""
        at = bisect_left(self.made, f"{folder}/")
        below = at < len(self.made) and self.made[at].startswith(f"{folder}/")
        return below or folder in self.folders or self.by_dirname


def _pipelines(script: Script, scope: Scope) -> Iterator[Found]:
    for last in scope.commands:
        if not last.pipeline or last.place != last.length - 1:
            continue
        members = [c for c in scope.members(last) if c is not last]
        if not any(id(c) in scope.running for c in members):
            continue
        window = next((c for c in (*members[1:], last) if c.name in _WINDOWS), None)
        if window is not None:
            yield window.line, "tail-window", {"filter": window.name, "tail_lines": _count(window)}
        if not scope.pipefail and not script.keeps_status(last.line):
            yield last.line, "masked-status", {"filter": last.name}


def _count(command: Command) -> int | None:
    if command.name == "grep":
        return None
    count = next((m["count"] for w in command.words[1:] if (m := _COUNT.match(w))), None)
    after = option(command.words, "-n", "--lines")
    count = count or (after if after and after.lstrip("-").isdigit() else None)
    return int(count.lstrip("-")) if count else 10


def _cut_logs(scope: Scope) -> Iterator[Found]:
    """Yield what copies only a part of a log: `journalctl -n 90`, `kubectl logs --limit-bytes 9`, `head -c 9`."""
    for command in scope.commands:
        reads = command.name == "journalctl" or (command.name in _KEEPERS and "logs" in command.words[1:4])
        named = ("--tail",) if command.name == "kubectl" else ("-n", "--lines", "--tail")  # `-n llm` is a namespace
        count = option(command.words, *named) if reads else None
        if count and count.isdigit():
            yield command.line, "log-window", {"filter": command.name, "tail_lines": int(count)}
        limit = option(command.words, "--limit-bytes") if reads else None
        limit = option(command.words, "-c", "--bytes") if command.name == "head" else limit
        if limit and limit.isdigit():
            yield command.line, "log-limit", {"filter": command.name, "limit_bytes": int(limit)}


def _of_run(script: Script, scope: Scope, facts: _Whole) -> Iterator[Found]:
    for command in scope.commands:
        if command.name == "rm" and any(_CACHE.search(w) for w in command.words[1:]):
            yield command.line, "cache-removed", {"missing_path": next(w for w in command.words if _CACHE.search(w))}
        if id(command) not in scope.running:
            continue
        if (
            not script.wraps(command)
            and (facts.batch or _to_file(command, scope))
            and not _unbuffered(script, scope, command)
        ):
            yield command.line, "buffered", {}
        if command.name == "ssh" and _holds(script, command) and not _kept_alive(command):
            yield command.line, "ssh-foreground", {"node": _host(command)}
        if command.background and not _left_alone(scope, command):
            yield command.line, "unwaited", {}
    yield from _status(script, scope, facts)


def _to_file(command: Command, scope: Scope) -> bool:
    """Tell whether standard output is a file or a pipe: then it is buffered in blocks."""
    own = any(">" in r.operator and "1" in r.descriptors and is_file(r.target) for r in command.redirects)
    outer = any(r.target and ">" in r.operator and "1" in r.descriptors for v in scope.starters() for r in v.redirects)
    piped = (command.pipeline and command.place < command.length - 1) or any(
        v.pipeline and v.place < v.length - 1 for v in scope.starters()
    )
    return own or outer or bool(piped)


def _unbuffered(script: Script, scope: Scope, command: Command) -> bool:
    python = python_words(command)
    flagged = any(w.startswith("-") and not w.startswith("--") and "u" in w for w in python[1:2])
    names = {n for n, _ in command.environment} | {w.split("=")[0] for w in command.words if "=" in w}
    shell: Scope | None = scope
    exported = False
    inherited = command.name not in REMOTE
    while shell is not None and inherited:
        exported = exported or "PYTHONUNBUFFERED" in shell.exported
        via = shell.via
        names |= {w.split("=")[0] for w in via.words if "=" in w} | {n for n, _ in via.environment} if via else set()
        # Another machine, a container or a tmux server does not see what this script exports.
        inherited = via is None or via.name not in REMOTE | MULTIPLEXERS
        shell = shell.parent
    exported = exported or (inherited and "PYTHONUNBUFFERED" in script.variables)
    return (
        flagged or exported or "PYTHONUNBUFFERED" in names or "stdbuf" in command.words or "unbuffer" in command.words
    )


def _holds(script: Script, command: Command) -> bool:
    """Tell whether an ssh holds the run by its connection: nothing inside detaches it."""
    inner = script.inside(command)
    detached = any(
        c.name in {*MULTIPLEXERS, "nohup", "setsid", "sbatch"} or c.background for s in inner for c in s.commands
    )
    return script.wraps(command) and not detached


def _kept_alive(command: Command) -> bool:
    return any("ServerAliveInterval" in w for w in command.words)


def _host(command: Command) -> str | None:
    words = iter(command.words[1:])
    for word in words:
        if word in {"-o", "-p", "-i", "-l", "-F", "-J"}:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def _left_alone(scope: Scope, command: Command) -> bool:
    return scope.last_wait >= command.line or bool({"nohup", "setsid"} & set(command.words[:3]))


def _status(script: Script, scope: Scope, facts: _Whole) -> Iterator[Found]:
    """A detached or piped run whose status nobody writes down."""
    recorded = max((c.line for c in scope.commands if _STATUS.search(c.text)), default=0)
    for command in scope.running.values():
        if script.wraps(command):
            continue
        detached = command.background or any(v.name in MULTIPLEXERS or v.background for v in scope.starters())
        remote = any(v.name in REMOTE for v in scope.starters())
        if not (detached or remote or command.pipeline):
            continue
        if max(recorded, facts.status_line) < command.line:
            yield command.line, "status-unrecorded", {}
            return


def _logs(scope: Scope, facts: _Whole) -> Iterator[Found]:
    for command in scope.commands:
        for target, appends in targets(command):
            if not _is_run_output(scope, command):
                continue
            folder = target.rpartition("/")[0]
            deep = folder.strip("/").count("/") + (not target.startswith(("/", "~", "$"))) >= 1
            if folder and deep and not facts.makes(folder):
                yield command.line, "no-log-folder", {"missing_path": target}
            if not target.startswith(("/", "$", "~")) and _elsewhere(scope, command):
                yield command.line, "relative-log", {"missing_path": target}
            if not appends and not _VARIED.search(target):
                yield command.line, "truncates-log", {"missing_path": target}


def targets(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the files that a command writes to by redirection or as `tee`, and whether it appends."""
    for redirect in command.redirects:
        if ">" in redirect.operator and is_file(redirect.target):
            yield redirect.target, ">>" in redirect.operator
    if command.name == "tee":
        appends = bool({"-a", "--append"} & set(command.words))
        for word in command.words[1:]:
            if not word.startswith("-") and is_file(word):
                yield word, appends


def _is_run_output(scope: Scope, command: Command) -> bool:
    return id(command) in scope.running or scope.piped_run(command)


def _elsewhere(scope: Scope, command: Command) -> bool:
    """Tell whether a shell runs in a folder that nothing chose; a session begins in that of its starter."""
    shell: Scope | None = scope
    chosen = False
    while shell is not None:
        chosen |= shell.first_move <= command.line
        shell = None if shell.via is not None and shell.via.name in REMOTE else shell.parent
    away = any(
        (v.name in MULTIPLEXERS and option(v.words, "-c") is None)
        or (v.name in REMOTE and option(v.words, "--workdir", "-w") is None)
        for v in scope.starters()
    )
    return away and not chosen


def _sessions(scope: Scope, facts: _Whole) -> Iterator[Found]:
    for command in scope.commands:
        if command.name != "tmux" or not {"new-session", "new"} & set(command.words):
            continue
        detached = any(w.startswith("-") and not w.startswith("--") and "d" in w for w in command.words[1:])
        if not detached:
            continue
        session = option(command.words, "-s")
        if session and not {"has-session", "kill-session", "has", "-A"} & facts.words:
            yield command.line, "session-unchecked", {"session": session}
        if "remain-on-exit" not in facts.words:
            yield command.line, "no-remain-on-exit", {"session": session}
        if not facts.looks_after(command):
            yield command.line, "start-unchecked", {"session": session}


def _unentered(script: Script) -> Iterator[Found]:
    """Yield the commands typed into a pane, `tmux send-keys -t run 'python train.py'`, behind which nobody enters them.

    The key may be sent by a command of its own, so the last one for a pane decides.
    """
    last: dict[str | None, tuple[Command, bool]] = {}
    for command in (c for _, c in script.all() if c.name == "tmux" and _SENDS & set(c.words)):
        entered = bool(_ENTER & set(command.words)) or command.words[-1].endswith(("\n", "\r", "\\n", "^M"))
        last[option(command.words, "-t")] = (command, entered)
    for pane, (command, entered) in last.items():
        if not entered and _TRAINS.search(command.text):
            yield command.line, "keys-unentered", {"session": pane}
