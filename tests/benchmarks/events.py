"""All events of one log, without its progress: `python -m tests.benchmarks.events PATH`."""

from __future__ import annotations

import sys
from functools import partial

from forensics.engine.executor import local
from forensics.engine.hearing import hearing
from forensics.engine.marks import PartMarks, read_part
from forensics.engine.read import anchors, literals
from forensics.engine.reader import Reader, size_of
from forensics.engine.streams import read_stream_part
from forensics.model import Context
from forensics.rulebook.load import load
from forensics.scan import Part, PartReader, Plan, split, split_stream
from forensics.sources import Input, Watch, find


def look(item: Input, plan: Plan, context: Context, part: Part) -> PartMarks:
    """Look through one part of a log."""
    if item.plain_path is None:
        return read_stream_part(item, part, plan, plan.matcher(), context, 1, Watch())
    return read_part(PartReader(item.plain_path, part), part, plan, plan.matcher(), context, 1)


def main(path: str) -> None:
    """Print how many events each speaker has."""
    book = load()
    counts: dict[str, int] = {}
    for item in find([path]).inputs:
        size = size_of(item)
        plan, context = Plan(literals(book), total_bytes=size), Context(item.source)
        plan.matcher()  # made once, before processes begin as copies of this one
        parts = split(size) if item.plain_path else split_stream(item.reckoned())
        found = local(size).map(partial(look, item, plan, context), parts)
        for event in Reader(context, hearing(anchors(book), size), 24_000).join(item, found).events:
            counts[event.speaker] = counts.get(event.speaker, 0) + 1
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1])
