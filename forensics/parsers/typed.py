"""What was started in a log of somebody's terminal, or by a script that shows its commands (`set -x`).

    ml@gpu3:~$ python train.py --lr 1e-4
    + torchrun --nproc_per_node=8 train.py
    !python train.py                                  (a cell of a notebook)

Event `command`, as in a session, for lines that start a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from posixpath import basename

from forensics.model import Context, Event, Hears, Record
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_SHOWN = lazy(
    r"(?:\+{1,4} |!|(?:\([\w.-]{1,80}\) ?)?(?:\$ |"
    r"(?:\[[\w.-]{1,80}@[\w.-]{1,80} [^\]\n]{1,120}\]|[\w.-]{1,80}@[\w.-]{1,80}[:\s][^$#%>\n]{0,120}|(?:ba)?sh-\d\.\d)"
    r"[$#%>] |(?:PS )?[A-Z]:\\[^>|<\n]{0,200}> ?))(?P<command>\S.*)"
)
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*=\S*")
_BEFORE = frozenset({"sudo", "nohup", "time", "exec", "env", "setsid"})
_RUNNERS = lazy(
    r"python[\d.]*|torchrun|accelerate|deepspeed|s?run|mpirun|mpiexec|horovodrun|(?:ba|z|k)?sh", re.IGNORECASE
)
_KEEPERS = frozenset({"docker", "docker-compose", "podman", "kubectl", "oc", "helm", "ray", "sky", "nvidia-docker"})
_LOOKS = frozenset({"logs", "ps", "inspect", "get", "describe", "images", "top", "status", "events", "pull", "stop",
                    "down", "kill", "rm", "queue", "list", "cancel", "stats", "version", "info", "delete"})  # fmt: skip
"""What those are asked without starting anything."""
_LOOKERS = frozenset({"awk", "cat", "cd", "cls", "copy", "cp", "curl", "del", "dir", "echo", "git", "grep", "head",
                      "less", "ls", "mkdir", "more", "mv", "nano", "pip", "rm", "rsync", "scp", "screen", "sed", "set",
                      "ssh", "tail", "tmux", "type", "vi", "vim", "wc", "wget"})  # fmt: skip
_SCRIPTS = (".py", ".sh")
_JOINED = lazy(r" ?(?:&&|\|\||;) ?")
_LONGEST = 4000


def command_of(line: str) -> str:
    """Return the command that a line shows behind a prompt; empty if it shows none."""
    shown = _SHOWN.match(line) if len(line) <= _LONGEST else None
    return shown["command"] if shown is not None else ""


def program_of(line: str) -> str:
    """Return which program a shown command starts: its script, module or first two words; empty if it only looks.

    Of several commands that are joined, the last one that starts something.
    """
    started = (_started(command.split()) for command in _JOINED.split(command_of(line)))
    return next(filter(None, reversed(list(started))), "")


def _started(words: list[str]) -> str:
    while words and (words[0] in _BEFORE or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    first = basename(words[0]) if words else ""
    if not words or first in _LOOKERS or (first in _KEEPERS and not _LOOKS.isdisjoint(words[1:4])):
        return ""
    script = next((word for word in words if word.endswith(_SCRIPTS)), "")
    if not script and "-m" in words[:-1]:
        script = words[len(words) - words[::-1].index("-m")]
    if not script and _RUNNERS.fullmatch(first):
        return ""
    return basename(script) or " ".join((first, *words[1:2]))


class Typed:
    """See the module's text."""

    speaker = "host"
    triggers = (
        *(
            f"{before}{program}"
            for before in ("$ ", "# ", "+ ")
            for program in ("python", "torchrun", "accelerate launch", "deepspeed ", "srun ", "mpirun ", "bash ")
        ),
        *("CUDA_VISIBLE_DEVICES=", "nohup ", "tee -a "),
        *("!python", "!torchrun", "!accelerate launch", "!deepspeed ", "!bash "),
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a command; those of a session are told by the parser of sessions."""
        if context.source.kind == "transcript":
            return
        for record in records:
            # Further lines of a small log are handed over for other reasons; of a large one they would not be.
            if record.level is None and any(map(record.text.__contains__, self.triggers)) and program_of(record.text):
                yield quote("host", "command", [record], context)


PARSER = Typed()
