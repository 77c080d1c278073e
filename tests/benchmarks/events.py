"""All events of one log, without its progress: `python -m tests.benchmarks.events PATH`."""

from __future__ import annotations

import sys

from forensics.engine.executor import keep_freed
from forensics.engine.hearing import hearing
from forensics.engine.marks import read_part
from forensics.engine.read import anchors, literals
from forensics.engine.reader import Reader, size_of
from forensics.model import Context
from forensics.rulebook.load import load
from forensics.scan import PartReader, Plan, split
from forensics.sources import find


def main(path: str) -> None:
    """Print how many events each speaker has."""
    keep_freed()
    book = load()
    counts: dict[str, int] = {}
    for item in find([path]).inputs:
        plan = Plan(literals(book), total_bytes=size_of(item))
        context = Context(item.source)
        reader = Reader(context, hearing(anchors(book), size_of(item)), 24_000)
        if item.plain_path is None:
            heard = reader.read(item, plan, plan.matcher)
        else:
            found = (
                read_part(PartReader(item.plain_path, part), part, plan, plan.matcher(), context, 1)
                for part in split(item.source.bytes)
            )
            heard = reader.join(item, found)
        for event in heard.events:
            counts[event.speaker] = counts.get(event.speaker, 0) + 1
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1])
