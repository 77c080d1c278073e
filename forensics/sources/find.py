"""From paths to inputs.

A rotated log (`train.log.2.gz`, `train.log.1`, `train.log`) stays several inputs, one a
part: a report must name the path and the line that a person can open. The parts stand
next to each other, oldest first, and share one attempt number.
"""

from __future__ import annotations

import io
import os
import select
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from forensics.sources.attempts import arrange
from forensics.sources.errors import SourceError
from forensics.sources.gather import Gathering, Spread
from forensics.sources.input import Input
from forensics.sources.names import is_ignored
from forensics.sources.runs import set_aside
from forensics.sources.supervised import read_records
from forensics.sources.unpack import is_packed
from forensics.sources.walk import walk
from forensics.sources.watch import Watch
from forensics.text.urls import redacted, scheme

_PIECE = 1 << 20
_MOMENT_S = 0.2

MOST_STDIN = 256 << 20
"""Standard input and pipes cannot be read twice, so they are held in memory, up to this."""


class Found(Struct):
    """All inputs of a run in a stable order, what was left out in words, and the run's display path.

    `watch` counts their reading, and can stop it.
    """

    inputs: list[Input] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    root: str = ""
    watch: Watch = field(default_factory=Watch)


def find(
    paths: Sequence[str], stdin: BinaryIO | None = None, watch: Watch | None = None, spread: Spread = map
) -> Found:
    """Find the evidence under the given paths.

    Args:
        paths: folders, single files, archives, addresses of such elsewhere, and `-` for standard input.
        stdin: what `-` reads.
        watch: is told what is found, and may stop it.
        spread: looks at the files, of which there may be thousands.

    Returns:
        The inputs, sorted by name; an empty folder gives none, and a note.

    Raises:
        SourceError: a path does not exist, cannot be read, or is a device.
    """
    if not paths:
        raise SourceError("", "no path was given")
    gathering = Gathering(watch=watch or Watch())
    distinct = tuple(dict.fromkeys(paths))
    for path in distinct:
        if path in {"-", "/dev/stdin"}:
            if stdin is None:
                raise SourceError(path, "standard input is not available here")
            _add_stream(gathering, stdin, "-", "standard input")
        else:
            label = "" if len(distinct) == 1 else _label(path, distinct)
            if is_remote(path):
                from forensics.sources.remote import add_remote  # loads fsspec, which few need

                add_remote(gathering, path, label, _add_stream)
            else:
                _add_path(gathering, path, label)
    gathering.describe(spread)
    root = ", ".join(map(redacted, distinct))
    if not gathering.inputs:
        gathering.notes.append(f"no evidence was found in {root}")
    read_records(gathering.inputs)
    notes = set_aside(gathering.inputs)
    gathering.watch.files = len(gathering.inputs)
    gathering.watch.expect(gathering.inputs)
    return Found(arrange(gathering.inputs), [*notes, *gathering.told()], root, gathering.watch)


def find_in_memory(files: Mapping[str, bytes]) -> Found:
    """Find the evidence in files held in memory, treated just as the files of a folder are.

    Args:
        files: path, relative to the run, to content.
    """
    gathering = Gathering()
    for path in sorted(files):
        if not is_ignored(path):
            gathering.add_bytes(path, files[path])
    read_records(gathering.inputs)
    notes = set_aside(gathering.inputs)
    return Found(arrange(gathering.inputs), [*notes, *gathering.told()])


def is_remote(path: str) -> bool:
    """Tell whether a path is an address of something elsewhere, and not a file here that is called like one."""
    return bool(scheme(path)) and not os.path.lexists(path)


def _label(path: str, paths: Sequence[str]) -> str:
    """How a path among several is shown: its own name, or as given where names collide."""
    shown = redacted(path)
    name = Path(shown).name
    alone = sum(Path(redacted(other)).name == name for other in paths) == 1
    return name if name and alone else shown.rstrip("/") or shown


def _add_stream(gathering: Gathering, file: BinaryIO, name: str, what: str) -> None:
    """Take in what can be read only once: up to a limit, or as far as it came when it was stopped."""
    taken = bytearray()
    try:
        while len(taken) <= MOST_STDIN and not gathering.watch.stopped:
            with gathering.watch.waiting():
                piece = _piece(file)
            if piece is None:
                continue
            if not piece:
                break
            taken += piece
    except KeyboardInterrupt:
        if not gathering.watch.stopped:
            raise
    if len(taken) > MOST_STDIN:
        gathering.notes.append(f"only the first {MOST_STDIN >> 20} MiB of {what} were read")
        del taken[MOST_STDIN:]
    if gathering.watch.stopped and not is_packed(bytes(taken[:64])):
        del taken[taken.rfind(b"\n") + 1 :]  # half a line would look like damage
    before = len(gathering.inputs)
    gathering.add_bytes(name, bytes(taken))
    if gathering.watch.stopped:
        # Only the waiting is over: what came so far is to be looked at.
        gathering.watch.stopped = False
        for made in gathering.inputs[before:]:
            gathering.watch.end(made, len(taken))


def _piece(file: BinaryIO) -> bytes | None:
    """Return what has come of a stream, nothing at its end, and None if for a moment nothing came.

    A longer wait would not see that reading was stopped just before it.
    """
    try:
        number = file.fileno()
        if not os.get_blocking(number):
            return os.read(number, _PIECE)
        if not select.select([number], [], [], _MOMENT_S)[0]:
            return None
    except BlockingIOError:
        select.select([file], [], [], _MOMENT_S)
        return None
    except (AttributeError, OSError, ValueError):  # not a file of this system
        pass
    return file.read1(_PIECE) if isinstance(file, io.BufferedReader) else file.read(_PIECE)


def _add_path(gathering: Gathering, path: str, label: str) -> None:
    """Take in what the user named; unlike a link inside a folder, a link given by name is followed."""
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            os.scandir(path).close()
            walk(gathering, Path(path), label)
        elif stat.S_ISREG(status.st_mode):
            gathering.add_file(Path(path), label or Path(path).name, status)
        elif stat.S_ISFIFO(status.st_mode):
            _add_pipe(gathering, path, label or Path(path).name)
        else:
            raise SourceError(path, "a device or a socket, not a file or a folder")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(path, reason.lower()) from error


def _add_pipe(gathering: Gathering, path: str, name: str) -> None:
    """Read a pipe such as `<(kubectl logs pod)`; one that nobody writes to is empty, not waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        _add_stream(gathering, pipe, name, name)
