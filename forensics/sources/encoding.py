"""UTF-16 and UTF-32 to UTF-8, as a stream. Everything else passes through as it is.

PowerShell's `>` writes UTF-16, so logs of Windows machines come with two bytes a
character; the scan reads bytes and expects ASCII to be ASCII.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_SAMPLE = 512


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
    """Yield a stream as UTF-8, without its byte order mark."""
    first = next(blocks, b"")
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
