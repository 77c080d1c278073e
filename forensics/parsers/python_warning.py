"""The voice of Python's `warnings` module.

    /site-packages/torch/nn/attention/flex_attention.py:1704: UserWarning: flex_attention called ...

One event a warning, kind `warning`, with fields category, file, file_line. Format: CPython Lib/warnings.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_WARNING = lazy(
    r"(?:(?P<file>[^\s:][^:]{0,400}):(?P<file_line>\d{1,7}): )?(?P<category>(?:\w+\.)*\w*Warning): (?P<text>.+)"
)


class PythonWarning:
    """See the module's text."""

    speaker = "warning"
    triggers = ("Warning: ",)
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a warning line."""
        for record in records:
            found = _WARNING.match(record.text.lstrip()) if "Warning: " in record.text else None
            if found:
                fields = {
                    "category": found["category"],
                    "file": found["file"] or "",
                    "file_line": int(found["file_line"] or 0),
                }
                yield quote("warning", "warning", [record], context, fields, message=found["text"])


PARSER = PythonWarning()
