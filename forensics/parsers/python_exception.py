"""CPython's voice when something raises: tracebacks, chains, bare last lines, C++ terminations.

    Traceback (most recent call last):
      File "train.py", line 12, in <module>
        step(batch)
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. ...

Events: `exception` (the one that escaped), `context` (an earlier link of its chain),
`wrapper` and `inner` (DataLoader and replica workers re-raise with the original
traceback inside), `bare` (a last line without its traceback, as a tail shows it), `ignored`
(the interpreter says itself that it goes on: only that is its message) and `cpp`
(`terminate called`). Formats: CPython Lib/traceback.py, torch/_utils.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from forensics.model import Context, Event, Record, Value
from forensics.text.frames import innermost
from forensics.text.lazy import lazy

HEADER = "Traceback (most recent call last)"
_TYPE = r"(?:[A-Za-z_]\w*(?:\.|::))*[A-Z_]\w*"
_CLOSING = lazy(rf"(?P<type>{_TYPE})(?:: ?(?P<text>.*))?$", re.DOTALL)
_BARE = lazy(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*(?:[A-Z_]\w*(?:Error|Exception|Interrupt|Failed|Failure|Timeout|Exit|Hit)"
    r"|Unsupported|OutOfResources))"
    r"(?:: (?P<text>.*))?$"
)
_THREAD = lazy(r"Exception in thread (?P<name>[^:]{1,80}):")
_IGNORED = "Exception ignored "
_CRASHED = lazy(r"\b(?:crash|died|dead|fail|exception|error)", re.IGNORECASE)
_CHAIN = {
    "During handling of the above exception, another exception occurred:": "during",
    "The above exception was the direct cause of the following exception:": "cause",
}
# A progress bar has no line end, so the last line of a traceback may stand right behind one.
_GLUED = lazy(rf"(?:it/s|s/it|\])[^\w]{{0,4}}(?P<message>(?P<type>{_TYPE}(?:Error|Exception|Interrupt))(?:: .*)?)$")
_WHAT = lazy(r"\s*what\(\): {0,2}(?P<text>.*)")
_THROWN = lazy(r"terminate called after throwing an instance of '(?P<type>[^']{1,200})'")
# An appended log goes on with the next command or with progress, which is no part of the message.
_NEXT = lazy(
    r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,60}@[\w.-]{1,60}[: ][^$#%]{0,120})?[$#%] \S"
    r"|.{0,200}?(?:\b(?:step|epoch|iter(?:ation)?)\b\W{0,4}\d.{0,200}\b\w{0,40}loss\b|\d%\|)",
    re.IGNORECASE,
)
_BANNER = lazy(r"[=\-*]{8,}$")
_QUOTES = " raised:"
"""Ends a first line whose next one quotes the inner exception: `BackendCompilerFailed: backend='inductor' raised:`."""
_MESSAGE_LINES = 30
_FRAME_LINES = 240
_STRAY_LINES = 60
_FRAME_CHARACTERS = 20_000
_CALM = frozenset({"debug", "info", "warning"})

Key: TypeAlias = tuple[int | None, str | None]
_NOBODY: Key = (None, None)


@dataclass(slots=True)
class _Block:
    """One traceback with the message that ends it, or a message alone."""

    first: Record
    lane: str | None
    link: str = ""
    original: bool = False
    ignored: str = ""
    frames: list[str] = field(default_factory=list)
    message: list[Record] = field(default_factory=list)
    type: str = ""
    stray: int = 0


class PythonException:
    """See the module's text."""

    speaker = "exception"
    triggers = (
        HEADER,
        '  File "',
        "terminate called after",
        "Exception in thread",
        _IGNORED,
        "] crashed",
        "Error: ",
        "Exception: ",
        "KeyboardInterrupt",
        "The above exception was the direct",
        "During handling of the above",
    )
    follow = 8

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield events in the order of their lines."""
        blocks, events = _read(records, context.source.path)
        for same in blocks.values():
            events.extend(_label(same, context.source.path))
        yield from sorted(events, key=lambda e: (e.line, e.column))


def _read(records: Iterable[Record], path: str) -> tuple[dict[Key, list[_Block]], list[Event]]:
    """Collect the blocks of each stream (rank and thread), and what C++ said."""
    blocks: dict[Key, list[_Block]] = defaultdict(list)
    open_: dict[Key, _Block] = {}
    link: dict[Key, str] = {}
    said: list[Event] = []
    crashed: tuple[str | None, int] = (None, -9)
    thrown: Record | None = None
    ignored: tuple[str, int] = "", -9
    last: tuple[Key, int] = _NOBODY, -9
    for record in records:
        key, text = (record.rank, record.lane), record.text
        if record.line.gap:
            open_.clear()
        if key == _NOBODY and key not in open_ and record.line.number - last[1] <= 1:
            key = last[0]  # a logger's prefix stands before the header only
        if thread := _THREAD.match(text):
            crashed = thread["name"], record.line.number
        elif record.lane and _CRASHED.search(text):
            crashed = record.lane, record.line.number
        elif text.startswith(_IGNORED):
            ignored = text, record.line.number
        if thrown is not None and (what := _WHAT.match(text)):
            said.append(_cpp(thrown, record, what["text"], path))
            thrown = None
        elif _THROWN.search(text):
            thrown = record
        elif text.strip() in _CHAIN:
            open_.pop(key, None)
            link[key] = _CHAIN[text.strip()]
        elif HEADER in text:
            near = 0 <= record.line.number - crashed[1] <= 1
            block = _Block(record, record.lane or (crashed[0] if near else None), link.pop(key, ""))
            block.ignored = ignored[0] if 0 <= record.line.number - ignored[1] <= 1 else ""
            block.original = "Original " + HEADER in text
            open_[key] = block
            blocks[key].append(block)
        elif not (key in open_ and _continues(open_[key], record)):
            open_.pop(key, None)
            if record.level not in _CALM and (bare := _BARE.match(text)):
                open_[key] = _Block(record, record.lane, message=[record], type=bare["type"])
                blocks[key].append(open_[key])
        if key in open_:
            last = key, record.line.number
    return blocks, said


def _continues(block: _Block, record: Record) -> bool:
    """Feed a record to an open block; return whether the block is still open."""
    text = record.text
    if block.message:
        if (
            not text.strip()
            or (record.time is not None and not (_stamped(block) and text[0] in " \t"))
            or record.level is not None
            or _BANNER.match(text)
            or _NEXT.match(text)
            or text.startswith("Pane is dead")
            or (_BARE.match(text) and not block.message[-1].text.endswith(_QUOTES))
            or len(block.message) >= _MESSAGE_LINES
            # Without a traceback above nothing says that the next line belongs to the message.
            or (not block.frames and text[0] not in " \t" and not block.message[-1].text.endswith(_QUOTES))
        ):
            return False
        block.message.append(record)
        return True
    if glued := _GLUED.search(text):
        block.type = glued["type"]
        block.message.append(replace(record, text=glued["message"]))
        return True
    if not text or text[0] in " \t│╭╰|":
        block.frames.append(text)
        if len(block.frames) > _FRAME_LINES:
            # The first and the last frames tell most: recursion repeats the middle.
            block.frames[_FRAME_LINES // 2 : _FRAME_LINES // 2 + 2] = ["  ..."]
        return True
    closing = _CLOSING.match(text)
    if closing and (record.time is None or _stamped(block) or _BARE.match(text)):
        block.type = closing["type"]
        block.message.append(record)
        return True
    # Another thread's output between two frames: skip it, but not for ever.
    block.stray += 1
    return block.stray <= _STRAY_LINES


def _stamped(block: _Block) -> bool:
    """Return whether each line of this traceback carries a time: a collector stamped them, and a time ends nothing."""
    return block.first.time is not None


def _label(blocks: list[_Block], path: str) -> Iterator[Event]:
    """Say of each block of one stream whether it escaped, was handled, or wraps another."""
    kinds = ["bare" if b.message and b.first is b.message[0] else "exception" for b in blocks]
    decisive = len(blocks) - 1
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        following = blocks[index + 1].link if index + 1 < len(blocks) else ""
        if not following:
            decisive = index
        elif following == "cause":
            kinds[decisive], decisive = "context", index
        else:
            kinds[index] = "context"
        if not block.message:
            kinds[index] = "cut"
        if block.ignored:
            kinds[index] = "ignored"
        if block.original and index:
            kinds[index - 1], kinds[index] = "wrapper", "inner"
    events = [_event(b, kind, path) for b, kind in zip(blocks, kinds, strict=True)]
    for index, event in enumerate(events):
        if event.kind == "wrapper":
            inner = events[index + 1]
            yield replace(
                event,
                end_line=max(event.end_line, inner.end_line),
                message=f"{event.message}\n{inner.message}",
                text=f"{event.text}\n{inner.text}",
                fields={**event.fields, "frames": f"{event.fields['frames']}\n{inner.fields['frames']}"},
            )
        else:
            yield event


def _event(block: _Block, kind: str, path: str) -> Event:
    decisive = block.message[0] if block.message else block.first
    last = block.message[-1] if block.message else block.first
    frames = [] if block.ignored else block.frames
    fields: dict[str, Value] = {
        "exception": block.type,
        "from_line": block.first.line.number,
        "frames": "\n".join(frames)[-_FRAME_CHARACTERS:],
        **innermost(frames),
    }
    return Event(
        speaker="exception",
        kind=kind,
        path=path,
        line=decisive.line.number,
        end_line=max(last.line.end, last.line.number),
        column=decisive.line.column,
        text="\n".join(r.raw for r in block.message) or block.first.raw,
        message=block.ignored or "\n".join(r.text for r in block.message) or block.first.text,
        time=block.first.time if decisive.time is None else decisive.time,
        rank=block.first.rank,
        lane=block.lane,
        host=block.first.host,
        pid=block.first.pid,
        fields=fields,
    )


def _cpp(thrown: Record, what: Record, text: str, path: str) -> Event:
    found = _THROWN.search(thrown.text)
    kind = found["type"] if found else ""
    return Event(
        speaker="exception",
        kind="cpp",
        path=path,
        line=what.line.number,
        end_line=what.line.end,
        text=what.raw,
        message=f"{kind}: {text}",
        rank=thrown.rank if what.rank is None else what.rank,
        lane=thrown.lane,
        host=thrown.host,
        pid=thrown.pid,
        fields={"exception": kind, "frames": ""},
    )


PARSER = PythonException()
