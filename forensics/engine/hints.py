"""What the sources of a run tell of how to read them: the year, what stands before their lines, what scripts set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.engine.reader import TABLE_CAP, UNREAD
from forensics.engine.seen import LOG_KINDS
from forensics.model import NO_FIELDS, Context, Line, Value
from forensics.sources import Input
from forensics.text.lazy import lazy_bytes
from forensics.text.leads import learned
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


def year(item: Input) -> int | None:
    """Return the year that the beginning of a source names, for the times in it that name none."""
    if item.source.kind in UNREAD:
        return None
    dated = _LED if item.source.kind == "kernel-log" else _YEAR  # a kernel prints when it was built, too
    found = dated.search(item.read(_HEAD))
    return int(next(digits for digits in found.groups() if digits)) if found else None


def leads(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Return what stands before the lines of the run's logs in no known form, longest first."""
    logs = [i for i in inputs if i.source.kind in LOG_KINDS and i.source.read != "skipped"][:_TAUGHT_BY]
    found = {lead for log in logs for lead in learned(_beginning(log))}
    return tuple(sorted(found, key=lambda lead: (-len(lead), lead)))


def _beginning(log: Input) -> Sequence[str]:
    lines = log.read(_HEAD).decode("utf-8", "replace").split("\n")[:-1]
    return [peel(Line(0, 0, 0, line[:_LONGEST]), Context(log.source)).text for line in lines[:_LINES]]


def variables(inputs: Sequence[Input]) -> Mapping[str, Value]:
    """Return what the scripts of the folder set: one may source another."""
    scripts = [i for i in inputs if i.source.kind == "launch-script" and i.source.read != "skipped"]
    if len(scripts) < 2:
        return NO_FIELDS
    from forensics.text import shell

    return {k: v for i in scripts for k, v in shell.variables(i.read(TABLE_CAP).decode("utf-8", "replace")).items()}
