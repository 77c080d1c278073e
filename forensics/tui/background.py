"""Work beside the screen. A thread of this kind never keeps the program from leaving."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import Thread

from textual.message import Message
from textual.message_pump import MessagePump


def beside(work: Callable[[], None]) -> Thread:
    """Run something in a thread of its own."""
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def post(to: MessagePump, message: Message) -> None:
    """Send a message from a thread; where the screen has gone, nobody misses it."""
    with contextlib.suppress(RuntimeError):
        to.post_message(message)
