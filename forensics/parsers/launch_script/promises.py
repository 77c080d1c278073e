"""Where a script says that output will be: redirections, tee, options of launchers and trainers."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.parsers.launch_script.scopes import Found, Scope, Script, bare, option, trains
from forensics.text.lazy import lazy
from forensics.text.shell import Command

_LONG_LINE = 4096
"""Characters of a line in which the name of a file is looked for, for each file named."""
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd")
_SBATCH = lazy(r"#SBATCH\s+(?:-(?P<short>[oe])\s*|--(?P<long>output|error)[= ]\s*)(?P<path>\S+)")
_FOLDER_OPTIONS = (
    "--log-dir",
    "--log_dir",
    "--logdir",
    "--logging_dir",
    "--output_dir",
    "--output-dir",
    "--save",
    "--save_dir",
    "--tensorboard-dir",
    "--checkpoint_dir",
    "--ckpt_dir",
)
_HYDRA = lazy(r"hydra\.(?:run|sweep)\.dir=(?P<path>\S+)")
_QUIET = frozenset(
    {
        "echo",
        "printf",
        "cat",
        "date",
        "env",
        "hostname",
        "nvidia-smi",
        "df",
        "free",
        "ulimit",
        "pip",
        "git",
        "ls",
        "ps",
    }
)


def promises(script: Script) -> Iterator[Found]:
    """Yield each file and folder that output is said to go to."""
    for scope, command in script.all():
        for redirect in command.redirects:
            if ">" in redirect.operator and is_file(redirect.target):
                how = "stderr" if redirect.descriptors == ("2",) else "stdout"
                how = how if command.name not in _QUIET else "note"
                yield command.line, "promise", {"missing_path": redirect.target, "how": how}
        if command.name == "tee":
            masks = {"masks": True} if _hides(script, scope, command) else {}
            for target in command.words[1:]:
                if not target.startswith("-") and is_file(target):
                    yield _line(script, command, target), "promise", {"missing_path": target, "how": "tee", **masks}
        if command.name == "tmux" and "pipe-pane" in command.words and (file := _piped(command)):
            yield command.line, "promise", {"missing_path": file, "how": "tee"}
        if trains(command) or scope.via is None:
            yield from _folders(command)
        if command.name == "srun" and (path := option(command.words, "--output", "-o")):
            yield command.line, "promise", {"missing_path": path, "how": "stdout"}
    for number, line in enumerate(script.lines, 1):
        if found := _SBATCH.match(line):
            how = "stderr" if "e" in {found["short"], (found["long"] or "")[:1]} else "stdout"
            yield number, "promise", {"missing_path": found["path"], "how": how}


def _folders(command: Command) -> Iterator[Found]:
    words = bare(command)
    if not trains(command):
        return
    for name in _FOLDER_OPTIONS:
        if (path := option(words, name)) and not path.startswith("-"):
            yield command.line, "promise", {"missing_path": path, "how": "folder"}
    for word in words:
        if found := _HYDRA.match(word):
            yield command.line, "promise", {"missing_path": found["path"], "how": "folder"}


def _piped(command: Command) -> str | None:
    """Return the file of `tmux pipe-pane 'cat >> file'`."""
    last = command.words[-1]
    path = last.rpartition(">")[2].strip()
    return path if ">" in last and is_file(path) else None


def _hides(script: Script, scope: Scope, last: Command) -> bool:
    """Tell whether a pipeline ends in a command whose status it then has, whatever became of those before."""
    if not last.pipeline or last.place != last.length - 1 or scope.pipefail or script.keeps_status(last.line):
        return False
    # What only copies a log, such as `docker logs`, is not what the log is of.
    return all(c.name not in _QUIET and "logs" not in c.words[1:4] for c in scope.members(last))


def _line(script: Script, command: Command, target: str) -> int:
    """Return the line that names the target, where a command goes on over several."""
    for number in range(command.line, min(command.line + 20, len(script.lines) + 1)):
        line = script.lines[number - 1]
        if len(line) <= _LONG_LINE and target in line:
            return number
    return command.line


def is_file(target: str) -> bool:
    """Tell whether the target of a redirection is a file that stays."""
    return bool(target) and not target.startswith(("&", "-", *_NOWHERE)) and not target.isdigit()
