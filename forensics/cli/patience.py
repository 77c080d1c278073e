"""A sign of life on stderr, for a person who has waited a second."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

AFTER_S = 1.0
EVERY_S = 0.5
CLEAR = "\r\x1b[2K"


@contextlib.contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is being done, and for how long, once it has taken a second; then wipe it away."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_tell, args=(doing, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _tell(doing: str, done: threading.Event) -> None:
    started = time.monotonic()
    wait = AFTER_S
    said = False
    while not done.wait(wait):
        said, wait = True, EVERY_S
        _write(f"{CLEAR}{doing} ({time.monotonic() - started:.0f} s)")
    if said:
        _write(CLEAR)


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
