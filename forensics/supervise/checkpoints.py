"""The newest checkpoint that is whole: looked at from outside, nothing in it is run or loaded.

A zip (torch.save since 1.6) must have its directory, and every member must lie before it; a
safetensors file must be as long as its header says; a pickle must reach its end. What a kill
cut off fails that, and the one before it is taken.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickletools
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".tar", ".distcp")
MOST_FILES = 20_000
DEPTH = 5
_MOST_HEADER = 100 << 20
_MOST_PICKLE = 64 << 20
_FOLDER = re.compile(r"(?:checkpoint|ckpt|global_?step|step|iter|epoch)[-_=]?\d+", re.IGNORECASE)
_STEP = re.compile(r"(?:checkpoint|ckpt|global_?step|steps?|iter(?:ation)?|epoch|model)?[-_=:.]?0*(\d{1,15})(?!.*\d)")
_UNFINISHED = re.compile(r"(?:^|[._-])(?:tmp|temp|partial|part|incomplete|writing)(?:[._-]|$)|~$", re.IGNORECASE)
_SKIPPED = frozenset({".git", "__pycache__", "node_modules", "site-packages", ".venv"})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint: its place, the step that its name has, when it was written, and what is wrong with it."""

    path: Path
    step: int | None
    written: float
    bytes: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The newest whole checkpoint, if any, and the newer ones that are not whole."""

    chosen: Checkpoint | None
    passed_over: tuple[Checkpoint, ...] = ()


def choose(places: Iterable[Path]) -> Choice:
    """Return the newest whole checkpoint in some folders (or among some files)."""
    found = sorted({c.path: c for c in candidates(places)}.values(), key=_age, reverse=True)
    passed: list[Checkpoint] = []
    for one in found:
        problem = one.problem or problem_of(one.path)
        if not problem:
            return Choice(one, tuple(passed))
        passed.append(Checkpoint(one.path, one.step, one.written, one.bytes, problem))
    return Choice(None, tuple(passed))


def candidates(places: Iterable[Path]) -> Iterator[Checkpoint]:
    """Yield what looks like a checkpoint: files by their suffix, folders such as `checkpoint-500`."""
    seen = 0
    for place in places:
        if place.is_file():
            yield _one(place)
            continue
        for folder, names, files in os.walk(place):
            here = Path(folder)
            if len(here.relative_to(place).parts) >= DEPTH:
                names.clear()
            names[:] = sorted(n for n in names if n not in _SKIPPED)
            kept = [here / f for f in files if f.endswith(SUFFIXES)]
            seen += len(files)
            if _FOLDER.fullmatch(here.name) and (kept or any("." in f for f in files)):
                names.clear()
                yield _folder(here)
            else:
                yield from map(_one, kept)
            if seen > MOST_FILES:
                return


def problem_of(path: Path) -> str:
    """Return why a checkpoint is not whole; empty if nothing speaks against it."""
    if _UNFINISHED.search(path.name):
        return "its name says that it was being written"
    try:
        if path.is_dir():
            return _problem_of_folder(path)
        return _problem_of_file(path)
    except (OSError, ValueError, RecursionError, struct.error, zipfile.BadZipFile, NotImplementedError) as error:
        return f"cannot be read: {error}"


def _problem_of_folder(folder: Path) -> str:
    files = [f for f in folder.rglob("*") if f.is_file()]
    if not any(f.name.endswith(SUFFIXES) for f in files):
        return "there are no weights in it"
    for file in sorted(files):
        if _UNFINISHED.search(file.name):
            return f"{file.name} was being written"
        if file.name.endswith(SUFFIXES) and (problem := _problem_of_file(file)):
            return f"{file.name}: {problem}"
        if file.name.endswith(".index.json") or file.name == "trainer_state.json":
            told = json.loads(file.read_bytes())
            parts = set(told.get("weight_map", {}).values()) if isinstance(told, dict) else set()
            if missing := sorted(part for part in parts if not (file.parent / part).is_file()):
                return f"{missing[0]} is missing"
    return ""


def _problem_of_file(path: Path) -> str:
    size = path.stat().st_size
    if size == 0:
        return "it is empty"
    with path.open("rb") as file:
        head = file.read(16)
    if path.name.endswith(".safetensors"):
        return _problem_of_safetensors(path, size)
    if head.startswith(b"PK\x03\x04"):
        return _problem_of_zip(path)
    if head.startswith(b"\x80") and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        return _problem_of_pickle(path)
    return "it holds nothing but zeros" if not head.strip(b"\0") and _is_zeros(path) else ""


def _problem_of_zip(path: Path) -> str:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        return "it was cut off: the directory at its end is missing"
    with archive:
        for member in archive.infolist():
            end = member.header_offset + 30 + len(member.filename.encode()) + member.compress_size
            if end > archive.start_dir:
                return f"{member.filename} does not fit into it"
        pickles = [m for m in archive.infolist() if m.filename.endswith("data.pkl") and m.file_size <= _MOST_PICKLE]
        for member in pickles:
            if not _reaches_stop(archive.read(member)):  # its checksum is looked at as well
                return f"{member.filename} is cut"
        for member in archive.infolist()[-1:]:
            with archive.open(member) as data:
                while data.read(1 << 20):
                    pass
    return ""


def _problem_of_safetensors(path: Path, size: int) -> str:
    with path.open("rb") as file:
        first = file.read(8)
        if len(first) < 8:
            return "it was cut off in its header"
        (length,) = struct.unpack("<Q", first)
        if length > _MOST_HEADER or length + 8 > size:
            return "it was cut off in its header"
        header = json.loads(file.read(length))
    ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"]
    wanted = 8 + length + max(ends, default=0)
    return "" if size >= wanted else f"it was cut off: {size} of {wanted} bytes"


def _problem_of_pickle(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MOST_PICKLE)
    return "" if _reaches_stop(data) else "it was cut off: the pickle has no end"


def _reaches_stop(data: bytes) -> bool:
    """Tell whether a pickle ends; its codes are listed, none is obeyed."""
    try:
        return any(code.name == "STOP" for code, _, _ in pickletools.genops(data))
    except (ValueError, IndexError, UnicodeDecodeError, MemoryError):
        return False


def _is_zeros(path: Path) -> bool:
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            if data.strip(b"\0"):
                return False
    return True


def _one(path: Path) -> Checkpoint:
    try:
        status = path.stat()
    except OSError as error:
        return Checkpoint(path, step_of(path), 0.0, 0, f"cannot be read: {error.strerror}")
    return Checkpoint(path, step_of(path), status.st_mtime, status.st_size)


def _folder(path: Path) -> Checkpoint:
    newest, size = 0.0, 0
    for file in path.rglob("*"):
        with contextlib.suppress(OSError):
            status = file.stat()
            newest, size = max(newest, status.st_mtime), size + (status.st_size if file.is_file() else 0)
    return Checkpoint(path, step_of(path), newest, size)


def step_of(path: Path) -> int | None:
    """Return the step that a name has; of a file such as `step_500/model.pt` that of its folder."""
    for name in (path.stem if path.suffix in SUFFIXES else path.name, path.parent.name):
        if match := _STEP.search(name):
            return int(match[1])
    return None


def _age(one: Checkpoint) -> tuple[float, int]:
    return one.written, -1 if one.step is None else one.step


def places(words: Sequence[str], folder: Path, told: Iterable[str] = ()) -> list[Path]:
    """Return where the checkpoints of a command may be: what its options name, what the log told.

    Args:
        words: the command.
        folder: the folder that it runs in.
        told: paths that the program said it had saved to.
    """
    named: list[str] = []
    for at, word in enumerate(words):
        name, mark, value = word.partition("=")
        if _OPTION.fullmatch(name):
            named.append(value if mark else (words[at + 1] if at + 1 < len(words) else ""))
    found: list[Path] = []
    for text in (*named, *told):
        path = (folder / text) if text else folder
        if not text or text.startswith("-"):
            continue
        path = path if path.is_dir() else path.parent
        if path.is_dir() and path not in found and path != folder:
            found.append(path)
    found += [folder / name for name in ("checkpoints", "checkpoint", "ckpt", "ckpts") if (folder / name).is_dir()]
    return list(dict.fromkeys(found))


_OPTION = re.compile(
    r"--?(?:(?:default[_-]root|output|out|save|ckpt|checkpoints?|logging|work|model|run)[_-](?:dir|path|folder|to)|"
    r"out|output|save|checkpoints?|ckpts?|resume(?:[_-]from(?:[_-]checkpoint)?)?|ckpt[_-]path|load)",
    re.IGNORECASE,
)
