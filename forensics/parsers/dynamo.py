"""torch.compile's voice in a log: recompile limits and graph breaks.

    W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8] torch._dynamo hit config.recompile_limit (8)
    W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8]    function: 'f' (/train.py:72)

Events: `recompile-limit` (fields limit, name, function, where, reason), `graph-break`.
What is raised instead of logged is an exception's voice. Source: torch/_dynamo/convert_frame.py
and symbolic_convert.py, 2.0 to 2.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_LIMIT = lazy(r"torch\._dynamo hit config\.(?P<name>\w+) \((?P<limit>\d{1,18})\)")
_FUNCTION = lazy(r"function: '(?P<function>[^']{1,300})' \((?P<where>[^)]{1,400})\)")
_REASON = lazy(r"(?:last reason|reasons): +(?P<reason>.{1,2000})")
_BREAK = lazy(
    r"Graph [Bb]reak(?:(?: \(user stack suppressed[^)]{0,80}\))? in user code at (?P<where>\S{1,400})"
    r"| Reason: (?P<reason>.{1,1000})|: (?P<reason2>.{1,1000}?) from user code at "
    r"| from (?P<reason3>`[^`]{1,200}`), consider setting:)"
)


class Dynamo:
    """See the module's text."""

    speaker = "dynamo"
    triggers = ("torch._dynamo hit config.", "Graph break", "Graph Break Reason")
    follow = 4
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events; the lines that explain a limit are folded into it."""
        open_: Event | None = None
        for record in records:
            if limit := _LIMIT.search(record.text):
                if open_:
                    yield open_
                fields: dict[str, Value] = {"limit": int(limit["limit"]), "name": limit["name"]}
                open_ = quote("dynamo", "recompile-limit", [record], context, fields)
            elif open_ and not record.line.gap and (more := _more(record.text)):
                open_ = replace(
                    open_,
                    end_line=record.line.end,
                    text=f"{open_.text}\n{record.raw}",
                    fields={**open_.fields, **more},
                )
            else:
                if open_:
                    yield open_
                    open_ = None
                if found := _BREAK.search(record.text):
                    reason = found["reason"] or found["reason2"] or found["reason3"]
                    yield quote("dynamo", "graph-break", [record], context, {"where": found["where"], "reason": reason})
        if open_:
            yield open_


def _more(text: str) -> dict[str, Value]:
    for pattern in (_FUNCTION, _REASON):
        if found := pattern.search(text):
            return dict(found.groupdict())
    return {}


PARSER = Dynamo()
