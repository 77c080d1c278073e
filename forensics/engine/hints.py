"""What the sources of a run tell of how to read them: the year, what stands before their lines, what scripts set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.engine.reader import TABLE_CAP, UNREAD
from forensics.engine.seen import LOG_KINDS
from forensics.model import NO_FIELDS, Context, Line, Source, Value
from forensics.sources import Input
from forensics.text.lazy import lazy_bytes
from forensics.text.leads import learned, longest_first
from forensics.text.prefix import peel

_YEAR = lazy_bytes(
    rb"\b(20[1-4]\d)[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])[T _]|\d\d:\d\d:\d\d (?:[A-Z]{2,5} )?(20[1-4]\d)\b"
    rb"|\b[0-3]\d/[0-3]\d/(20[1-4]\d),? \d\d:\d\d:\d\d\b"
)
_LED = lazy_bytes(
    rb"(?m)^(?:<\d{1,3}>|[\w.:-]{1,80}: (?:kern|user|daemon|syslog): {1,5}[a-z]{3,7}: |[\w.-]{1,40} )?\[?"
    rb"(?:(20[1-4]\d)-[01]\d-[0-3]\d|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} (20[1-4]\d))"
)
_HEAD = 1 << 14
_TAUGHT_BY = 16
"""Logs whose beginnings are looked through for what stands before their lines: those of a run's ranks are alike."""
_LINES = 120
_LONGEST = 400


def beginnings(inputs: Sequence[Input]) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Read the beginning of each source once.

    Returns:
        The year that each names, for the times in it that name none, by path; and what stands before
        the lines of the run's logs in no known form, longest first.
    """
    years: dict[str, int | None] = {}
    leads: set[str] = set()
    left = _TAUGHT_BY
    for item in inputs:
        source = item.source
        head = b"" if source.kind in UNREAD else item.read(_HEAD)
        years[source.path] = _year(source, head)
        if left and source.kind in LOG_KINDS and source.read != "skipped":
            left -= 1
            leads.update(learned(_peeled(source, head)))
    return years, longest_first(leads)


def _year(source: Source, head: bytes) -> int | None:
    dated = _LED if source.kind == "kernel-log" else _YEAR  # a kernel prints when it was built, too
    found = dated.search(head)
    return int(next(digits for digits in found.groups() if digits)) if found else None


def _peeled(log: Source, head: bytes) -> Sequence[str]:
    lines = head.decode("utf-8", "replace").split("\n")[:-1]
    return [peel(Line(0, 0, 0, line[:_LONGEST]), Context(log)).text for line in lines[:_LINES]]


def variables(inputs: Sequence[Input]) -> Mapping[str, Value]:
    """Return what the scripts of the folder set: one may source another."""
    scripts = [i for i in inputs if i.source.kind == "launch-script" and i.source.read != "skipped"]
    if len(scripts) < 2:
        return NO_FIELDS
    from forensics.text import shell

    return {k: v for i in scripts for k, v in shell.variables(i.read(TABLE_CAP).decode("utf-8", "replace")).items()}
