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
# Lightning's own way to print its warnings leaves the category out.
_LIGHTNING = lazy(
    r"(?P<file>[^\s:][^:]{0,400}lightning[^:]{0,200}\.py):(?P<file_line>\d{1,7}): (?P<category>(?!))?(?P<text>[A-Z].+)"
)


class PythonWarning:
    """See the module's text."""

    speaker = "warning"
    triggers = ("Warning: ", "GPU available but not used")
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a warning line."""
        for record in records:
            text = record.text.lstrip()
            known = "Warning: " in text or "GPU available but not used" in text
            found = (_WARNING.match(text) or _LIGHTNING.match(text)) if known else None
            if found:
                fields = {
                    "category": found["category"] or "UserWarning",
                    "file": found["file"] or "",
                    "file_line": int(found["file_line"] or 0),
                }
                yield quote("warning", "warning", [record], context, fields, message=found["text"])


PARSER = PythonWarning()
