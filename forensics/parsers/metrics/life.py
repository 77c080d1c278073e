"""The parser of a run's life: its end, its checkpoints, its settings, its attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from forensics.model import Context, Event, Record
from forensics.parsers.metrics import checkpoints, endings, settings
from forensics.parsers.metrics.endings import Fact
from forensics.parsers.metrics.step import parse_step
from forensics.text.quote import quote

_READERS: tuple[Callable[[str], Iterator[Fact]], ...] = (
    endings.endings,
    endings.attempts,
    endings.programs,
    checkpoints.checkpoints,
    settings.configuration,
    settings.shapes,
)
_LONGEST = 16_384
_MOST_PROGRAMS = 64


class Life:
    """Yields what a program says about the run as a whole, one line at a time.

    Kinds: `complete`, `checkpoint-started`, `checkpoint-saved`, `resumed`, `attempt`,
    `program`, `config`, `tensor-print`. They share their lines with other speakers.
    """

    speaker = "progress"
    triggers = tuple(dict.fromkeys((*endings.TRIGGERS, *checkpoints.TRIGGERS, *settings.TRIGGERS)))
    follow = 0

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events of the records in order; a version is told once."""
        told: set[object] = set()
        for record in records:
            text = record.text[:_LONGEST]
            for read in _READERS:
                for kind, fields in read(text):
                    if kind == "program":
                        version = (fields["name"], fields["version"])
                        if version in told or len(told) >= _MOST_PROGRAMS:
                            continue
                        told.add(version)
                    elif kind == "config" and parse_step(record, context.source.path) is not None:
                        continue  # a progress record that names its batch size
                    yield quote(self.speaker, kind, [record], context, fields, message=text)


PARSER = Life()
