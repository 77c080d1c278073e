"""All events of one log, without its progress: `python -m tests.benchmarks.events PATH`."""

from __future__ import annotations

import sys

from forensics.engine.read import literals
from forensics.engine.reader import Reader
from forensics.model import Context
from forensics.rulebook.load import load
from forensics.scan import Plan
from forensics.sources import find


def main(path: str) -> None:
    """Print how many events each speaker has."""
    book = load()
    counts: dict[str, int] = {}
    for item in find([path]).inputs:
        plan = Plan(literals(book), total_bytes=item.source.bytes)
        heard = Reader(Context(item.source), (), 24_000).read(item, plan, plan.matcher)
        for event in heard.events:
            counts[event.speaker] = counts.get(event.speaker, 0) + 1
    print(counts)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
