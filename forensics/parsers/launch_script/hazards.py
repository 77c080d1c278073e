"""What in a launch will cost the evidence when the run dies.

Each hazard is an event whose kind a rule of the family `launch` explains and proves.
`HAZARDS` names the kinds; the rules say what is wrong, the supervisor mends it.
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.parsers.launch_script.promises import is_file
from forensics.parsers.launch_script.scopes import (
    MULTIPLEXERS,
    REMOTE,
    Found,
    Scope,
    Script,
    bare,
    option,
    python_words,
    runs,
)
from forensics.text.lazy import lazy
from forensics.text.shell import Command

HAZARDS = (
    "masked-status",
    "tail-window",
    "buffered",
    "no-log-folder",
    "relative-log",
    "truncates-log",
    "session-unchecked",
    "no-remain-on-exit",
    "start-unchecked",
    "ssh-foreground",
    "status-unrecorded",
    "cache-removed",
    "unwaited",
)
_WINDOWS = frozenset({"tail", "head", "grep"})
_COUNT = lazy(r"-{1,2}(?:n|lines)?[= ]?(?P<count>\d{1,9})$")
_VARIED = lazy(r"\$|%|\d{8}|`")
_CACHE = lazy(r"torchinductor|inductor_cache|\.triton|triton_cache|torch_extensions|nv/ComputeCache|__pycache__")
_STATUS = lazy(r"\$\?|PIPESTATUS|\$\{?(?:rc|status|code|ret)\b")


def hazards(script: Script) -> Iterator[Found]:
    """Yield the hazards of a script."""
    for scope in script.scopes:
        yield from _pipelines(scope)
        yield from _of_run(script, scope)
        yield from _logs(script, scope)
        yield from _sessions(script, scope)


def _pipelines(scope: Scope) -> Iterator[Found]:
    for last in scope.commands:
        if not last.pipeline or last.place != last.length - 1:
            continue
        members = [c for c in scope.commands if c.pipeline == last.pipeline and c is not last]
        if not any(runs(c) for c in members):
            continue
        line = members[0].line
        window = next((c for c in (*members[1:], last) if c.name in _WINDOWS), None)
        if window is not None:
            yield window.line, "tail-window", {"filter": window.name, "tail_lines": _count(window)}
        if not scope.pipefail:
            yield line, "masked-status", {"filter": last.name}


def _count(command: Command) -> int | None:
    if command.name == "grep":
        return None
    count = next((m["count"] for w in command.words[1:] if (m := _COUNT.match(w))), None)
    after = option(command.words, "-n", "--lines")
    count = count or (after if after and after.lstrip("-").isdigit() else None)
    return int(count.lstrip("-")) if count else 10


def _of_run(script: Script, scope: Scope) -> Iterator[Found]:
    for command in scope.commands:
        if command.name == "rm" and any(_CACHE.search(w) for w in command.words[1:]):
            yield command.line, "cache-removed", {"missing_path": next(w for w in command.words if _CACHE.search(w))}
        if not runs(command):
            continue
        inside = any(runs(c) for s in script.scopes if s.via is command for c in s.commands)
        if not inside and _to_file(script, command, scope) and not _unbuffered(script, scope, command):
            yield command.line, "buffered", {}
        if command.name == "ssh" and _holds(script, command) and not _kept_alive(command):
            yield command.line, "ssh-foreground", {"node": _host(command)}
        if command.background and not _left_alone(scope, command):
            yield command.line, "unwaited", {}
    yield from _status(script, scope)


def _to_file(script: Script, command: Command, scope: Scope) -> bool:
    """Tell whether standard output is a file or a pipe: then it is buffered in blocks."""
    if any(line.startswith("#SBATCH") for line in script.lines[:200]):
        return True  # a batch job has no terminal
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
    inherited = command.name not in REMOTE
    while shell is not None and inherited:
        names |= {w.split("=")[0] for c in shell.commands if c.name in {"export", "env"} for w in c.words[1:]}
        via = shell.via
        names |= {w.split("=")[0] for w in via.words if "=" in w} | {n for n, _ in via.environment} if via else set()
        # Another machine, a container or a tmux server does not see what this script exports.
        inherited = via is None or via.name not in REMOTE | MULTIPLEXERS
        shell = shell.parent
    names |= set(script.variables) if inherited else set()
    return flagged or "PYTHONUNBUFFERED" in names or "stdbuf" in command.words or "unbuffer" in command.words


def _holds(script: Script, command: Command) -> bool:
    """Tell whether an ssh holds the run by its connection: nothing inside detaches it."""
    inner = [s for s in script.scopes if s.via is command]
    detached = any(
        c.name in {*MULTIPLEXERS, "nohup", "setsid", "sbatch"} or c.background for s in inner for c in s.commands
    )
    return any(runs(c) for s in inner for c in s.commands) and not detached


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
    waits = any(c.name in {"wait", "disown"} and c.line >= command.line for c in scope.commands)
    return waits or bool({"nohup", "setsid"} & set(command.words[:3]))


def _status(script: Script, scope: Scope) -> Iterator[Found]:
    """A detached or piped run whose status nobody writes down."""
    for command in scope.commands:
        if not runs(command) or any(s.via is command for s in script.scopes if any(runs(c) for c in s.commands)):
            continue
        detached = command.background or any(v.name in MULTIPLEXERS or v.background for v in scope.starters())
        remote = any(v.name in REMOTE for v in scope.starters())
        if not (detached or remote or command.pipeline):
            continue
        text = "\n".join(c.text for c in scope.commands if c.line >= command.line)
        recorded = _STATUS.search(text) or _STATUS.search("\n".join(script.lines[command.line - 1 :]))
        if not recorded:
            yield command.line, "status-unrecorded", {}
            return


def _logs(script: Script, scope: Scope) -> Iterator[Found]:
    made = {w for _, c in script.all() if c.name in {"mkdir", "install"} for w in c.words[1:]}
    for command in scope.commands:
        for target, appends in _targets(command):
            if not _is_run_output(scope, command):
                continue
            folder = target.rpartition("/")[0]
            deep = folder.strip("/").count("/") + (not target.startswith(("/", "~", "$"))) >= 1
            if folder and deep and not _makes(folder, made):
                yield command.line, "no-log-folder", {"missing_path": target}
            if not target.startswith(("/", "$", "~")) and _elsewhere(scope, command):
                yield command.line, "relative-log", {"missing_path": target}
            if not appends and not _VARIED.search(target):
                yield command.line, "truncates-log", {"missing_path": target}


def _targets(command: Command) -> Iterator[tuple[str, bool]]:
    for redirect in command.redirects:
        if ">" in redirect.operator and is_file(redirect.target):
            yield redirect.target, ">>" in redirect.operator
    if command.name == "tee":
        appends = bool({"-a", "--append"} & set(command.words))
        for word in command.words[1:]:
            if not word.startswith("-") and is_file(word):
                yield word, appends


def _is_run_output(scope: Scope, command: Command) -> bool:
    members = [c for c in scope.commands if command.pipeline and c.pipeline == command.pipeline]
    return runs(command) or any(runs(c) for c in members)


def _makes(folder: str, made: set[str]) -> bool:
    """Tell whether the script makes the folder: by its name, or by `mkdir -p $(dirname ...)`."""
    return any(m.rstrip("/") == folder or m.startswith(f"{folder}/") or "dirname" in m for m in made)


def _elsewhere(scope: Scope, command: Command) -> bool:
    """Tell whether a shell runs in a folder that nothing chose; a session begins in that of its starter."""
    shell: Scope | None = scope
    chosen = False
    while shell is not None:
        chosen |= any(c.name in {"cd", "pushd"} and c.line <= command.line for c in shell.commands)
        shell = None if shell.via is not None and shell.via.name in REMOTE else shell.parent
    away = any(
        (v.name in MULTIPLEXERS and option(v.words, "-c") is None)
        or (v.name in REMOTE and option(v.words, "--workdir", "-w") is None)
        for v in scope.starters()
    )
    return away and not chosen


def _sessions(script: Script, scope: Scope) -> Iterator[Found]:
    words = {w for _, c in script.all() for w in c.words}
    for command in scope.commands:
        if command.name != "tmux" or not {"new-session", "new"} & set(command.words):
            continue
        detached = any(w.startswith("-") and not w.startswith("--") and "d" in w for w in command.words[1:])
        if not detached:
            continue
        session = option(command.words, "-s")
        if session and not {"has-session", "kill-session", "has", "-A"} & words:
            yield command.line, "session-unchecked", {"session": session}
        if "remain-on-exit" not in words:
            yield command.line, "no-remain-on-exit", {"session": session}
        later = {w for _, c in script.all() if c.line >= command.line and c is not command for w in c.words}
        if not {"ls", "list-sessions", "has-session", "has", "list-panes", "capture-pane", "pgrep"} & later:
            yield command.line, "start-unchecked", {"session": session}


__all__ = ["HAZARDS", "bare", "hazards"]
