"""Which services of `docker compose` ended of a fault, though others in the same log work on.

    trainer-1    | INFO:     Application startup complete.
    trainer-1    | ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): ...
    trainer-1    | INFO:     Application shutdown complete.
    proj_trainer-1 exited with code 0
    other-1      | INFO 09-19 08:57:43 metrics.py:351] Avg generation throughput: 70.2 tokens/s

What the others do then is no recovery. A status other than 0 tells that, and so does a server
that shuts down at once, whatever its status: it has not served.
"""

from __future__ import annotations

from collections import defaultdict

from forensics.engine.seen import Seen
from forensics.model import Event
from forensics.text.lazy import lazy

_LABEL = lazy(r"(?P<service>[a-z][\w.-]{0,120}[-_]\d{1,4}) {1,40}\|")
_EXITED = lazy(r"(?P<container>[a-z][\w.-]{0,160}[-_]\d{1,4}) exited with code (?P<code>-?\d{1,3})\s*$")
_AT_ONCE = 6
"""Lines from a fault to the word that a server has shut down, where the one is why the other came."""


class Services:
    """What became of each service of a log that many write."""

    def __init__(self, seen: Seen) -> None:
        self._exits: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
        self._said: dict[tuple[str, str], int] = {}
        self._shut: dict[tuple[str, str], list[int]] = defaultdict(list)
        for event in seen.said("status", "reported-part"):
            if found := _EXITED.match(event.text):
                self._exits[event.path].append((event.line, found["container"], int(found["code"])))
        if not self._exits:
            return
        for event in seen.events:
            if event.path in self._exits and (service := _service(event)):
                key = event.path, service
                self._said[key] = max(self._said.get(key, 0), event.line)
                if event.speaker == "progress" and event.fields.get("marker") == "server":
                    self._shut[key].append(event.line)

    def ended(self, event: Event) -> bool:
        """Tell whether the service that an event is of ended after it, of it, and was not started anew."""
        service = _service(event) if event.path in self._exits else ""
        if not service:
            return False
        key = event.path, service
        for line, container, code in self._exits[event.path]:
            ours = container == service or container.endswith((f"_{service}", f"-{service}"))
            if ours and line > event.line and self._said[key] < line:
                return code != 0 or any(0 < shut - event.line <= _AT_ONCE for shut in self._shut[key])
        return False


def _service(event: Event) -> str:
    found = _LABEL.match(event.text)
    return found["service"] if found else ""
