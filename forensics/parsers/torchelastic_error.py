"""The file in which torchelastic's `@record` leaves a worker's exception.

    {"message": {"message": "RuntimeError: boom", "extraInfo": {"py_callstack": "Traceback ...",
     "timestamp": "1716890590"}}}

Event `exception` (message `Type: text`; fields exception, frames, errno where the
file has a code). In the older form `message` is the text itself, with the timestamp
beside it. The rank is that of the folder the file lies in. Format:
torch/distributed/elastic/multiprocessing/errors, 1.9 to 2.11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from forensics.model import Context, Event, Value
from forensics.text.frames import innermost
from forensics.text.lazy import lazy

_TYPE = lazy(r"(?P<type>[A-Za-z_][\w.]{0,200})(?:: |$)")
_MOST = 1 << 22
_LATEST = 4102444800.0  # 2100: a larger timestamp is not one


class TorchelasticError:
    """See the module's text."""

    speaker = "torchelastic"
    kinds = frozenset({"torchelastic-error"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield one event `exception`, or none where the file is torn or holds no message."""
        text = data[:_MOST].decode("utf-8", "replace")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(found, Mapping):
            return
        body = found.get("message")
        extra: Mapping[str, Any] = {}
        message = body
        if isinstance(body, Mapping):
            message = body.get("message")
            extra = body["extraInfo"] if isinstance(body.get("extraInfo"), Mapping) else {}
        if not isinstance(message, str):
            return
        stack = extra.get("py_callstack", found.get("py_callstack", ""))
        fields = _fields(message, stack if isinstance(stack, str) else "")
        code = body.get("errorCode") if isinstance(body, Mapping) else None
        if isinstance(code, int) and not isinstance(code, bool):
            fields["exit_code"] = code
        yield Event(
            speaker="torchelastic",
            kind="exception",
            path=context.source.path,
            line=1,
            end_line=text.rstrip("\n").count("\n") + 1,
            text=text.rstrip("\n"),
            message=message,
            time=_time(extra.get("timestamp", found.get("timestamp"))),
            rank=context.source.rank,
            host=context.source.host,
            fields=fields,
        )


def _fields(message: str, stack: str) -> dict[str, Value]:
    named = _TYPE.match(message)
    frames = stack.rstrip("\n").split("\n")
    closing = next((at for at in range(len(frames) - 1, -1, -1) if frames[at].startswith("  ")), len(frames) - 1)
    fields: dict[str, Value] = {"frames": "\n".join(frames[: closing + 1])}
    if named:
        fields["exception"] = named["type"]
    return fields | innermost(frames)


def _time(stamp: object) -> float | None:
    """Read seconds since the epoch, a number or its text."""
    if isinstance(stamp, bool) or not isinstance(stamp, (int, float, str)):
        return None
    try:
        seconds = float(stamp)
    except (ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < _LATEST else None


PARSER = TorchelasticError()
