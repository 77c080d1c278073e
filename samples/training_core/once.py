"""The first compile, by one thread: nobody else calls the compiled function meanwhile.

Whether torch is tracing is kept in one flag for the whole process. While one thread traces, a
perfectly legal call of a compiled function on another thread raises. So a thread that meets a new
shape keeps everybody out until that shape is compiled, forward and backward; calls at shapes that
are known run side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager


class FirstCompile:
    """A lock that many callers share and one compiler has alone."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._callers = 0
        self._compiler: int | None = None
        self._known: set[Hashable] = set()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Hold the compiler off while a compiled function is called; the compiler itself may call."""
        here = threading.get_ident()
        with self._free:
            self._free.wait_for(lambda: self._compiler in {None, here})
            self._callers += 1
        try:
            yield
        finally:
            with self._free:
                self._callers -= 1
                self._free.notify_all()

    def ready(self, shape: Hashable, compile_it: Callable[[], None]) -> None:
        """Return once a shape is compiled, by this thread if by none before.

        If compiling raises, the shape stays unknown and the exception is the caller's.
        """
        with self._free:
            self._free.wait_for(lambda: self._compiler is None)
            if shape in self._known:
                return
            self._compiler = threading.get_ident()
            self._free.wait_for(lambda: not self._callers)
        known = False
        try:
            compile_it()
            known = True
        finally:
            with self._free:
                if known:
                    self._known.add(shape)
                self._compiler = None
                self._free.notify_all()
