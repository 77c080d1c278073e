r"""Rows: what the viewer shows of a source, one below the other, found from a byte offset.

A row is a line; or, where records that `\r` had overwritten are unfolded, one of those; or a line
that a filter has chosen. Of a row at most `SHOWN` bytes are read, however long it is.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal

from forensics.sources.pages import Pages

SHOWN = 1 << 16
"""Bytes of a row that are shown."""
RECORD_TAIL = 1 << 13
"""Bytes at the end of a long line in which its last record is looked for."""
FAR = 1 << 20
_END = re.compile(rb"[\r\n]")


@dataclass(frozen=True, slots=True)
class Row:
    r"""One row.

    `offset` is where it begins and `end` where it ends, without its line end; None while that is
    not known. `number` is that of its line, None while the index does not reach it. `records` counts
    the `\r` records folded into it (-1: too many to count), `record` says that it is one of them.
    `cut` is how many bytes are not shown.
    """

    offset: int
    end: int | None
    number: int | None
    data: bytes
    records: int = 0
    record: bool = False
    cut: int = 0


class Rows:
    """Rows of one source, forward and backward from any place.

    `unfolded` shows every record of a line; `only` holds the offsets of the lines to show, in order,
    and may grow while it is used.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.unfolded = False
        self.only: array[int] | None = None

    def at(self, offset: int) -> Row | None:
        """Return the row that holds a byte, or None where there is none."""
        offset = min(max(0, offset), self.pages.size - 1)
        if offset < 0:
            return None
        if self.only is not None:
            index = bisect_right(self.only, offset) - 1
            return self._line(self.only[index]) if index >= 0 else self.first()
        if self.unfolded:
            return self._record(self._record_start(offset))
        start = self.pages.line_start(offset)
        return None if start is None else self._line(start)

    def first(self) -> Row | None:
        """Return the first row."""
        if self.only is None:
            return self.at(0)
        return self._line(self.only[0]) if len(self.only) else None

    def last(self) -> Row | None:
        """Return the last row."""
        if self.only is not None:
            return self._line(self.only[-1]) if len(self.only) else None
        return self._record_before(self.pages.size) if self.unfolded else self.at(self.pages.size - 1)

    def after(self, row: Row) -> Row | None:
        """Return the row below, or None."""
        if self.only is not None:
            index = bisect_right(self.only, row.offset)
            return self._line(self.only[index]) if index < len(self.only) else None
        if row.end is None:
            return None
        if not self.unfolded:
            start = row.end + 1
            number = None if row.number is None else row.number + 1
            return self._line(start, number) if start < self.pages.size else None
        return self._record(self._behind(row.end)[1])

    def before(self, row: Row) -> Row | None:
        """Return the row above, or None."""
        if self.only is not None:
            index = bisect_left(self.only, row.offset) - 1
            return self._line(self.only[index]) if index >= 0 else None
        if row.offset == 0:
            return None
        if self.unfolded:
            return self._record_before(row.offset)
        start = self.pages.line_start(row.offset - 1)
        return None if start is None else self._line(start, None if row.number is None else row.number - 1)

    def in_column(self, start: int, column: int) -> int:
        """Return the offset of the character `column` of the line that begins at `start`."""
        if column <= 0:
            return start
        text = self.pages.read(start, min(FAR * 4, column * 4)).decode("utf-8", "replace")
        return start + len(text[:column].encode("utf-8", "replace"))

    def _line(self, start: int, number: int | None = None) -> Row | None:
        pages = self.pages
        if start >= pages.size:
            return None
        end = pages.line_end(start)
        if number is None:
            number = pages.line_of(start)
        size = (pages.size if end is None else end) - start
        data = pages.read(start, min(size, SHOWN))
        cut = size - len(data) if size > SHOWN else 0
        if b"\r" not in data[:-1] and not (cut and self._ends_rewritten(start, size)):
            return Row(start, end, number, data.removesuffix(b"\r"), cut=cut)
        tail = data if not cut else pages.read(start + size - RECORD_TAIL, RECORD_TAIL)
        records = [part for part in tail.rstrip(b"\r").split(b"\r") if part.strip()]
        if len(records) < 2 and not cut:
            return Row(start, end, number, records[0] if records else b"")
        last = records[-1] if records else b""
        return Row(start, end, number, last, records=-1 if cut else len(records))

    def _ends_rewritten(self, start: int, size: int) -> bool:
        return b"\r" in self.pages.read(start + size - RECORD_TAIL, RECORD_TAIL)[:-1]

    def _record_before(self, offset: int) -> Row | None:
        at = offset - 1
        lead = self._returns_before(offset)
        if lead and (lead == offset or self.pages.read(offset - lead - 1, 1) == b"\n"):
            at = offset - lead - 1
        return self._record(self._record_start(at)) if at >= 0 else None

    def _record(self, start: int) -> Row | None:
        if start >= self.pages.size:
            return None
        end = self._record_end(start)
        size = (self.pages.size if end is None else end) - start
        data = self.pages.read(start, min(size, SHOWN))
        goes_on = end is not None and self._behind(end)[0] == "record"
        record = goes_on or (start > 0 and self.pages.read(start - 1, 1) == b"\r")
        return Row(start, end, self.pages.line_of(start), data, record=record, cut=max(0, size - len(data)))

    def _record_start(self, offset: int) -> int:
        """Return where the record that holds a byte begins; a byte of a record's end belongs to it."""
        at = offset
        if self.pages.read(at, 1) in {b"\r", b"\n"}:
            at -= self._returns_before(at)
        while at > 0 and offset - at < FAR * 8:
            size = min(at, 4096)
            data = self.pages.read(at - size, size)
            found = max(data.rfind(b"\n"), data.rfind(b"\r"))
            if found >= 0:
                return self._lead(at - size + found + 1)
            at -= size
        return self._lead(at)

    def _record_end(self, start: int) -> int | None:
        at = start
        while data := self.pages.read(at, 4096):
            found = _END.search(data)
            if found:
                return at + found.start()
            at += len(data)
            if at - start > FAR * 8:
                return None
        return self.pages.size

    def _returns_before(self, at: int) -> int:
        data = self.pages.read(max(0, at - 4096), min(at, 4096))
        return len(data) - len(data.rstrip(b"\r"))

    def _behind(self, end: int) -> tuple[Literal["line", "record"], int]:
        r"""Return what begins behind the separator at `end`, and where. Several `\r`, also before a `\n`, are one."""
        data = self.pages.read(end, 4096)
        returns = len(data) - len(data.lstrip(b"\r"))
        if data[returns : returns + 1] == b"\n":
            return "line", self._lead(end + returns + 1)
        return ("record" if returns else "line"), end + returns

    def _lead(self, at: int) -> int:
        """Return where the text of a line begins that begins by returning to its own beginning."""
        data = self.pages.read(at, 4096)
        returns = len(data) - len(data.lstrip(b"\r"))
        return at if data[returns : returns + 1] == b"\n" else at + returns
