"""The analysis in a process of its own, so that the screen never waits for it.

It says how far it is while it reads, and hands over the whole analysis at the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from forensics.sources import Input
from forensics.sources.unpack import Damage

if TYPE_CHECKING:  # the engine and all parsers are the business of the other process
    from forensics.analyze import Analysis

EVERY_S = 0.1
LEAVES_S = 1.0
"""Seconds that the process has to leave before it is made to."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many bytes were read, and of how many; some are read twice."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no analysis. `is_bug` tells a fault of the program from one of what it was given."""

    why: str
    is_bug: bool = False


Said: TypeAlias = "Progress | Failure | Analysis"


class Job:
    """One analysis under way."""

    def __init__(self, paths: Sequence[str], rules: Sequence[str] = (), tz: str | None = None) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(theirs, tuple(paths), tuple(rules), tz), daemon=True)
        # A screen stands in for standard error, and what starts the process wants a real one.
        with contextlib.redirect_stderr(sys.__stderr__):
            self._process.start()
        theirs.close()

    def said(self) -> Iterator[Said]:
        """Yield what the process says, until it has said how it ended; waits for it."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                said: Said = self._ours.recv()
                yield said
                if not isinstance(said, Progress):
                    return
        self._process.join(LEAVES_S)
        yield Failure(f"the analysis ended without an answer (status {self._process.exitcode})", is_bug=True)

    def stop(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(LEAVES_S)
            if self._process.is_alive():
                self._process.kill()
                self._process.join(LEAVES_S)
        with contextlib.suppress(OSError):
            self._ours.close()


def _work(out: Connection, paths: Sequence[str], rules: Sequence[str], tz: str | None) -> None:
    """Run in the new process: analyse, and say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the screen, which then ends this process
    with contextlib.suppress(OSError):
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)  # a word here would be printed across the screen
    import copyreg

    copyreg.pickle(MappingProxyType, _plain)
    try:
        said: Said = _analyse(out, paths, rules, tz)
    except Exception as error:  # noqa: BLE001 - whatever it is, the screen must hear of it
        said = _failure(error)
    with contextlib.suppress(OSError):
        out.send(said)
    out.close()


def _analyse(out: Connection, paths: Sequence[str], rules: Sequence[str], tz: str | None) -> Analysis:
    from forensics.analyze import conclude
    from forensics.rulebook.load import load
    from forensics.sources import find

    found = find(paths)
    tell = _Teller(out, sum(item.source.bytes for item in found.inputs))
    for item in found.inputs:
        item.opener = tell.counted(item)
    return conclude(found, load(rules), tz)


class _Teller:
    """Counts bytes as they are read, and says so from time to time."""

    def __init__(self, out: Connection, total: int) -> None:
        self._out = out
        self._total = total
        self._done = 0
        self._last = 0.0

    def counted(self, item: Input) -> Callable[[Damage], Iterator[bytes]]:
        inner = item.opener

        def opened(damage: Damage) -> Iterator[bytes]:
            for block in inner(damage):
                yield block
                self._done += len(block)
                if (now := time.monotonic()) - self._last > EVERY_S:
                    self._last = now
                    self._say(Progress(self._done, self._total))

        return opened

    def _say(self, progress: Progress) -> None:
        try:
            self._out.send(progress)
        except OSError:
            os._exit(1)  # nobody listens any more: the screen is gone, and did not live to say so


def _failure(error: Exception) -> Failure:
    from forensics.rulebook.load import RulebookError
    from forensics.sources import SourceError

    if isinstance(error, SourceError | RulebookError | ValueError):
        return Failure(str(error))
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" ({os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno})" if where else ""  # noqa: PTH119
    return Failure(f"{type(error).__name__}: {error}{place}", is_bug=True)


def _plain(mapping: MappingProxyType[str, Any]) -> tuple[Any, ...]:
    return MappingProxyType, (dict(mapping),)
