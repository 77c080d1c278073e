"""What a file is: by its content first, by its name only where content leaves it open.

`sniff` sees the head and the tail of the unpacked content. Kinds that a parser
reads as a whole must be recognised for certain; what is left of readable text is a
`training-log` where it looks like one, else `text`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from forensics.sources.binary import binary_kind, is_text
from forensics.sources.names import is_makefile, is_note, unpacked
from forensics.sources.records import record_kind
from forensics.text import ansi
from forensics.text.damage import pane_width
from forensics.text.lazy import lazy, lazy_bytes
from forensics.text.timestamps import leading_time

HEAD = 1 << 16
"""How many bytes of a file's beginning, and of its end, are looked at."""

LOG_KINDS = frozenset({"training-log", "slurm-log", "tmux-capture"})
"""Kinds that hold what a program printed while it ran."""

SHOWN_KINDS = frozenset({"transcript", "tmux-capture", "text"})
"""Kinds in which somebody shows what commands printed: a session, a pane, a note."""

LINE_KINDS = LOG_KINDS | {"kernel-log", "transcript", "text", "stack-dump"}
"""Kinds that grow line by line, so that a last line without its end means damage or haste."""

SKIPPED_KINDS = {
    "checkpoint": "a checkpoint: weights hold no messages",
    "binary": "not text, and no dump of a known kind",
    "document": "it is about the program: what it quotes, no run printed",
}
"""Kinds whose content is not read, and why."""

KINDS = LINE_KINDS.union(
    SKIPPED_KINDS,
    ("nvidia-smi-table", "nvidia-smi-query", "nvidia-smi-xml", "nvidia-smi-csv", "nvidia-smi-dmon", "nvidia-smi-pmon"),
    ("nvidia-smi-topo", "nvidia-smi-nvlink", "nvidia-smi-list", "launch-script", "exit-code", "torchelastic-error"),
    ("scheduler-record", "flight-recorder", "memory-snapshot", "torch-trace", "host-record", "metrics-json", "config"),
)
"""All kinds there are."""

_RECORDS = frozenset({"host-record", "scheduler-record", "config", "nvidia-smi-csv", "nvidia-smi-query"})
"""Kinds told by their opening: a job's log that begins with one of them is a log all the same."""

_LINES = 200
_PANE_LINES = 400
_CLOSING = 4096
_SLURM_NAME = lazy(r"slurm[-_.]?\d+|\.[oe]\d{3,}$", re.IGNORECASE)
_SLURM_LINE = lazy(r"^(?: *\d+: )?(?:slurmstepd|srun|sbatch|salloc): ", re.MULTILINE)
_SLURM_WORDS = ("slurmstepd: ", "srun: ", "sbatch: ", "salloc: ")
_EXIT_NAME = lazy(
    r"(?:^|[^a-z])(?:(?:exit|ret(?:urn)?|err)?[_-]?(?:code|status)|exit|rc|ret|ec|errno)(?:[^a-z]|$)", re.IGNORECASE
)
_EXIT = lazy_bytes(rb"\s*(?:[A-Za-z_ ]{1,20}[:= ]\s{0,3}|[^\n]{0,120}[$#%>] ?echo \$\?\s{0,3}\n)?-?\d{1,3}\s*")
_DOCUMENT = lazy(
    r"(?:README|CHANGE(?:LOG|S)|CONTRIBUTING|LICEN[CS]E|NOTICE|AUTHORS|SECURITY|CODE_OF_CONDUCT|MODEL_CARD|INSTALL)"
    r"(?:[-_.][\w-]{1,20})?(?:\.(?:md|markdown|rst|txt))?",
    re.IGNORECASE,
)
PROMPT = lazy(
    r"(?:\([\w.-]+\) ?)?(?:\$ \S|[\w.-]+@[\w.-]+[:\s][^$#%\n]{0,120}[$#%](?: |$)|"
    r"\[[\w.-]+@[\w.-]+ [^\]\n]{1,120}\][$#%] ?|(?:ba)?sh-\d\.\d[$#] |(?:PS )?[A-Z]:\\[^<>|\n]{0,200}> ?\S)"
)
_FEW = 40
_LOOK = lazy(r"[$#>%] ?(?:sudo )?(?:date|ls|stat|find|df|du|ps|free|sacct|squeue|scontrol|uptime|last|who)\b")
"""A prompt and a command that looks at something."""
_SHEBANG = lazy(r"#!.{0,60}\b(?:bash|sh|zsh|ksh|dash)\b")
_BATCH = lazy(r"^#(?:SBATCH|PBS|BSUB) -", re.MULTILINE)
_LSF, _REPORT = "# LSBATCH: User input", "was submitted from host <"
_SCRIPT_NAME = (".sh", ".sbatch", ".slurm", ".bash", ".zsh", ".ksh", ".pbs", ".lsf", ".sub")
_COMMAND = lazy(
    r"(?:\w+=\S+ )*(?:exec |nohup |time |sudo )*(?:python3?|torchrun|srun|sbatch|accelerate|deepspeed|mpirun|tmux|"
    r"bash|export|source|module|conda|cd|set|ulimit|docker|ssh|nvidia-smi|mkdir|echo)\b(?!:)"
)
_LOG_NAME = lazy(
    r"\.(?:log|out|err)$|(?:^|[._-])(?:stdout|stderr|nohup|console|output|log)(?:[._-].*)?$", re.IGNORECASE
)
_TMUX_NAME = lazy(r"(?:^|[^a-z])(?:tmux|panes?|screenlog|hardcopy|capture)(?:[^a-z]|$)", re.IGNORECASE)
_PANE_NAME = lazy(r"(?:^|[^a-z])(?:panes?|screenlog|hardcopy)(?:[^a-z]|$)", re.IGNORECASE)
_LEVELLED = lazy(r"\W{0,2}(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b")
_LEVEL = lazy(r"\b(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b")
_PROGRESS = lazy(
    r"Traceback \(most recent|^  File \"|\b(?:[Ss]tep|[Ee]poch|[Ii]ter(?:ation)?|[Ll]oss|LOSS|lr)\b ?[:=\[]? ?\d|"
    r"\d%\||\d ?it/s|\ds/it|\[rank\d+\]|Warning: |Error: |NCCL (?:INFO|WARN)"
)
_TALK = lazy(
    r"^\w*Error\b|CUDA|cuda:\d|[Tt]orch|[Ll]oading|Training|Saving|Killed|Segmentation fault|\bsamples\b|seq_len|batch"
)
_SHORT = 160
"""Bytes of a file that holds a status and nothing else, but for the question to the shell."""
_WIDE = 400
"""Characters of a line that tell whether it is a program's."""


def sniff(name: str, head: bytes, tail: bytes = b"", size: int | None = None) -> str:
    """Tell the kind of a file.

    Args:
        name: its path or name; only consulted where content is not decisive.
        head: the beginning of its unpacked content.
        tail: the end of it, where known.
        size: bytes in all, where known.

    Returns:
        One of `KINDS`.
    """
    base = unpacked(PurePosixPath(name.replace("!", "/")).name)
    kind = binary_kind(base, head)
    if kind is not None:
        return kind
    data = head.lstrip(b"\0") or tail.lstrip(b"\0")
    if not data:
        return _by_name(base)
    if not is_text(data):
        return "binary"
    text = ansi.strip(data[:HEAD].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"))
    lines = [line for line in text.split("\n", _LINES)[:_LINES] if line and not line.isspace()]
    if not lines:
        return _by_name(base)
    if (len(head) if size is None else size) <= _SHORT and _EXIT.fullmatch(data) and _EXIT_NAME.search(base):
        return "exit-code"
    if '"ExitCode"' in text and '"OOMKilled"' in text and lines[0].lstrip().startswith(("[", "{")):
        return "exit-code"  # docker inspect
    if _DOCUMENT.fullmatch(base) and not _LOG_NAME.search(base):
        return "document"
    closing = ansi.strip(tail[-_CLOSING:].decode("utf-8", "replace")) or text[-_CLOSING:]
    kind = record_kind(base, text, lines)
    if kind is not None and not (kind in _RECORDS and _runs(base, lines, closing)):
        return kind
    return _told(base, text, lines, closing)


def names_pane(path: str) -> bool:
    """Tell whether a path says that the file is what a pane showed, prompts and all."""
    return _PANE_NAME.search(unpacked(PurePosixPath(path.replace("!", "/")).name)) is not None


def _by_name(base: str) -> str:
    """An empty file is what its name says it should have been."""
    if _SLURM_NAME.search(base):
        return "slurm-log"
    if base.endswith(_SCRIPT_NAME):
        return "launch-script"
    return "training-log" if _LOG_NAME.search(base) else "text"


def _runs(base: str, lines: Sequence[str], closing: str) -> bool:
    """Tell whether a log goes on after what looked like a record in its beginning."""
    if not (_LOG_NAME.search(base) or _SLURM_NAME.search(base)):
        return "Traceback (most recent call last)" in closing
    return _PROGRESS.search(closing) is not None or any(
        5 * sum(map(_stamped, part)) >= len(part) > 0 for part in (lines, closing.split("\n")[1:])
    )


def _stamped(line: str) -> bool:
    stamped = leading_time(line)[1] > 0 or _LEVELLED.match(line) is not None
    return stamped or _PROGRESS.search(line, 0, _WIDE) is not None


def _told(base: str, text: str, lines: Sequence[str], closing: str) -> str:
    """The kind of a text that no format gives away: a script, a session, a capture, a log, or a note."""
    if is_makefile(base):
        return "launch-script"
    prompts = sum(PROMPT.match(line) is not None for line in lines)
    # LSF's report of a job holds its script, and then what it said.
    told = _LSF in text and (_REPORT in text or _LOG_NAME.search(base) is not None)
    batch = _BATCH.search(text[:_CLOSING]) is not None and not told
    if _SHEBANG.match(text) or batch or (base.endswith(_SCRIPT_NAME) and not prompts):
        return "launch-script"
    if prompts and _is_session(lines, prompts):
        return "transcript"
    if is_note(base):
        return "text"
    if _TMUX_NAME.search(base) or "\nPane is dead" in closing:
        return "tmux-capture"
    if _SLURM_NAME.search(base) or _from_slurm(text) or _from_slurm(closing):
        return "slurm-log"
    if _LOG_NAME.search(base):
        return "training-log"
    if pane_width(text.split("\n", _PANE_LINES)[:_PANE_LINES]):
        return "tmux-capture"
    said = sum(map(_speaks, lines))
    if said * 3 >= len(lines):
        return "training-log"
    if sum(_COMMAND.match(line) is not None for line in lines) * 2 > len(lines):
        return "launch-script"
    return "training-log" if said * 10 >= len(lines) and len(lines) > 20 else "text"


def _from_slurm(text: str) -> bool:
    return any(word in text for word in _SLURM_WORDS) and _SLURM_LINE.search(text) is not None


def _is_session(lines: Sequence[str], prompts: int) -> bool:
    """A shell session has prompts all along; one prompt before pages of progress is a log's first line."""
    if prompts > 1:
        return prompts * 20 >= len(lines) or PROMPT.match(lines[0]) is not None
    if len(lines) <= _FEW and PROMPT.match(lines[0]) is not None and _LOOK.search(lines[0], 0, _WIDE):
        return True  # what `stat` or `sacct` shows is full of times, and yet no log
    return prompts * 20 >= len(lines) and sum(map(_speaks, lines)) * 2 <= len(lines)


def _speaks(line: str) -> bool:
    """Tell whether a line is one that programs print while they run."""
    if leading_time(line)[1] > 0 or _LEVEL.search(line, 0, 200):
        return True
    return _PROGRESS.search(line, 0, _WIDE) is not None or _TALK.search(line, 0, _WIDE) is not None
