"""A sign of life on stderr for a person who has waited a second, and a way to end the waiting."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

import click

from forensics.cli.output import say

if TYPE_CHECKING:
    from forensics.cli.bar import Bar
    from forensics.sources import Watch

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended, as shells have it."""
AFTER_S = 1.0
EVERY_S = 0.25


@contextlib.contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is being done, and for how long, once it has taken a second; then wipe it away."""
    with _shown(doing, None):
        yield


@contextlib.contextmanager
def reading(*, stoppable: bool = True) -> Iterator[Watch]:
    """Show how far the reading of a run has come: bytes, rate and time left, once it has taken a second.

    Lends the watch that the reader is to be given. Where it is `stoppable`, a first Ctrl-C ends
    the reading but not the command, and a second one ends both.
    """
    from forensics.sources import Watch

    watch = Watch()
    with _shown("reading", watch), _stopped_by_key(watch) if stoppable else contextlib.nullcontext():
        yield watch


def leave_if_stopped(watch: Watch) -> None:
    """Leave with the status of an interrupted command where its reading was stopped.

    Raises:
        click.exceptions.Exit: it was.
    """
    if watch.partial:
        say("interrupted: this is on what was read so far")
        raise click.exceptions.Exit(INTERRUPTED)


@contextlib.contextmanager
def _stopped_by_key(watch: Watch) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of keys
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if watch.stopped:
            signal.default_int_handler(number, frame)
        watch.stop()

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield  # whoever started this in the background, or embeds it, has decided what the key does
        return
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _shown(doing: str, watch: Watch | None) -> Iterator[None]:
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    teller = _Teller(doing, watch)
    before = signal.signal(signal.SIGALRM, teller.tell)
    signal.setitimer(signal.ITIMER_REAL, AFTER_S, EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        teller.close()


class _Teller:
    """Draws when the alarm rings: a thread that drew would forbid copies of this process, which read faster."""

    def __init__(self, doing: str, watch: Watch | None) -> None:
        self._doing = doing
        self._watch = watch
        self._bar: Bar | None = None

    def tell(self, _number: int, _frame: FrameType | None) -> None:
        """Draw the bar, opening it first."""
        with contextlib.suppress(OSError, ValueError):
            if self._bar is None:
                from forensics.cli.bar import Bar  # rich takes longer to load than most runs take to read

                self._bar = Bar(self._doing, self._watch)
                self._bar.__enter__()
            self._bar.draw()

    def close(self) -> None:
        """Wipe the bar away."""
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.__exit__(None, None, None)
