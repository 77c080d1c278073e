"""Lines worth a look, taken apart; and those of the parts of a file put together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from forensics.model import Context, Line, Record, Source, Step
from forensics.parsers.metrics import parse_step
from forensics.scan import Floods, Hit, Matcher, Part, PartReader, Plan, Scan, Shape, Slot, Span, Tail
from forensics.sources import Watch
from forensics.sources.watch import STOPPED
from forensics.text.prefix import peel

_FIRST, _LAST = "first", "last"


class Mark(Struct, frozen=True):
    """A hit of the scan whose line is peeled and, where it may be one, parsed as a step."""

    record: Record
    step: Step | None = None
    literal: bool = False
    end: int = 0
    shape: Shape | None = None
    exempt: bool = False


class Counts(Struct, frozen=True):
    """What a pass over a stream has counted; see `Scan`."""

    lines: int
    complete: bool
    records: int
    repeats: int
    cut: int
    tail: Sequence[Line]


class PartMarks(Struct, frozen=True):
    """What one part of a file holds, which begins at an offset. Line numbers begin with the part.

    `source` is there where reading the part has shown more of its source than was known.
    """

    start: int
    marks: tuple[Mark, ...]
    remarkable: tuple[tuple[Slot, Mark], ...]
    counts: Counts
    why: str = ""
    stopped: bool = False
    source: Source | None = None


def marked(hit: Hit, context: Context) -> Mark:
    """Take the line of a hit apart."""
    record = peel(hit.line, context)
    step = parse_step(record, context.source.path) if hit.progress else None
    return Mark(record, step, hit.literal, hit.end, hit.shape, hit.exempt)


def remarkable(scan: Scan, context: Context) -> list[tuple[Slot, Mark]]:
    """Return the progress records that stand out, once the scan is over."""
    return [(slot, marked(Hit(line, literal=False, progress=True), context)) for slot, line in scan.remarkable]


def counted(scan: Scan, split_lines: int = 0) -> Counts:
    """Return what a scan has counted, once it is over; and how many lines its blocks had parted."""
    return Counts(
        scan.lines,
        scan.complete,
        scan.records,
        scan.repeats,
        scan.cut_lines + scan.split_lines + split_lines,
        scan.tail,
    )


def read_part(
    reader: PartReader,
    part: Part,
    plan: Plan,
    matcher: Matcher,
    context: Context,
    budget: int,
    watch: Watch | None = None,
) -> PartMarks:
    """Read one part of a file, up to its end or to a stop."""
    watch = watch or Watch()
    span = Span(reader.start, first=part.index == 0, last=part.last)
    scan = Scan(
        plan, matcher, budget=max(1, budget // part.count) if budget else 0, size=part.stop - part.start, span=span
    )
    beyond = iter(()) if reader.last else reader.beyond(reader.stop)
    marks = tuple(marked(hit, context) for hit in scan.over_blocks(watch.through(reader.blocks()), beyond))
    why = reader.why or (f"{STOPPED} in part {part.index + 1} of {part.count}" if watch.stopped else "")
    counts = counted(scan, reader.split_lines)
    return PartMarks(reader.start, marks, tuple(remarkable(scan, context)), counts, why, stopped=watch.stopped)


class Joined:
    """The parts of a file put together as they come, as if one pass had read it. Iterate `marks` once, then ask."""

    def __init__(self, parts: Iterable[PartMarks]) -> None:
        self._parts = parts
        self._counts: list[Counts] = []
        self._why: dict[str, None] = {}
        self._source: Source | None = None
        self._apart: dict[object, tuple[Slot, Mark]] = {}
        self._floods = Floods()

    def marks(self) -> Iterator[Mark]:
        """Yield the marks of all parts in order."""
        return _unflooded(self._placed(), self._floods)

    def remarkable(self) -> list[tuple[Slot, Mark]]:
        """Return the progress records that stand out."""
        return list(self._apart.values())

    def counts(self) -> Counts:
        """Return what was counted in all parts."""
        counts = _summed(self._counts)
        return replace(counts, repeats=counts.repeats + self._floods.dropped)

    def why(self) -> str:
        """Return why parts were not read in full."""
        return "; ".join(self._why)

    def source(self) -> Source | None:
        """Return the source as reading the parts has shown it, where it has."""
        return self._source

    def _placed(self) -> Iterator[tuple[Mark, int]]:
        """Yield each mark with the number of lines above its part.

        What follows a literal at the end of a part stands in the next one as well, so
        marks behind the beginning of a part wait for that part's own.
        """
        waiting: dict[int, tuple[Mark, int]] = {}
        above = 0
        for number, part in enumerate(self._parts):
            for offset in sorted(offset for offset in waiting if offset < part.start):
                yield waiting.pop(offset)
            for mark in part.marks:
                offset = mark.record.line.offset
                other = waiting.get(offset)
                waiting[offset] = (mark if other is None else _both(other[0], mark)), above
            for slot, mark in part.remarkable:
                what = slot[2]
                if what == _FIRST and slot in self._apart:
                    continue
                self._apart[slot if what in {_FIRST, _LAST} else (slot, number)] = slot, _moved(mark, above)
            above += part.counts.lines
            self._counts.append(part.counts)
            self._source = self._source or part.source
            if part.why:
                self._why[part.why] = None
        for offset in sorted(waiting):
            yield waiting[offset]


def _moved(mark: Mark, above: int) -> Mark:
    """Return a mark of a part that stands below so many lines."""
    if not above:
        return mark
    line = _below(mark.record.line, above)
    step = mark.step and replace(mark.step, line=mark.step.line + above)
    return Mark(replace(mark.record, line=line), step, mark.literal, mark.end, mark.shape, mark.exempt)


def _below(line: Line, above: int) -> Line:
    """Return a line that stands below so many more. Not by `replace`, which takes five times as long."""
    return Line(line.number + above, line.column, line.offset, line.text, line.end + above, line.gap, line.complete)


def _both(one: Mark, other: Mark) -> Mark:
    """Return a mark that two parts have: one as what follows a literal, the other in its own right."""
    return replace(other, literal=one.literal or other.literal, step=one.step or other.step)


def _unflooded(placed: Iterable[tuple[Mark, int]], floods: Floods) -> Iterator[Mark]:
    """Leave out what repeats too often in the file as a whole, with the lines behind it."""
    end = 0
    held = False
    for mark, above in placed:
        apart = mark.record.line.offset != end
        end = mark.end
        if mark.shape is not None:
            held = not mark.exempt and floods.hold_back(mark.shape)
        elif apart:
            held = False
        if not held:
            yield _gapped(_moved(mark, above), gap=apart)
        elif mark.step is not None:
            yield _gapped(replace(_moved(mark, above), literal=False), gap=apart)


def _gapped(mark: Mark, *, gap: bool) -> Mark:
    line = mark.record.line
    return mark if line.gap == gap else replace(mark, record=replace(mark.record, line=replace(line, gap=gap)))


def _summed(counts: Sequence[Counts]) -> Counts:
    last = next((c for c in reversed(counts) if c.tail), counts[-1])
    above = 0
    tail: Sequence[Line] = ()
    for each in counts:
        if each is last:
            tail = each.tail.below(above) if isinstance(each.tail, Tail) else each.tail
        above += each.lines
    return Counts(
        above,
        last.complete,
        sum(c.records for c in counts),
        sum(c.repeats for c in counts),
        sum(c.cut for c in counts),
        tail,
    )
