"""The parsers of a run's life: its end, its checkpoints, its attempts, its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from forensics.model import Context, Event, Hears, Record
from forensics.parsers.metrics import checkpoints, endings, settings, versions
from forensics.parsers.metrics.endings import Fact
from forensics.parsers.metrics.step import parse_step
from forensics.text.quote import quote

_Reader = Callable[[str], Iterator[Fact]]
_SPEAKER = "progress"
_LIVES: tuple[_Reader, ...] = (endings.endings, endings.attempts, checkpoints.checkpoints)
_SETS: tuple[_Reader, ...] = (settings.configuration, settings.shapes, versions.programs)
_LONGEST = 16_384
_MOST_PROGRAMS = 64


class Life:
    """Yields what a program says about the run as a whole, one line at a time.

    Kinds: `complete`, `checkpoint-started`, `checkpoint-saved`, `resumed`, `attempt`.
    They share their lines with other speakers.
    """

    speaker = _SPEAKER
    triggers = tuple(dict.fromkeys((*endings.TRIGGERS, *checkpoints.TRIGGERS)))
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events of the records in order."""
        for record in records:
            yield from _read(_LIVES, record, context)


class Settings:
    """Yields what a program was told to do, what it runs on, and the shapes that it prints.

    Kinds: `config`, `program`, `tensor-print`. Beyond its triggers it hears what stands at the
    beginning of a log, where settings and libraries have all kinds of names.
    """

    speaker = _SPEAKER
    triggers = (*settings.TRIGGERS, *versions.TRIGGERS)
    follow = 0
    hears: Hears = "all"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events of the records in order; a version is told once."""
        told: set[object] = set()
        for record in records:
            for event in _read(_SETS, record, context):
                if event.kind == "program":
                    version = (event.fields["name"], event.fields["version"])
                    if version in told or len(told) >= _MOST_PROGRAMS:
                        continue
                    told.add(version)
                elif event.kind == "config" and parse_step(record, context.source.path) is not None:
                    continue  # a progress record that names its batch size
                yield event


def _read(readers: Sequence[_Reader], record: Record, context: Context) -> Iterator[Event]:
    text = record.text[:_LONGEST]
    for read in readers:
        for kind, fields in read(text):
            yield quote(_SPEAKER, kind, [record], context, fields, message=text)


LIFE = Life()
SETTINGS = Settings()
