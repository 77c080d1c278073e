"""The journal: one folder an attempt, one record in each, that is always whole.

    DIR/.lock                    held while somebody runs here
    DIR/attempt-001/run.json     what was started, where, with what, and how it ended
    DIR/attempt-001/exit_code    the status alone, as `echo $?` would have written it

A record is written beside its place, put on the disk, then moved there: a reader sees the
old one or the new one, whatever is killed. What nobody could know stays null.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SCHEMA = "dflash-forensics/run/1"
RECORD, STATUS, LOCK = "run.json", "exit_code", ".lock"
RESERVE = ".reserve"
RESERVED_BYTES = 1 << 20
"""Kept aside for the last words and the status of a run that filled its disk."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a write says where there is no room; a limit on the size of files counts as such."""
YIELDED_BYTES = 64 << 10
_FOLDER = re.compile(r"attempt-(\d{3,9})")


class TakenError(Exception):
    """Somebody else runs in the folder; the message says who."""


class JournalError(Exception):
    """The folder cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as recorded: its number, its folder, and the record (empty where it cannot be read)."""

    number: int
    folder: Path
    record: Mapping[str, Any]

    @property
    def status(self) -> str:
        """One of starting, running, exited, not-started, unknown."""
        return str(self.record.get("status", "unknown"))

    @property
    def exit_code(self) -> int | None:
        """The status as a shell gives it (128 + signal), None where nobody knows it."""
        code = self.record.get("exit_code")
        return code if isinstance(code, int) else None


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    return stamp(datetime.now(UTC).timestamp())


def stamp(time: float) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(text: object) -> float | None:
    """Return the time that such a text names."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place, complete and on the disk, or leave the old one.

    Raises:
        OSError: it could not be written; nothing has changed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record of an attempt.

    Raises:
        OSError: there is no room, or the folder is gone.
    """
    write_whole(folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False, default=str).encode() + b"\n")


def write_status(folder: Path, code: int) -> None:
    """Write the status of an attempt.

    Raises:
        OSError: there is no room, or the folder is gone.
    """
    write_whole(folder / STATUS, f"{code}\n".encode())


def reserve(folder: Path) -> None:
    """Take the room that the status and the last words will need."""
    with contextlib.suppress(OSError):
        handle = os.open(folder / RESERVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, RESERVED_BYTES)
        finally:
            os.close(handle)


def yield_room(folder: Path) -> None:
    """Give a part of the reserved room back, as much as a record takes."""
    path = folder / RESERVE
    with contextlib.suppress(OSError):
        os.truncate(path, max(0, path.stat().st_size - YIELDED_BYTES))


def release(folder: Path) -> None:
    """Give the reserved room back."""
    with contextlib.suppress(OSError):
        (folder / RESERVE).unlink(missing_ok=True)


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record in a folder; empty where there is none that can be read."""
    try:
        found = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and str(found.get("schema", "")).startswith("dflash-forensics/run/") else {}


def attempts(folder: Path) -> list[Attempt]:
    """Return the attempts in a folder, the oldest first; a folder that is an attempt itself is the only one."""
    match = _FOLDER.fullmatch(folder.resolve().name)
    if match and (folder / RECORD).exists():
        return [Attempt(int(match[1]), folder, read_record(folder))]
    found: list[Attempt] = []
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if (match := _FOLDER.fullmatch(entry.name)) and entry.is_dir():
                found.append(Attempt(int(match[1]), entry, read_record(entry)))
    return sorted(found, key=lambda attempt: attempt.number)


def new_attempt(folder: Path) -> tuple[int, Path]:
    """Make the folder of the next attempt.

    Raises:
        JournalError: it cannot be made.
    """
    number = max((attempt.number for attempt in attempts(folder)), default=0) + 1
    try:
        while True:
            path = folder / f"attempt-{number:03d}"
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
                continue
            sync_folder(folder)
            return number, path
    except OSError as error:
        raise JournalError(f"cannot make {path}: {error.strerror}") from error


def take(folder: Path) -> int:
    """Make the folder and take its lock; return the handle, which holds it until all its copies are closed.

    Raises:
        TakenError: somebody else has it.
        JournalError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise JournalError(f"cannot write in {folder}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        said = os.pread(handle, 4096, 0).decode("utf-8", "replace").strip()
        os.close(handle)
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            raise TakenError(f"another run is at work in {folder}" + (f": {said}" if said else "")) from None
        raise JournalError(f"{folder / LOCK} cannot be locked: {error.strerror}") from error
    return handle


def sign(handle: int, text: str) -> None:
    """Write into the lock who holds it; only for people, so a full disk is no matter."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{text}\n".encode(), 0)


def identity(pid: int) -> float | None:
    """Return when a process began, which tells it from a later one of the same number; None if it is not there."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
            return None
        return round(process.create_time(), 2)
    except (psutil.Error, OSError, ValueError):
        return None


def still_runs(record: Mapping[str, Any]) -> bool:
    """Tell whether the program of a record is alive on this machine."""
    pid, began = record.get("pid"), record.get("pid_started")
    if record.get("status") not in {"starting", "running"} or not isinstance(pid, int):
        return False
    if record.get("host", {}).get("name") != socket.gethostname():
        return False
    found = identity(pid)
    return found is not None and (began is None or abs(found - float(began)) < 1.0)


def elsewhere(record: Mapping[str, Any]) -> str:
    """Return the machine on which an unfinished attempt was started, if it is not this one; else an empty text."""
    name = str(record.get("host", {}).get("name", ""))
    return name if record.get("status") == "running" and name != socket.gethostname() else ""


def settle(attempt: Attempt) -> dict[str, Any] | None:
    """Write down of an attempt whose supervisor is gone what can still be known; None if there is nothing to do.

    The status may have been written just before; else it is unknown, and stays so.
    """
    record = dict(attempt.record)
    if record.get("status") not in {"starting", "running"}:
        return None
    code = _written_status(attempt.folder)
    record["status"] = "unknown" if code is None else "exited"
    record["exit_code"] = code
    record["signal"] = code - 128 if code is not None and code > 128 else None
    record["settled"] = now()
    note = "the supervisor was gone when this was written"
    record["notes"] = [*record.get("notes", []), note if code is not None else f"{note}, so the status is not known"]
    with contextlib.suppress(OSError):
        write_record(attempt.folder, record)
    release(attempt.folder)
    return record


def _written_status(folder: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int((folder / STATUS).read_text())
    return None


def sweep(folder: Path) -> Iterator[Path]:
    """Remove what a writer that was killed left half-written; yield the names."""
    for left in sorted(folder.glob(".*.tmp")):
        with contextlib.suppress(OSError):
            left.unlink()
            yield left
