"""CPython's voice when something raises: tracebacks, chains, bare last lines, C++ terminations.

    Traceback (most recent call last):
      File "train.py", line 12, in <module>
        step(batch)
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. ...

Events: `exception` (the one that escaped), `context` (an earlier link of its chain),
`wrapper` and `inner` (DataLoader and replica workers re-raise with the original
traceback inside), `bare` (a last line without its traceback, as a tail shows it), `ignored`
(the interpreter says itself that it goes on: only that is its message) and `cpp`
(`terminate called`). Of an exception group the members are told, each for itself, and
the group is their `context`. Formats: CPython Lib/traceback.py, torch/_utils.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.parsers.python_exception import asides
from forensics.parsers.python_exception.wrapping import DURING, HEADER, QUOTED, bared, unframed
from forensics.text.frames import innermost
from forensics.text.lazy import lazy

_TYPE = r"(?:(?:[A-Za-z_]\w*(?:\.|::))*[A-Z_]\w*|(?:[a-z_]\w*\.){1,8}(?:\w{0,20}error|timeout))"
"""A class, with its module; some that are written in C have a small letter: `cv2.error`, `socket.gaierror`."""
_CLOSING = lazy(rf"(?P<type>{_TYPE})(?:: ?(?P<text>.*))?$", re.DOTALL)
_BARE = lazy(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*(?:[A-Z_]\w*(?:Error|Exception|Interrupt|Failed|Failure|Timeout|Exit|Hit)"
    r"|Exception|Unsupported|OutOfResources))"
    r"(?:: (?P<text>.*))?$"
)
_THREAD = lazy(r"Exception in thread (?P<name>[^:]{1,80}):")
_SPAWNED = lazy(r"-- Process (?P<rank>\d{1,4}) terminated with the following error:\s*$")
"""What torch.multiprocessing.spawn puts before the traceback of the process that failed first."""
_CPP_WITHIN = 4
"""Lines from an exception without words to the header of the C++ part that Paddle prints below it."""
_CRASHED = lazy(r"\b(?:crash|died|dead|fail|exception|error)", re.IGNORECASE)
_PACKAGE = lazy(r"(?:site|dist)-packages[/\\](?P<name>\w{1,80})")
_CHAIN = {
    DURING: "during",
    "The above exception was the direct cause of the following exception:": "cause",
}
# A progress bar has no line end, so the last line of a traceback may stand right behind one.
_GLUED = lazy(
    rf"(?:it/s|s/it|\])[^\w]{{0,4}}(?P<message>(?P<type>{_TYPE}(?:Error|Exception|Interrupt)|Exception)(?:: .*)?)$"
)
_WHAT = lazy(r"\s*what\(\): {0,2}(?P<text>.*)")
_THROWN = lazy(r"terminate called after throwing an instance of '(?P<type>[^']{1,200})'")
# An appended log goes on with the next command or with progress, which is no part of the message.
_NEXT = lazy(
    r"(?:\([\w.-]{1,40}\) ?)?(?:\[?[\w.-]{1,60}@[\w.-]{1,60}[: ][^$#%]{0,120}[$#%](?: |$)|[$#%] \S)"
    r"|.{0,200}?(?:\b(?:step|epoch|iter(?:ation)?)\b\W{0,4}\d.{0,200}\b\w{0,40}loss\b|\d%\|)",
    re.IGNORECASE,
)
_BANNER = lazy(r"[=\-*]{8,}$|[=#]{4,} \S")
_OTHERS = ("Pane is dead", "=>> PBS: ", ">>> PBS: ", "slurmstepd: ", "srun: ")
"""How what is no program's own line begins: the words of a multiplexer and of batch systems."""
_QUOTES = " raised:"
"""Ends a first line whose next one quotes the inner exception: `BackendCompilerFailed: backend='inductor' raised:`."""
_GOES_ON = " \t,;)]}"
"""How a line begins that belongs to the one above it, though both have a stamp."""
_MESSAGE_LINES = 30
_FRAME_LINES = 240
_STRAY_LINES = 60
_FRAME_CHARACTERS = 20_000
_CALM = frozenset({"debug", "info", "warning"})

Key: TypeAlias = tuple[int | None, str | None]
_NOBODY: Key = (None, None)


class _Block(Struct):
    """One traceback with the message that ends it, or a message alone."""

    first: Record
    lane: str | None
    link: str = ""
    original: bool = False
    ignored: str = ""
    without: str = ""
    spawned: int | None = None
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
        "-- Process ",
        *asides.TRIGGERS,
        "] crashed",
        "Error: ",
        "Exception: ",
        "KeyboardInterrupt",
        "The above exception was the direct",
        "During handling of the above",
    )
    follow = 8
    hears: Hears = "blocks"

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
    aside = asides.NONE
    spawned: tuple[int | None, int] = None, -9
    last: tuple[Key, int] = _NOBODY, -9
    for record in unframed(bared(records)):
        key, text = (record.rank, record.lane), record.text
        if record.line.gap:
            open_.clear()
        if key == _NOBODY and key not in open_ and record.line.number - last[1] <= 1:
            key = last[0]  # a logger's prefix stands before the header only
        spawned = _announced(record, spawned)
        if thread := _THREAD.match(text):
            crashed = thread["name"], record.line.number
        elif record.lane and _CRASHED.search(text):
            crashed = record.lane, record.line.number
        aside = asides.read(record) or aside
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
            beside = abs(record.line.number - aside.line) <= 1
            block.without = aside.text if beside and aside.without else ""
            block.ignored = asides.told(record, aside if beside else None) or _told_before(block, blocks[key])
            block.spawned = spawned[0] if 0 < record.line.number - spawned[1] <= 1 else None
            block.original = "Original " + HEADER in text
            _yield_to_cpp(blocks[key], record)
            open_[key] = block
            blocks[key].append(block)
        elif not (key in open_ and _continues(open_[key], record)):
            open_.pop(key, None)
            if record.level not in _CALM and (bare := _BARE.match(text)):
                told = asides.told(record, aside) if record.line.number - aside.line == 1 else ""
                block = _Block(
                    record, record.lane, link.pop(key, ""), ignored=told, message=[record], type=bare["type"]
                )
                open_[key] = block
                blocks[key].append(block)
        if key in open_:
            last = key, record.line.number
    _survive([block for same in blocks.values() for block in same])
    return blocks, said


def _survive(blocks: Sequence[_Block]) -> None:
    """Take as only told what a library went on without, if what ended the program came later and from elsewhere.

    Where nothing came later, or the same library fails again, the first failure may well be the cause.
    """
    for block in blocks:
        found = _PACKAGE.search("\n".join(block.frames)) if block.without else None
        if found and any(
            later.first.line.number > block.first.line.number
            and later.message
            and not (later.without or later.ignored)
            and f"packages/{found['name']}" not in "\n".join(later.frames).replace("\\", "/")
            for later in blocks
        ):
            block.ignored = block.without


def _announced(record: Record, before: tuple[int | None, int]) -> tuple[int | None, int]:
    """Return which child the parent announces, and the line; what was announced before, where it announces none."""
    child = _SPAWNED.match(record.text) if record.text.startswith("-- Process ") else None
    return (int(child["rank"]), record.line.number) if child else before


def _yield_to_cpp(earlier: list[_Block], header: Record) -> None:
    """Leave it to Paddle's C++ part to say what happened, where the exception in Python's has a name and no words."""
    said = earlier[-1].message[:1] if earlier and header.text.startswith("C++ Traceback") else []
    near = bool(said) and header.line.number - said[0].line.number <= _CPP_WITHIN
    if near and not said[0].text.partition(":")[2].strip():
        earlier[-1].ignored = header.text


def _told_before(block: _Block, earlier: list[_Block]) -> str:
    """Return the words by which the traceback that this one is chained to was only told."""
    return earlier[-1].ignored if block.link and earlier else ""


def _continues(block: _Block, record: Record) -> bool:
    """Feed a record to an open block; return whether the block is still open."""
    text = record.text
    same = record.level is not None and record.level == block.first.level  # a level before each line
    if block.message:
        quoted = block.message[-1].text.endswith(_QUOTES)
        if (
            not text.strip()
            or (record.time is not None and not (_stamped(block) and (quoted or text[0] in _GOES_ON)))
            or (record.level is not None and not (quoted and same))
            or _BANNER.match(text)
            or _NEXT.match(text)
            or text.startswith(_OTHERS)
            or (_BARE.match(text) and not quoted)
            or len(block.message) >= _MESSAGE_LINES
            # Without a traceback above nothing says that the next line belongs to the message.
            or (not block.frames and text[0] not in " \t" and not quoted)
        ):
            return False
        block.message.append(record)
        return True
    if glued := _GLUED.search(text):
        block.type = glued["type"]
        block.message.append(replace(record, text=glued["message"]))
        return True
    if shift := _shift(block, text):
        text = text[shift:]
        record = replace(record, text=text)
    closing = _CLOSING.match(text)
    if not text or text[0] in " \t│╭╰|" or (same and not closing):
        block.frames.append(_indented(text) if same else text)
        if len(block.frames) > _FRAME_LINES:
            # The first and the last frames tell most: recursion repeats the middle.
            block.frames[_FRAME_LINES // 2 : _FRAME_LINES // 2 + 2] = ["  ..."]
        return True
    if closing and (record.time is None or _stamped(block) or _BARE.match(text)):
        block.type = closing["type"]
        block.message.append(record)
        return True
    # Another thread's output between two frames: skip it, but not for ever.
    block.stray += 1
    return block.stray <= _STRAY_LINES


def _shift(block: _Block, text: str) -> int:
    """Return by how much a whole traceback is indented, where a line ends it: it stands two blanks left of its frames.

    Ray puts the traceback of a worker into the message of its own exception.
    """
    at = len(text) - len(text.lstrip(" "))
    if at and block.frames and _BARE.match(text, at):
        frame = next((line for line in reversed(block.frames) if line.lstrip(" ").startswith('File "')), "")
        if len(frame) - len(frame.lstrip(" ")) == at + 2:
            return at
    return 0


def _indented(text: str) -> str:
    """Return a line of a frame with the blanks that were taken for those behind a level."""
    return text if text[:1] in {" ", "\t", ""} else f"  {text}" if text.startswith('File "') else f"    {text}"


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
        if block.original and index:
            kinds[index - 1], kinds[index] = "wrapper", "inner"
    kinds = ["ignored" if b.ignored else kind for b, kind in zip(blocks, kinds, strict=True)]
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
        message=block.ignored or _unwrapped(block) or block.first.text,
        time=block.first.time if decisive.time is None else decisive.time,
        rank=block.spawned if block.first.rank is None else block.first.rank,
        lane=None if block.lane == QUOTED else block.lane,
        host=block.first.host,
        pid=block.first.pid,
        fields=fields,
    )


def _unwrapped(block: _Block) -> str:
    """Return the message; where rich drew the traceback, it also broke the message at the width of the terminal."""
    lines = [r.text for r in block.message]
    if "╭" not in block.first.text or len(lines) < 2:
        return "\n".join(lines)
    width = max(len(line.rstrip()) for line in lines)
    said = last = lines[0].rstrip()
    for line in lines[1:]:
        # A word that would have fitted into the line above was put below it by the program.
        fitted = len(last) + 1 + len(line.split(" ", 1)[0]) <= width
        said += f"\n{line}" if fitted else f" {line}"
        said, last = said.rstrip(), line.rstrip()
    return said


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
