"""An input's metadata, from the head and tail of its content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from msgspec.structs import replace

from forensics.model import Source, State
from forensics.sources.encoding import is_recoded
from forensics.sources.input import CHUNK, NUL_TAIL, Input
from forensics.sources.names import host_hint, rank_hint
from forensics.sources.sniff import HEAD, LINE_KINDS, LOG_KINDS, PROMPT, SKIPPED_KINDS, names_pane, sniff
from forensics.text import ansi
from forensics.text.damage import is_limit, pane_width, trailing_nuls
from forensics.text.lazy import lazy

AT_ONCE = 16 << 20
"""Packed streams up to this size are read through when found, larger ones when they are scanned."""

_PANE_LINES = 400
_CAPTURE_COMMAND = lazy(r"\bcapture-?p(?:ane)?\b(?!.{0,200} -\w*J)")


def describe_plain(made: Input, file: BinaryIO, head: bytes, size: int, data_end: int | None = None) -> None:
    """Describe a stream whose bytes are those of a file that can be sought.

    Args:
        made: the input; its `source` is replaced.
        file: the file, at any position.
        head: its first bytes.
        size: its size.
        data_end: where its data ends, if there is a hole behind it.
    """
    if is_recoded(head):
        made.measured = False  # its size is that of its text
        describe_stream(made, size)
        return
    end = size if data_end is None else data_end
    nuls = size - end
    tail = b""
    while end > 0:
        start = max(0, end - HEAD)
        file.seek(start)
        tail = file.read(end - start)
        here = trailing_nuls(tail)
        nuls += here
        if here < len(tail) or not tail:
            break
        end = start
    _fill(made, head, tail.rstrip(b"\0"), size, nuls)


def describe_stream(made: Input, stored: int, *, later: bool = False) -> None:
    """Describe a stream that has to be unpacked: all of it if small, else its head for now.

    Args:
        made: the input; its `source` is replaced.
        stored: how many bytes it takes where it is stored.
        later: read no more than its head, whatever its size.
    """
    head = made.read(HEAD)
    if later or stored > AT_ONCE:
        _fill(made, head, b"", max(stored, len(head)), 0)
        made.measured = False
        return
    tail = b""
    for piece in made.chunks(CHUNK):
        tail = (tail + piece)[-HEAD:]
    made.measured = True
    _fill(made, head, tail.rstrip(b"\0"), made.source.bytes, made.source.nul_bytes)


def _fill(made: Input, head: bytes, tail: bytes, size: int, nuls: int) -> None:
    source = made.source
    kind = sniff(source.path, head, tail, size)
    why, read = source.why, source.read
    if kind in SKIPPED_KINDS:
        read, why = "skipped", why or SKIPPED_KINDS[kind]
    state = _state(kind, size, nuls, tail, source)
    if state in {"torn", "cut"} and b"\r" in tail.rpartition(b"\n")[2]:
        why = why or REWRITTEN
    made.source = replace(
        source,
        kind=kind,
        bytes=size,
        nul_bytes=nuls if kind in LINE_KINDS else 0,
        state=state,
        read=read,
        why=why,
        rank=rank_hint(source.path),
        host=host_hint(source.path),
        pane_width=_width(kind, head, tail, named=names_pane(source.path)),
    )


REWRITTEN = "it stops inside a line that is rewritten by carriage returns"


def _state(kind: str, size: int, nuls: int, tail: bytes, source: Source) -> State:
    if size == 0 and source.state != "cut":
        return "empty"
    if source.state == "cut" or kind not in LINE_KINDS:
        return "cut" if source.state == "cut" else "whole"
    if nuls >= NUL_TAIL:
        return "nul-tail"
    if tail and not tail.endswith(b"\n"):
        return "cut" if is_limit(size) else "torn"
    return "whole"


def _width(kind: str, head: bytes, tail: bytes, *, named: bool) -> int | None:
    if kind == "transcript" and not named:
        return pane_width(_captured(_lines(head)), known=True) or pane_width(_captured(_lines(tail)), known=True)
    if kind not in LOG_KINDS and kind != "transcript":
        return None
    if kind not in {"tmux-capture", "transcript"}:
        return pane_width(_lines(head)[:_PANE_LINES])
    return pane_width(_lines(tail)[-_PANE_LINES:], known=True) or pane_width(_lines(head)[:_PANE_LINES], known=True)


def _captured(lines: Sequence[str]) -> Sequence[str]:
    """Return what `tmux capture-pane` printed in a session, where it did not join the lines itself."""
    shown: list[str] = []
    inside = False
    for line in lines:
        if PROMPT.match(line):
            inside = _CAPTURE_COMMAND.search(line) is not None
        elif inside and len(shown) < _PANE_LINES:
            shown.append(line)
    return shown


def _lines(data: bytes) -> list[str]:
    return ansi.strip(data.decode("utf-8", "replace").replace("\r", "\n")).split("\n")
