"""Where output goes: standard output or a file, in colour or not, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from forensics.cli.group import PROGRAM

STDOUT = "-"
ASCII = str.maketrans({"…": "...", "│": "|", "→": "->", "•": "*", "·": "-", "─": "-", "×": "x", "≥": ">="})


class OutputError(Exception):
    """A place that could not be written; the message says which and why."""


class PipeClosedError(Exception):
    """The reader of standard output has gone, as `head` does: nothing is wrong."""


def say(message: str, hint: str = "") -> None:
    """Tell the user what went wrong: one line, and one with what to do about it."""
    from forensics.text.ansi import visible

    with contextlib.suppress(OSError, ValueError, AttributeError):
        for line in (f"{PROGRAM}: {message}", *([hint] if hint else [])):
            print("\n".join(visible(part) for part in line.split("\n")), file=sys.stderr)  # noqa: T201


def silence() -> None:
    """Point standard output at nothing, so that leaving does not trip over a closed pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write(text: str | bytes, target: str = STDOUT) -> None:
    """Write a whole answer to standard output, or to a file that appears complete or not at all.

    Raises:
        OutputError: the target cannot be written.
        PipeClosedError: standard output is a pipe that nobody reads any more.
    """
    if target == STDOUT:
        with standard_output() as out:
            out.write(_encode(text, sys.stdout.encoding) if isinstance(text, str) else text)
    else:
        with file_output(target) as file:
            file.write(text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)


def lent(target: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Lend standard output, or a file as `file_output` does, for an answer that is written piece by piece."""
    return standard_output() if target == STDOUT else file_output(target)


@contextlib.contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Lend standard output as bytes; a full disk or a gone reader becomes a clear error."""
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    try:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError as gone:
        raise PipeClosedError from gone
    except OSError as wrong:
        silence()
        raise OutputError(f"cannot write to standard output: {wrong.strerror or wrong}") from wrong


@contextlib.contextmanager
def file_output(target: str) -> Iterator[BinaryIO]:
    """Lend a file that takes its name only when all of it is on the disk.

    A device or a pipe is written as it is. A link keeps pointing where it pointed, and
    an existing file keeps its permissions.
    """
    import tempfile

    path = Path(os.path.realpath(target))
    try:
        if Path(target).exists() and not Path(target).is_file():
            with Path(target).open("wb") as file:
                yield file
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    except OSError as wrong:
        raise _unwritable(target, wrong) from wrong
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode(path))
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as wrong:
        raise _unwritable(target, wrong) from wrong
    finally:
        Path(name).unlink(missing_ok=True)


def check_target(target: str) -> None:
    """Refuse a target that can never be written, before any work is done for it.

    Raises:
        OutputError: the folder is missing, or the target is a folder.
    """
    if target == STDOUT:
        return
    path = Path(target)
    if path.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no folder {path.parent}; make it first")


def colored(choice: str, target: str) -> bool:
    """Decide on colours: a clear choice wins, else only for a person at a terminal."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") == "dumb"
    return not plain and _on_terminal(target)


def columns(target: str = STDOUT) -> int:
    """Return how wide the terminal is that the output goes to; 0 where it goes elsewhere."""
    return shutil.get_terminal_size().columns if _on_terminal(target) else 0


def rows(target: str = STDOUT) -> int:
    """Return how high the terminal is that the output goes to; 0 where it goes elsewhere."""
    return shutil.get_terminal_size().lines if _on_terminal(target) else 0


def _on_terminal(target: str) -> bool:
    return target == STDOUT and sys.stdout is not None and sys.stdout.isatty()


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-o FILE`."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        default=STDOUT,
        type=click.Path(allow_dash=True),
        help="Write to FILE instead of the screen.",
    )(command)


def _encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "backslashreplace")


def _mode(path: Path) -> int:
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _unwritable(target: str, wrong: OSError) -> OutputError:
    return OutputError(f"cannot write {target}: {wrong.strerror or wrong}")
