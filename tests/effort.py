"""How much work a call is, as a number that is the same on every machine: the instructions that Python runs for it."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


def instructions(work: Callable[[], object]) -> int:
    """Return how many instructions of Python code a call runs; what C code does inside one of them counts once."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    with undisturbed():
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
    return count


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keep what other tests left behind from being finalised meanwhile: that is work too, and Python's."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def grows_evenly(work: Callable[[int], Callable[[], object]], size: int) -> bool:
    """Tell whether twice the size is about twice the work; three times is allowed, four would be quadratic."""
    work(size)()  # what is loaded and compiled once is not counted
    return instructions(work(2 * size)) < 3 * instructions(work(size))
