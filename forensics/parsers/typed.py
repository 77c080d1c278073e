"""What was started in a log of somebody's terminal, or by a script that shows its commands (`set -x`).

    ml@gpu3:~$ python train.py --lr 1e-4
    + torchrun --nproc_per_node=8 train.py
    !python train.py                                  (a cell of a notebook)

Event `command`, as in a session, for lines that start a program which may train.
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
    r"[$#%>] ))(?P<command>\S.*)"
)
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*=\S*")
_BEFORE = frozenset({"sudo", "nohup", "time", "exec", "env", "setsid"})
_RUNNERS = lazy(
    r"python[\d.]*|torchrun|accelerate|deepspeed|s?run|mpirun|mpiexec|horovodrun|(?:ba|z|k)?sh", re.IGNORECASE
)
_VERBS = frozenset({"train", "fit", "finetune", "fine-tune", "pretrain", "sft", "run", "launch"})
_LOOKERS = frozenset({"awk", "cat", "cd", "cp", "curl", "echo", "git", "grep", "head", "less", "ls", "mkdir", "more",
                      "mv", "nano", "pip", "rm", "rsync", "scp", "screen", "sed", "ssh", "tail", "tmux", "vi", "vim",
                      "wc", "wget"})  # fmt: skip
_SCRIPTS = (".py", ".sh")
_LONGEST = 4000


def program_of(line: str) -> str:
    """Return which program a shown command starts: its script, module or first two words; empty if none that trains."""
    shown = _SHOWN.match(line) if len(line) <= _LONGEST else None
    return _started(shown["command"].split()) if shown else ""


def _started(words: list[str]) -> str:
    while words and (words[0] in _BEFORE or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    if not words:
        return ""
    first, verb = basename(words[0]), words[1] if len(words) > 1 else ""
    runs = _RUNNERS.fullmatch(first) is not None or first.endswith(_SCRIPTS)
    if first in _LOOKERS or not (runs or verb in _VERBS or "train" in first):
        return ""
    script = next((word for word in words if word.endswith(_SCRIPTS)), "")
    if not script and "-m" in words[:-1]:
        script = words[len(words) - words[::-1].index("-m")]
    if not script and _RUNNERS.fullmatch(first):
        return ""
    return basename(script) or f"{first} {verb}".strip()


class Typed:
    """See the module's text."""

    speaker = "host"
    triggers = (
        *(
            f"{before}{program}"
            for before in ("$ ", "# ", "+ ")
            for program in ("python", "torchrun", "accelerate launch", "deepspeed ", "srun ", "mpirun ", "bash ")
        ),
        *("CUDA_VISIBLE_DEVICES=", "nohup "),
        *("!python", "!torchrun", "!accelerate launch", "!deepspeed ", "!bash "),
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a command; those of a session are told by the parser of sessions."""
        if context.source.kind == "transcript":
            return
        for record in records:
            if record.level is None and program_of(record.text):
                yield quote("host", "command", [record], context)


PARSER = Typed()
