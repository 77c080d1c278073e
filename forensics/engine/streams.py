"""Parts of a stream that is unpacked anew by each process that reads one; see `scan.streams`."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

from forensics.engine.marks import PartMarks, counted, marked, remarkable
from forensics.model import Context
from forensics.scan import Matcher, Part, Plan, Scan, Span, StreamPart
from forensics.sources import Input, Watch
from forensics.sources.watch import STOPPED


def read_stream_part(
    item: Input, part: Part, plan: Plan, matcher: Matcher, context: Context, budget: int, watch: Watch
) -> PartMarks:
    """Read one part of a packed source, up to its end or to a stop; `budget` is that of the whole."""
    stream = item.chunks()
    reader = StreamPart(_until_stopped(stream, watch), part)
    span = Span(reader.start, first=part.index == 0, last=reader.last)
    scan = Scan(plan, matcher, budget=max(1, budget // part.count), size=part.stop - part.start, span=span)
    with closing(stream), closing(_counted(reader, item, part, watch)) as pieces:
        hits = scan.over(_noting_the_end(pieces, reader, span), reader.beyond())
        marks = tuple(marked(hit, context) for hit in hits)
    return PartMarks(
        reader.start,
        marks,
        tuple(remarkable(scan, context)),
        counted(scan),
        f"{STOPPED} in part {part.index + 1} of {part.count}" if watch.stopped else "",
        stopped=watch.stopped,
        source=item.source if reader.last else None,
    )


def _until_stopped(pieces: Iterator[bytes], watch: Watch) -> Iterator[bytes]:
    for piece in pieces:
        if watch.stopped:
            return
        yield piece


def _counted(reader: StreamPart, item: Input, part: Part, watch: Watch) -> Generator[bytes, None, None]:
    """Yield the bytes of a part, counting its share of what the source takes where it is stored."""
    stored, size = item.source.bytes, part.stop - part.start
    share = stored * (part.index + 1) // part.count - stored * part.index // part.count
    read = seen = 0
    for piece in reader.pieces():
        read += len(piece)
        step = min(share, share * read // max(size, 1)) - seen
        seen += step
        watch.saw(step)
        yield piece
    watch.saw(0 if watch.stopped else share - seen)


def _noting_the_end(pieces: Iterator[bytes], reader: StreamPart, span: Span) -> Iterator[bytes]:
    """Yield the pieces; only then is it known whether the stream goes on behind them."""
    yield from pieces
    span.last = reader.last
