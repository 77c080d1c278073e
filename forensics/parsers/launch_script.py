"""What a launch script promises: files, a session, a training command with its arguments.

    tmux new-session -d -s dflash "bash start_training.sh 2>&1 | tee /workspace/train.log"

Commands quoted for another shell (`tmux`, `bash -c`, `ssh`, `nohup`, `srun` ...) are read
as commands. Events: `promise` (fields missing_path, how), `session`, `command` (fields:
its numeric and word arguments), `environment`, `tail-window` (field tail_lines), `masked-status`
(a pipeline whose status is not the program's), `pipefail`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from forensics.model import Context, Event, Value
from forensics.text.lazy import lazy
from forensics.text.shell import Command, commands

_DEPTH = 6
_SINKS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_WINDOWS = frozenset({"tail", "head", "grep"})
_LAUNCHERS = frozenset(
    {"torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "uv", "poetry"}
)
_PYTHON = lazy(r"python[\d.]*$")
_SBATCH = lazy(r"#SBATCH\s+(?:-(?P<short>[oe])\s*|--(?P<long>output|error)[= ]\s*)(?P<path>\S+)")
_QUOTED = {"tmux", "screen", "ssh", "bash", "sh", "zsh", "su", "nohup", "docker", "kubectl", "pct", "lxc-attach",
           "srun", "env", "timeout", "setsid", "exec", "sudo", "eval", "pdsh"}  # fmt: skip
_NUMBER = lazy(r"-?\d{1,18}$")
_LINES = lazy(r"-{1,2}(?:n|lines)?[= ]?(?P<count>\d{1,9})$")


class LaunchScript:
    """See the module's text."""

    speaker = "launch"
    kinds = frozenset({"launch-script"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield what the script promises, in the order of its lines."""
        script = data.decode("utf-8", "replace").replace("\r\n", "\n")
        lines = script.split("\n")
        found = list(_nested(commands(script), 0))
        yield from _sbatch(lines, context)
        for command in found:
            yield from _one(command, lines, context)
        yield from _pipelines(found, lines, context)


def _nested(outer: Sequence[Command], depth: int) -> Iterator[Command]:
    """Yield the commands, and those inside words that another shell will read."""
    for command in outer:
        yield command
        name = command.words[0].rsplit("/", 1)[-1] if command.words else ""
        if name not in _QUOTED or depth >= _DEPTH:
            continue
        for word in command.words[1:]:
            if " " in word.strip():
                inner = commands(word, command.line)
                shift = 1000 * (depth + 1) + command.line * 10_000
                yield from _nested([_shifted(c, shift) for c in inner], depth + 1)


def _shifted(command: Command, by: int) -> Command:
    """Keep the pipelines of different shells apart."""
    from dataclasses import replace

    return replace(command, pipeline=command.pipeline + by) if command.pipeline else command


def _one(command: Command, lines: Sequence[str], context: Context) -> Iterator[Event]:
    words = command.words
    name = words[0].rsplit("/", 1)[-1] if words else ""
    for redirect in command.redirects:
        if ">" in redirect.operator and _is_file(redirect.target):
            how = "stderr" if redirect.descriptors == ("2",) else "stdout"
            yield _event(command.line, lines, context, "promise", missing_path=redirect.target, how=how)
    if name == "tee":
        for target in words[1:]:
            if not target.startswith("-") and _is_file(target):
                yield _event(command.line, lines, context, "promise", missing_path=target, how="tee")
    if name == "tmux" and (session := _after(words, "-s")):
        yield _event(command.line, lines, context, "session", session=session)
    if name == "set" and "pipefail" in words:
        yield _event(command.line, lines, context, "pipefail")
    if command.environment:
        yield _event(command.line, lines, context, "environment", **dict(command.environment))
    if name == "export":
        pairs = dict(w.split("=", 1) for w in words[1:] if "=" in w)
        if pairs:
            yield _event(command.line, lines, context, "environment", **pairs)
    if _trains(name, words):
        yield _event(command.line, lines, context, "command", **_arguments(words))


def _pipelines(found: Sequence[Command], lines: Sequence[str], context: Context) -> Iterator[Event]:
    pipefail = any(c.words[:1] == ("set",) and "pipefail" in c.words for c in found)
    for last in found:
        if not last.pipeline or last.place != last.length - 1:
            continue
        name = last.words[0].rsplit("/", 1)[-1] if last.words else ""
        if name in _WINDOWS and any(_runs(c) for c in found if c.pipeline == last.pipeline and c is not last):
            count = next((m["count"] for w in last.words[1:] if (m := _LINES.match(w))), None)
            if count is None and (after := _after(last.words, "-n")) and after.isdigit():
                count = after
            fields: dict[str, Value] = {"filter": name}
            if count and name != "grep":
                fields["tail_lines"] = int(count)
            yield _event(last.line, lines, context, "tail-window", **fields)
        if not pipefail and any(_runs(c) for c in found if c.pipeline == last.pipeline and c is not last):
            yield _event(last.line, lines, context, "masked-status", filter=name)


def _sbatch(lines: Sequence[str], context: Context) -> Iterator[Event]:
    for number, line in enumerate(lines, 1):
        if found := _SBATCH.match(line):
            how = "stderr" if "e" in {found["short"], (found["long"] or "")[:1]} else "stdout"
            yield _event(number, lines, context, "promise", missing_path=found["path"], how=how)


def _trains(name: str, words: Sequence[str]) -> bool:
    if name in _LAUNCHERS:
        return True
    return bool(_PYTHON.match(name)) and any(w.endswith(".py") or w == "-m" for w in words[1:])


def _runs(command: Command) -> bool:
    """Tell whether a member of a pipeline may be the run itself: a training command, a script, another shell."""
    name = command.words[0].rsplit("/", 1)[-1] if command.words else ""
    return _trains(name, command.words) or name in _QUOTED or name.endswith((".sh", ".py"))


def _arguments(words: Sequence[str]) -> dict[str, Value]:
    """Return `--name value`, `--name=value` and `NAME=value` words, names without dashes."""
    given: dict[str, Value] = {}
    for word, following in pairwise([*words, "--"]):
        if "=" in word:
            name, _, value = word.lstrip("-").partition("=")
            given[name.replace("-", "_")] = _typed(value)
        elif word.startswith("--"):
            name = word.lstrip("-").replace("-", "_")
            given[name] = True if following.startswith("-") else _typed(following)
    return {k: v for k, v in given.items() if k}


def _typed(text: str) -> Value:
    return int(text) if _NUMBER.match(text) else text


def _is_file(target: str) -> bool:
    return (
        bool(target) and not target.startswith(("&", "/dev/fd", "-")) and target not in _SINKS and not target.isdigit()
    )


def _after(words: Sequence[str], option: str) -> str | None:
    return next((b for a, b in pairwise(words) if a == option), None)


def _event(number: int, lines: Sequence[str], context: Context, kind: str, /, **fields: Value) -> Event:
    text = lines[number - 1] if 0 < number <= len(lines) else ""
    return Event(
        speaker="launch",
        kind=kind,
        path=context.source.path,
        line=number,
        end_line=number,
        text=text,
        message=text,
        fields=fields,
    )


PARSER = LaunchScript()
