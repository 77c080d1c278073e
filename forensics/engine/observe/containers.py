"""Which container's log a pod's story stands in: Kubernetes starts a failed one anew, and then the new one fails too.

    worker-0.previous.log     kubectl logs --previous: how it failed
    worker-0.log              kubectl logs: a start that came to nothing, or has got nowhere yet

By its name the first is of an earlier try. But nobody started another one: what ended the
pod is in it, and the logs that other pods wrote at that time tell of the same failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.engine.outcome import is_end
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Source
from forensics.text.lazy import lazy

_PREVIOUS = frozenset({"previous", "prev"})
_CURRENT = frozenset({"current", "curr", "cur", "now"})
_PARTS = re.compile(r"[._-]+")
_LONG_S = 900.0
"""Seconds after which a container that has not raised is at work, as a server is that prints no numbers."""
_RESTARTING = lazy(r"[Bb]ack-?[Oo]ff restarting failed|CrashLoopBackOff")


def observe(seen: Seen) -> Iterator[Event]:
    """Count the logs of a failed container as of the try in question where its successor did no work; yield nothing."""
    told = list(seen.ever_said("scheduler", "pod-state", "pod-event"))
    looping = any(_RESTARTING.search(e.message) for e in told)
    if not looping and not any(e.fields.get("exit_code") for e in told):
        return
    logs = [s for s in seen.sources if s.kind in LOG_KINDS and s.read != "skipped"]
    now = {_name(s): s.path for s in logs if seen.is_current(s.path) and not _words(s) & _PREVIOUS}
    raised = {e.path for e in seen.events if e.speaker == "exception"}
    worked = {s.path for s in seen.steps if s.series == "train" or s.tokens_per_s is not None}
    worked |= {e.path for e in seen.events if is_end(e)}
    worked |= {s.path for s in logs if s.started and s.ended and s.ended - s.started > _LONG_S and s.path not in raised}
    failed = []
    for source in logs:
        twin = now.get(_name(source)) if _words(source) & _PREVIOUS and not seen.is_current(source.path) else None
        if twin is not None and twin not in worked and (looping or twin in raised):
            failed.append(source)
    beside = {s.path for s in logs if any(_together(s, other) for other in failed)}
    seen.bring_forward({s.path for s in failed} | beside)
    yield from ()


def _words(source: Source) -> set[str]:
    return set(_PARTS.split(source.path.rpartition("/")[2].lower()))


def _name(source: Source) -> tuple[str, ...]:
    """Return what the logs of a pod's containers have in common: folder and name, without the word for which it is."""
    folder, _, base = source.path.rpartition("/")
    return folder, *(part for part in _PARTS.split(base.lower()) if part not in _PREVIOUS | _CURRENT)


def _together(one: Source, other: Source) -> bool:
    """Tell whether two logs were written at one time."""
    if one.started is None or one.ended is None or other.started is None or other.ended is None:
        return False
    return one.started <= other.ended and other.started <= one.ended
