"""The structured log that torch.compile leaves in `$TORCH_TRACE`: the heads of its records.

    V1129 17:30:00.494000 2362 torch/_dynamo/utils.py:2009] {"compilation_metrics": {"fail_type": ...}, "frame_id": 3}
    <TAB>payload

Events, with fields function, where, reason, name, limit where the file has them:

- `recompile-limit`: dynamo gave the function up.
- `compile-failed` (exception, compiled_after: how many graphs were compiled later on): a backend refused a graph.
- `traced-break`: a graph break. Sound programs have them too.

File names are interned (`{"str": [name, number]}`) and the failing record may not name
its function, so both are kept by number. Format: torch/_logging/structured.py and
torch/_dynamo/utils.py, 2.3 to 2.13.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Context, Event, Value
from forensics.text.lazy import lazy
from forensics.text.timestamps import leading_time

_HEAD = lazy(r"V\d{4} \d\d:\d\d:\d\d\.\d{1,6} (?P<pid>\d{1,10}) \S{1,300}:\d{1,7}\] (?P<json>\{.*)")
_KINDS = ('"str"', '"dynamo_start"', '"compilation_metrics"', '"recompile_reasons"', '"dynamo_graph_break_reason"')
_RANK = lazy(r"torch_trace_rank_(?P<rank>\d{1,6})_")
_LIMIT = lazy(r"(?:exceeding the |Limit type: |hit config\.|^)(?P<name>\w*(?:recompile|cache_size)_limit)\b")
_NUMBER = lazy(r"currently set to (?P<limit>\d{1,9})|_limit \((?P<limit2>\d{1,9})\)")
_WHERE = lazy(r"Graph break in user code at (?P<where>\S{1,400})")
_WIDE = 1 << 20
"""Characters of a head that are read: a record of metrics holds the whole configuration of dynamo."""
_LATEST = 4102444800.0  # 2100: a larger time is not one
_MOST = 200
"""Events of one file: a loop that recompiles says the same thing for ever."""


class _Names(Struct):
    """What earlier records of the file said, for later ones that only give a number."""

    files: dict[int, str] = field(default_factory=dict)
    frames: dict[int, tuple[str, str]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


class TorchTrace:
    """See the module's text."""

    speaker = "dynamo"
    kinds = frozenset({"torch-trace"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield the events; a record that is torn or not JSON is passed over."""
        names = _Names()
        failed: list[Event] = []
        succeeded: list[int] = []
        told: list[Event] = []
        lines = data.decode("utf-8", "replace").split("\n")
        for at, line in enumerate(lines):
            head = _HEAD.match(line[:_WIDE]) if any(kind in line[:_WIDE] for kind in _KINDS) else None
            body = _object(head["json"]) if head else None
            if head is None or body is None:
                continue
            payload = _payload(lines[at + 1 : at + 3])
            event = replace(_blank(context, line, at + 1), pid=int(head["pid"]))
            metrics = body.get("compilation_metrics")
            if not isinstance(metrics, dict):
                told.extend(_learn(names, body, payload, event))
            elif not metrics.get("fail_type"):
                succeeded.append(at + 1)
            elif failure := _failure(names, body, metrics, event):
                (told if failure.kind == "recompile-limit" else failed).append(failure)
        for event in failed:
            after = sum(line > event.line for line in succeeded)
            told.append(replace(event, fields={**event.fields, "compiled_after": after}))
        yield from sorted(told, key=lambda e: e.line)[:_MOST]


def _blank(context: Context, line: str, number: int) -> Event:
    time, _ = leading_time(line[1:], year=context.default_year, utc_offset_s=context.utc_offset_s)
    if time is None:
        time, _ = leading_time(line, year=context.default_year, utc_offset_s=context.utc_offset_s)
    named = _RANK.search(context.source.path)
    rank = int(named["rank"]) if named else context.source.rank
    return Event("dynamo", "", context.source.path, number, line[:2000], end_line=number, time=time, rank=rank)


def _learn(names: _Names, body: dict[str, Any], payload: str, event: Event) -> Iterator[Event]:
    """Keep what a record tells about names; yield the event of a graph break."""
    frame = body.get("frame_id")
    number = frame if isinstance(frame, int) else -1
    artifact = body.get("artifact")
    kind = artifact.get("name") if isinstance(artifact, dict) else None
    match body:
        case {"str": [str(name), int(place)]}:
            names.files[place] = name
        case {"dynamo_start": {"stack": [*_, {"name": str(function), "filename": int(place), "line": int(line)}]}}:
            names.frames[number] = (function, f"{names.files.get(place, '?')}:{line}")
        case _ if kind == "recompile_reasons":
            names.reasons[number] = payload[:2000]
        case _ if kind == "dynamo_graph_break_reason":
            place_ = _WHERE.search(payload)
            fields: dict[str, Value] = {"where": place_["where"]} if place_ else {}
            yield replace(event, kind="traced-break", message=payload[:400], fields=fields)


def _failure(names: _Names, body: dict[str, Any], metrics: dict[str, Any], event: Event) -> Event | None:
    """Return what a failed compilation says; None where dynamo only left a part of a graph to Python."""
    failure, reason = str(metrics["fail_type"]), str(metrics.get("fail_reason") or "")
    frame = body.get("frame_id")
    function, where = names.frames.get(frame, ("", "")) if isinstance(frame, int) else ("", "")
    if isinstance(metrics.get("co_name"), str):
        function = metrics["co_name"]
        where = f"{metrics.get('co_filename')}:{metrics.get('co_firstlineno')}"
    fields: dict[str, Value] = {"function": function or None, "where": where or None}
    begun = metrics.get("start_time")
    event = replace(event, time=float(begun) if isinstance(begun, int | float) and 0 < begun < _LATEST else event.time)
    if limit := _LIMIT.search(reason):
        size = _NUMBER.search(reason)
        fields["name"] = limit["name"]
        fields["limit"] = int(size["limit"] or size["limit2"]) if size else None
        fields["reason"] = names.reasons.get(frame) if isinstance(frame, int) else None
        known = {name: value for name, value in fields.items() if value is not None}
        return replace(event, kind="recompile-limit", message=reason[:2000], fields=known)
    if failure.endswith(("Unsupported", "UserError", "SkipFrame", "RestartAnalysis", "UncapturedHigherOrderOpError")):
        return None
    known = {name: value for name, value in fields.items() if value is not None}
    return replace(
        event, kind="compile-failed", message=f"{failure}: {reason[:4000]}", fields={**known, "exception": failure}
    )


def _payload(lines: list[str]) -> str:
    """Return the first line of what belongs to a head; the first item, where that is a list in JSON."""
    first, second = ([line.removeprefix("\t") for line in lines if line.startswith("\t")] + ["", ""])[:2]
    return second.strip().strip('",').split("\\n")[0] if first == "[" else first


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


PARSER = TorchTrace()
