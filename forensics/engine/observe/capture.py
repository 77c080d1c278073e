"""The capture is a suspect too: what is missing, empty, torn, padded or only a window."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics import timeline
from forensics.engine.outcome import outcome
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event, Evidence, Expected, Source, Value
from forensics.text.lazy import lazy

_LOG_NAME = lazy(r"(?:log|out|err|txt|stdout|stderr)(?:\.\w+)?$|log", re.IGNORECASE)
_PROGRAM = frozenset({"exception", "c10d", "torchrun", "device", "progress", "dynamo", "nccl"})
"""Speakers whose words prove that a file holds what the program said."""
_PLACEHOLDER = lazy(r"%[a-zA-Z]|\$\{?\w+\}?|\$\(.*\)")


def observe(seen: Seen) -> Iterator[Event]:
    """Fill `seen.expected`, then yield `missing`, `empty`, `nul-tail`, `torn`, `cut`, `window` and `masked`."""
    seen.expected.extend(expected(seen))
    yield from _missing(seen)
    for source in seen.sources:
        if source.kind in LOG_KINDS and seen.is_current(source.path):
            yield from _damage(seen, source)
    yield from _windows(seen)
    yield from _masked(seen)


def expected(seen: Seen) -> list[Expected]:
    """Return the files that the launch promised, each with whether it is here."""
    found: dict[str, Expected] = {}
    for event in seen.said("launch", "promise"):
        path = str(event.fields.get("missing_path", ""))
        if not path or path in found or not _LOG_NAME.search(path):
            continue
        present = _present(path, seen.sources)
        state = "missing" if present is None else ("empty" if present.state == "empty" else "present")
        promise = Evidence(event.path, event.line, event.end_line, event.text)
        found[path] = Expected(path, state, promise, None if present else _nearest(path, seen.sources))  # type: ignore[arg-type]
    return list(found.values())


def _present(path: str, sources: list[Source]) -> Source | None:
    name = path.rsplit("/", 1)[-1]
    pattern = lazy(".*".join(map(re.escape, _PLACEHOLDER.split(name))) + r"(?:\.(?:gz|zst|xz|bz2|\d+))*$")
    return next((s for s in sources if pattern.fullmatch(s.path.rsplit("/", 1)[-1].rsplit("!", 1)[-1])), None)


def _nearest(path: str, sources: list[Source]) -> str | None:
    """Return the newest sibling: the same name but for its last word or number."""
    name = path.rsplit("/", 1)[-1]
    stem, _, suffix = name.rpartition(".")
    best, length = None, 0
    for source in sources:
        other = source.path.rsplit("/", 1)[-1]
        if not other.endswith(f".{suffix}") or source.kind not in LOG_KINDS:
            continue
        shared = next(
            (i for i, (a, b) in enumerate(zip(stem, other, strict=False)) if a != b), min(len(stem), len(other))
        )
        if shared >= max(4, 0.6 * len(stem)) and shared >= length:
            best, length = source.path, shared
    return best


def _missing(seen: Seen) -> Iterator[Event]:
    gone = [e for e in seen.expected if e.state == "missing"]
    # The log of this try was never written, so every log that has its name's stem is of an earlier one.
    seen.older |= {s.path for s in seen.sources if s.kind in LOG_KINDS and any(_stem(e.path, s) for e in gone)}
    speaking = {s.path for s in seen.steps} | {e.path for e in seen.events if e.speaker in _PROGRAM}
    silent = not any(log.path in speaking for log in seen.logs())
    for item in gone:
        name = item.path.rsplit("/", 1)[-1]
        looked_for = [e for e in seen.said("shell", "no-such-file") if _name(e) == name]
        if not (silent or item.nearest or looked_for):
            continue
        place = item.promised_by
        fields: dict[str, Value] = {"missing_path": item.path, **_session(seen, place.path)}
        if item.nearest:
            fields["last_existing_log"] = item.nearest
        yield Event(
            speaker="observed",
            kind="missing-here" if outcome(seen).good else "missing",
            path=place.path,
            line=place.line,
            end_line=place.end_line,
            text=place.text,
            message=f"{item.path} was promised here and does not exist",
            fields=fields,
            also=tuple(Evidence(e.path, e.line, e.end_line, e.text) for e in looked_for[:1]),
        )


def _name(event: Event) -> str:
    return str(event.fields.get("missing_path") or "").rsplit("/", 1)[-1]


def _session(seen: Seen, path: str) -> dict[str, Value]:
    return next(({"session": e.fields["session"]} for e in seen.said("launch", "session") if e.path == path), {})


def _stem(path: str, source: Source) -> bool:
    return _nearest(path, [source]) is not None


def _damage(seen: Seen, source: Source) -> Iterator[Event]:
    steps = [s for s in seen.steps if s.path == source.path and s.series == "train"]
    fields: dict[str, Value] = {"last_step": timeline.last_step(steps)}
    tail = seen.tails.get(source.path, ())
    last = next((line for line in reversed(tail) if line.text.strip("\x00 ")), None)
    text = (last.text if last else "").replace("\x00", "")[-400:]
    if source.state == "empty":
        yield _event(source, "empty", "the file holds nothing", {}, "")
    elif source.state == "nul-tail":
        fields["nul_bytes"] = source.nul_bytes
        yield _event(source, "nul-tail", f"ends in {source.nul_bytes} NUL bytes", fields, text)
    elif source.state in {"torn", "cut"}:
        message = "the last line has no end" if source.state == "torn" else "the file ends at a block's end, in a line"
        yield _event(source, source.state, message, fields, text)


def _event(source: Source, kind: str, message: str, fields: dict[str, Value], text: str) -> Event:
    return Event(
        speaker="observed",
        kind=kind,
        path=source.path,
        line=source.lines,
        end_line=source.lines,
        text=text,
        message=message,
        time=source.ended,
        fields={k: v for k, v in fields.items() if v is not None},
    )


def _windows(seen: Seen) -> Iterator[Event]:
    """A log of exactly N lines behind `| tail -N` shows the last N lines of something longer."""
    for event in seen.said("launch", "tail-window"):
        count = event.fields.get("tail_lines")
        if not isinstance(count, int):
            continue
        full = next((s for s in seen.logs() if s.lines == count), None)
        if full is None:
            continue
        yield Event(
            speaker="observed",
            kind="window",
            path=event.path,
            line=event.line,
            end_line=event.end_line,
            text=event.text,
            message=f"{full.path} holds exactly the last {count} lines",
            fields={"tail_lines": count},
            also=(Evidence(full.path, 1, 1, ""),),
        )


def _masked(seen: Seen) -> Iterator[Event]:
    """Status 0 of a pipeline whose first member may have failed."""
    zero = next((e for e in seen.said("status", "exit") if e.fields.get("exit_code") == 0), None)
    pipe = next(seen.said("launch", "masked-status"), None)
    raised = next((e for e in seen.said("exception", "exception", "bare") if seen.is_current(e.path)), None)
    if zero and pipe and raised:
        yield Event(
            speaker="observed",
            kind="masked",
            path=pipe.path,
            line=pipe.line,
            end_line=pipe.end_line,
            text=pipe.text,
            message="the status is that of the last command of the pipeline",
            fields={"exit_code": 0},
            also=(Evidence(zero.path, zero.line, zero.end_line, zero.text),),
        )
