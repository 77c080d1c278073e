"""What is drawn or put around the lines of a traceback, taken off: a frame, a quotation's sign, an unknown prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Record
from forensics.text.lazy import lazy
from forensics.text.leads import QUOTATION

HEADER = "Traceback (most recent call last)"
DURING = "During handling of the above exception, another exception occurred:"
_GROUP = "Exception Group " + HEADER
_DRAWN = lazy(r" {2,80}(?:(?P<rule>\+(?P<first>-\+)?-{4,}.*)|[|+] ?(?P<text>.*))$")
"""A line in the frame that CPython draws around an exception group."""
_LONGEST_LEAD, _MOST_LEADS = 80, 8
_OWN_WORDS = lazy(r"(?:Original|Exception Group|C\+\+) $|^[\s+|-]*$|[─━]")
"""What may stand before a header that is no prefix of lines: the interpreter's own words, and what it draws."""
_DIGIT = lazy(r"\d")
QUOTED = "> "
"""The lane of what is quoted, which no thread has."""


def bared(records: Iterable[Record]) -> Iterator[Record]:
    """Take away what stands before each line of a traceback: the sign of a quotation, or a prefix that nobody knows.

    What is quoted, `> `, is kept apart from what is said around it. A prefix is learned from the header of a
    traceback, and taken off the lines that begin with it: `train@a100b: Traceback`, `train@a100b:   File "x.py"`.
    """
    leads: list[str] = []
    for record in records:
        text = record.text
        if quoted := QUOTATION.match(text):
            yield replace(record, text=text[quoted.end() :], lane=QUOTED)
            continue
        if 0 < (at := text.find(HEADER)) <= _LONGEST_LEAD and not _OWN_WORDS.search(text[:at]):
            leads = [_DIGIT.sub("0", text[:at]), *leads][:_MOST_LEADS]
        lead = next((lead for lead in leads if _DIGIT.sub("0", text[: len(lead)]) == lead), "")
        yield replace(record, text=text[len(lead) :]) if lead else record


def unframed(records: Iterable[Record]) -> Iterator[Record]:
    """Take away the frame that is drawn around an exception group.

    The members say what happened and the group does not, as if each had been raised while the group was handled.
    """
    framed: set[tuple[int | None, str | None]] = set()
    for record in records:
        key, drawn = (record.rank, record.lane), _DRAWN.match(record.text)
        if _GROUP in record.text:
            framed.add(key)
            yield record
        elif drawn is None or key not in framed:
            framed.discard(key)
            yield record
        elif drawn["rule"]:
            yield replace(record, text=DURING if drawn["first"] else "")
        else:
            yield replace(record, text=drawn["text"])
