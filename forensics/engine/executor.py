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

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

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
                results = pool.map(_run, range(len(tasks)))
            for result in results:
                done += 1
                yield result
        except (BrokenProcessPool, OSError, ImportError, NotImplementedError):
            yield from map(function, tasks[done:])
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
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
    """Return the executor for a run of that size on this machine: as many processes as it may use, or `jobs`.

    A process with threads is not copied: what the others hold at that moment would be held for ever.
    """
    if total_bytes >= WORTHWHILE:
        keep_freed()
    jobs = jobs or _processors()
    if jobs < 2 or total_bytes < WORTHWHILE or sys.platform != "linux" or threading.active_count() > 1:
        return Serial()
    return Forked(jobs)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
