"""The GPU kernel's own voice: `printf` from a device-side assertion.

    .../IndexKernelUtils.cu:16: gather_kernel: block: [7,0,0], thread: [20,0,0] Assertion `ind < size` failed.
    .../IndexKernel.hip:93: gather_kernel(): Device-side assertion `ind < size' failed.       (ROCm)

One event for a run of lines with the same assertion (there is one per thread), with
fields file, file_line, kernel, assertion, count. Source: aten/src/ATen/native/cuda.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_ASSERT = lazy(
    r"(?P<file>[^\s:]{1,300}\.(?:cu|cuh|h|hpp|hip|py)):(?P<file_line>\d{1,18}): (?P<kernel>.{0,600}?): "
    r"(?:block: \[[\d,]+\], thread: \[[\d,]+\] Assertion `|Device-side assertion `)(?P<assertion>.{1,400}?)[`'] failed"
)


class DeviceAssert:
    """See the module's text."""

    speaker = "device"
    triggers = ("` failed", "Device-side assertion `")
    follow = 0
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event for each run of equal assertions."""
        first: tuple[Record, re.Match[str]] | None = None
        last: Record | None = None
        count = 0
        for record in records:
            found = _ASSERT.search(record.text) if "ssertion `" in record.text else None
            same = found and first and found["assertion"] == first[1]["assertion"] and record.rank == first[0].rank
            if first and last and not same:
                yield _event(first, last, count, context)
                first, count = None, 0
            if found:
                first = first or (record, found)
                last = record
                count += 1
        if first and last:
            yield _event(first, last, count, context)


def _event(first: tuple[Record, re.Match[str]], last: Record, count: int, context: Context) -> Event:
    record, found = first
    fields = {
        "file": found["file"],
        "file_line": int(found["file_line"]),
        "kernel": found["kernel"],
        "assertion": found["assertion"],
        "count": count,
    }
    return replace(quote("device", "assert", [record], context, fields), end_line=last.line.number)


PARSER = DeviceAssert()
