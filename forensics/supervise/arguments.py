"""Options of a command, changed in place: `--lr 6e-4`, `--lr=6e-4`, in words or in a quoted script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from forensics.parsers.launch_script.scopes import SHELLS

RESUME = (
    "--resume_from_checkpoint", "--resume-from-checkpoint", "--resume_from", "--resume-from", "--resume", "--ckpt_path",
    "--ckpt-path", "--load-checkpoint", "--load_checkpoint", "--restore", "--restore-from",
)  # fmt: skip
"""What programs call the option that names the checkpoint to go on from."""
_LAUNCHERS = {
    "torchrun": re.compile(
        r"--(?:rdzv|master|nnodes|nproc|node|max[-_]restarts|monitor|start|log[-_]dir|tee|redirects)"
    ),
    "accelerate": re.compile(r"--(?:num_processes|num_machines|machine_rank|main_process|mixed_precision|rdzv)"),
}
SCHEDULER = frozenset({"--time", "--mem", "--mem-per-cpu", "--exclude", "--signal", "--requeue", "--nodes", "--gres"})
"""Options of sbatch, which a program does not take."""


def value_of(words: Sequence[str], name: str) -> str | None:
    """Return the value of an option; None where it is not there."""
    found: str | None = None
    name = _spelled(words, name)
    for at, word in enumerate(words):
        if word == name:
            following = words[at + 1] if at + 1 < len(words) else ""
            found = "" if following.startswith("--") else following
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def with_option(words: Sequence[str], name: str, value: str) -> list[str]:
    """Return a command with an option set: where it stands, else where its program takes it."""
    script = _quoted_script(words)
    if script is not None:
        at, text = script
        return [*words[:at], _in_text(text, name, value), *words[at + 1 :]]
    changed = list(words)
    name = _spelled(words, name)
    for at, word in enumerate(words):
        if word == name:
            if at + 1 < len(words) and not words[at + 1].startswith("--"):
                changed[at + 1] = value
            else:
                changed.insert(at + 1, value)
            return changed
        if word.startswith(f"{name}="):
            changed[at] = f"{name}={value}"
            return changed
    launcher = _LAUNCHERS.get(Path(words[0]).name) if words else None
    if launcher is not None and launcher.match(name):
        changed[1:1] = [f"{name}={value}"]
        return changed
    return [*changed, name, value]


def _spelled(words: Sequence[str], name: str) -> str:
    """Return an option as the command spells it: `--batch-size` and `--batch_size` are one."""
    given = (word.partition("=")[0] for word in words)
    return next((word for word in given if name.startswith("--") and _plain(word) == _plain(name)), name)


def _plain(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else ""


def resume_option(words: Sequence[str]) -> str | None:
    """Return the option of a command that names the checkpoint to go on from; None if it has none."""
    script = _quoted_script(words)
    if script is not None:
        words = _split(script[1])
    return next((name for name in RESUME if value_of(words, name) is not None), None)


def all_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command, those of a quoted script too."""
    script = _quoted_script(words)
    return list(words) if script is None else [*words, *_split(script[1])]


def _quoted_script(words: Sequence[str]) -> tuple[int, str] | None:
    """Return where in `bash -c "..."` the script stands, and its text."""
    if words and Path(words[0]).name in SHELLS:
        for at, word in enumerate(words[1:-1], 1):
            if re.fullmatch(r"-\w*c", word):
                return at + 1, words[at + 1]
    return None


def _in_text(text: str, name: str, value: str) -> str:
    quoted = shlex.quote(value)
    found = re.search(rf"(?<!\S){re.escape(name)}(?P<mark>=|\s+)(?P<value>'[^']*'|\"[^\"]*\"|[^\s;&|]+)", text)
    if found is not None and not found["value"].startswith("--"):
        return f"{text[: found.start()]}{name}{found['mark']}{quoted}{text[found.end() :]}"
    return f"{text.rstrip()} {name} {quoted}"


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
