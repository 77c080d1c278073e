r"""UTF-16 and UTF-32 to UTF-8, and what docker keeps of a container to its text, as a stream.

PowerShell's `>` writes UTF-16, so logs of Windows machines come with two bytes a
character; the scan reads bytes and expects ASCII to be ASCII. Docker's driver `json-file`
escapes quotes and all that is no ASCII in lines of its own, one for each of the program's:

    {"log":"  File \"train.py\", line 3\n","stream":"stderr","time":"2025-03-03T10:00:00.123456789Z"}

They become the program's lines behind their times, as `docker logs --timestamps` prints them.
Everything else passes through as it is. Source: moby daemon/logger/jsonfilelog.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import chain

import msgspec

from forensics.text.lazy import lazy_bytes

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_SAMPLE = 512
_KEPT = lazy_bytes(
    rb'\{"log":"(?:[^"\\\n]|\\.)*+",(?:"stream":"std(?:out|err)",|"attrs":\{[^{}\n]*\},)+'
    rb'"time":"20\d\d-[^"\n]{6,40}"\}\s*'
)


class _Kept(msgspec.Struct):
    """A line as docker's driver `json-file` keeps it."""

    log: str
    time: str


def is_recoded(head: bytes) -> bool:
    """Tell whether the text of a stream that begins so has other bytes than those that are stored."""
    return wide_encoding(head) is not None or _is_kept_by_docker(head)


def _is_kept_by_docker(head: bytes) -> bool:
    """Tell whether each of the first lines is one that docker keeps of a container."""
    if not head.startswith(b'{"log":"'):
        return False
    lines = head.split(b"\n", 6)
    whole = lines[:-1] or lines
    return all(_KEPT.fullmatch(line) is not None for line in whole)


def wide_encoding(head: bytes) -> tuple[str, int] | None:
    """Tell the encoding that a stream's first bytes announce, and the length of its mark.

    Without a mark, text counts as UTF-16 where every other byte of a whole sample is
    NUL and the rest is printable ASCII; runs of NUL bytes alone are damage, not text.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    sample = head[: len(head) & ~1][:_SAMPLE]
    for name, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        text = sample[low::2]
        if len(text) > 8 and not any(sample[high::2]) and all(32 <= c < 127 or c in b"\t\r\n" for c in text):
            return name, 0
    return None


def transcode(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a stream as UTF-8, without its byte order mark, and a container's log as its text."""
    first = next(blocks, b"")
    if _is_kept_by_docker(first):
        yield from _said(first, blocks)
        return
    found = wide_encoding(first)
    if found is None:
        yield first
        yield from blocks
        return
    name, mark = found
    if name == "utf-8":
        yield first[mark:]
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    yield decoder.decode(first[mark:]).encode("utf-8", "replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _said(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what a container said behind its times; a line that does not parse, as a torn one, stays as it is."""
    decode = msgspec.json.Decoder(_Kept).decode
    rest = b""
    for block in chain((first,), blocks):
        *lines, rest = (rest + block).split(b"\n")
        yield b"".join(_line(line, decode) + b"\n" for line in lines)
    if rest:
        yield _line(rest, decode)


def _line(line: bytes, decode: Callable[[bytes], _Kept]) -> bytes:
    try:
        kept = decode(line)
    except msgspec.MsgspecError:
        return line
    text = " ".join(kept.log.rstrip("\n").split("\n"))
    return f"{kept.time} {text}".encode("utf-8", "replace")
