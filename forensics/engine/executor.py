"""Where the parts of a run are read: here, or in processes beside this one.

An executor maps a function over tasks and yields the results in the order of the tasks. That is
all that reading asks for, so another one can stand in: the function, the tasks and the results
are data that can be sent to another machine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

WORTHWHILE = 24 << 20
"""Bytes of a run below which further processes cost more than they save."""
MANY, SOME = 128, 16
"""Small tasks from which on further processes save more than they cost, and how many of them one is given."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Options of glibc's `mallopt`."""
_KEPT = 16 << 20


class Executor(Protocol):
    """Runs a function over tasks."""

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks."""
        ...


class Serial:
    """One after the other, in this process."""

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks."""
        return map(function, tasks)


class Forked:
    """In processes that begin as copies of this one, so that nothing has to be sent to them but a number."""

    def __init__(self, jobs: int, at_once: int = 1) -> None:
        """Use so many processes, each of which is given some tasks at once."""
        self.jobs = jobs
        self.at_once = at_once

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks.

        What a process that was killed leaves is done here, and so is everything where no process can be
        made: without shared memory for its queue, or at a limit of processes.
        """
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        _inherited[:] = [function, tasks]
        done = 0
        pool: ProcessPoolExecutor | None = None
        try:
            with warnings.catch_warnings():
                # Python warns of threads of libraries, such as numpy's, which see to that themselves.
                warnings.simplefilter("ignore", DeprecationWarning)
                pool = ProcessPoolExecutor(min(self.jobs, len(tasks)), get_context("fork"), _begin)
                results = pool.map(_run, range(len(tasks)), chunksize=self.at_once)
            for result in results:
                done += 1
                yield result
        except (BrokenProcessPool, OSError, ImportError, NotImplementedError):
            yield from map(function, tasks[done:])
        finally:
            if pool is not None:
                # Once all is done its thread ends at once; and while there is one, no process may be copied.
                pool.shutdown(wait=done == len(tasks), cancel_futures=True)
            _inherited.clear()


_inherited: list[Any] = []


def _run(index: int) -> Any:
    function, tasks = _inherited
    return function(tasks[index])


def _begin() -> None:
    """Leave interrupts to the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def keep_freed() -> None:
    """Keep freed memory in this process and its copies: else the memory of each block is mapped anew."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            library.mallopt(option, _KEPT)


def local(total_bytes: int, jobs: int | None = None) -> Executor:
    """Return the executor for a run of that size on this machine: as many processes as it may use, or `jobs`."""
    if total_bytes >= WORTHWHILE:
        keep_freed()
    return _several(jobs or _processors()) if total_bytes >= WORTHWHILE else Serial()


def spread(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Yield the results of small tasks in their order, of many of them by several processes."""
    where = _several(_processors(), SOME) if len(tasks) >= MANY else Serial()
    return where.map(function, tasks)


def _several(jobs: int, at_once: int = 1) -> Executor:
    """Return an executor in so many processes, or in this one where it may not be copied.

    A process with threads is not copied: what the others hold at that moment would be held for ever.
    """
    may = jobs > 1 and sys.platform == "linux" and threading.active_count() == 1
    return Forked(jobs, at_once) if may else Serial()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
