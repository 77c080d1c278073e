"""What a file's name tells: whether it is evidence at all, its rank and host, its place in a rotation."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from msgspec import Struct

from forensics.text.lazy import lazy

PACKED_SUFFIXES = (".gz", ".zst", ".xz", ".bz2", ".zstd")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "__MACOSX", "site-packages", "dist-packages"})
_CODE = (".py", ".pyc", ".pyi", ".so", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".rs", ".o", ".js", ".css")
_RANK = lazy(r"(?:^|[^a-z])(?:global_?)?rank[_=.-]?\[?(\d{1,6})(?!\d)", re.IGNORECASE)
_LOCAL = lazy(r"(?:^|[^a-z])(?:local_?rank|gpu|proc|task|std|cuda)[_=.-]?(\d{1,5})(?!\d)", re.IGNORECASE)
_HOST = lazy(
    r"(?:^|[^a-z])((?:node|host|worker|pod|machine|server|nid|gn|dgx|hgx|cn|gpu-node|compute)[_-]?\d[a-z\d-]*)",
    re.IGNORECASE,
)
_LOG_NUMBER = lazy(r"(?:log|out|err)\.(\d{1,4})")
_NOTE = lazy(
    r".{0,200}\.(?:md|markdown|mdx|rst|adoc|org)"
    r"|(?:.{0,80}[-_. ])?(?:notes?|issues?|todo|faq|howto|wiki|mail|e-?mail|chat|slack|discord|question|ticket)"
    r"(?:[-_. ].{0,80})?(?:\.txt)?",
    re.IGNORECASE,
)
_ROTATED = lazy(r"(?P<base>.+\.(?:log|out|err|txt|jsonl))[.-](?P<part>\d{1,3}|20\d{6}(?:[-_T.]?\d{2,6})?)")
_DOTTED = lazy(r"(?P<stem>.+)\.(?P<part>\d{1,3})(?P<suffix>\.(?:log|out|err|txt))")


class Rotation(Struct, frozen=True):
    """A part of a rotated log: the file it was rotated from, and how it is ordered.

    `newness` grows with time: numbers count away from the present, dates towards it.
    `part` is the number, where it is one.
    """

    base: str
    newness: float
    part: int | None = None


def is_note(path: str) -> bool:
    """Tell whether a file is called as what people write: `notes.md`, `issue.txt`. What stands in it is quoted."""
    name = unpacked(PurePosixPath(path.replace("!", "/")).name)
    return _NOTE.fullmatch(name) is not None and not name.lower().endswith((".log", ".out", ".err"))


def is_makefile(path: str) -> bool:
    """Tell whether a file is called as make's are."""
    name = PurePosixPath(path.replace("!", "/")).name.lower()
    return name in {"makefile", "gnumakefile"} or name.endswith(".mk")


def is_ignored(path: str) -> bool:
    """Tell whether a path inside a run is quietly left out: hidden, a cache, program code."""
    *folders, name = PurePosixPath(path).parts or ("",)
    if name.startswith(".") or name.lower().endswith(_CODE):
        return True
    return any(
        folder in _SKIPPED_FOLDERS or (folder.startswith(".") and folder not in {".", ".."}) for folder in folders
    )


def unpacked(name: str) -> str:
    """A file name without the suffixes of compression."""
    while name.lower().endswith(PACKED_SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def rank_hint(path: str) -> int | None:
    """The rank that a path names: `rank_3.log`, `attempt_0/3/stderr.log`, `log.3`, `nccl_trace_rank_1`."""
    parts = PurePosixPath(path.replace("!", "/")).parts
    for part in reversed(parts):
        name = unpacked(part)
        match = _RANK.search(name)
        if match:
            return int(match[1])
    for part in reversed(parts):
        match = _LOCAL.search(part)
        if match:
            return int(match[1])
    if parts:
        match = _LOG_NUMBER.fullmatch(unpacked(parts[-1]))
        if match:
            return int(match[1])
    if len(parts) > 1 and parts[-2].isdecimal() and len(parts[-2]) <= 3:
        return int(parts[-2])  # torchelastic's log folder: one numbered folder a worker
    return None


def host_hint(path: str) -> str | None:
    """The host that a path names: `node0.log`, `dmesg-node0.txt`, `worker-1/train.log`."""
    for part in reversed(PurePosixPath(path.replace("!", "/")).parts):
        match = _HOST.search(unpacked(part))
        if match:
            return match[1]
    return None


def rotation(path: str) -> Rotation | None:
    """Tell of which log a path is a rotated part: `train.log.2.gz`, `train.log-20261128`."""
    match = _ROTATED.fullmatch(unpacked(path))
    if match is None:
        return None
    digits = re.sub(r"\D", "", match["part"])
    if len(digits) < 4:
        return Rotation(match["base"], -float(digits), int(digits))
    return Rotation(match["base"], float(digits.ljust(14, "0")) - 1e15)


def dotted_rotation(path: str) -> Rotation | None:
    """Tell of which log `train.1.log` would be a rotated part, if `train.log` lies beside it."""
    match = _DOTTED.fullmatch(unpacked(path))
    return Rotation(match["stem"] + match["suffix"], -float(match["part"])) if match else None


def natural(path: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `rank_2` before `rank_10`, and `train.log` before `train2.log`."""
    return tuple(
        (1, int(part), "") if part.isdecimal() and part.isascii() else (0, 0, part.replace(".", "\0") + "\1")
        for part in re.split(r"(\d{1,18})", path)
    )
