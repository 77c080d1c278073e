"""Read one source: its lines through the parsers, its artefacts through theirs, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.engine.clock import Clock
from forensics.engine.hearing import Hearing
from forensics.engine.marks import Counts, Joined, Mark, PartMarks, counted, marked, remarkable
from forensics.engine.seen import LOG_KINDS
from forensics.model import Context, Event, Line, Record, Source, Step
from forensics.parsers import FILE_PARSERS
from forensics.parsers.metrics import STEP_HINT, complete
from forensics.scan import Hit, Matcher, Plan, Scan
from forensics.scan.parts import GREW
from forensics.sources import Input, Watch
from forensics.sources.ahead import ahead
from forensics.sources.watch import STOPPED
from forensics.text.damage import rejoin
from forensics.text.prefix import peel
from forensics.text.quote import quote
from forensics.timeline import through_epochs

FILE_CAP = 64 << 20
"""Bytes of an artefact that is read as a whole."""
TABLE_CAP = 4 << 20
"""Bytes of a transcript or text in which tables of commands (df, sacct) are looked for; its lines are all read."""
FEWEST = 16
"""Progress records that are kept of a large source at least; a quarter of what is kept of a small one, about."""
PACKED = 6
"""How many times its size a packed log unpacks to, where that is not known."""
RECORD_BYTES = 160
"""A usual progress record, to guess from a file's size how much to thin it."""
EVENT_CAP = 20_000
"""Events kept of one source."""
CLOSING, LAST_TIMES = 20, 3
"""Lines at the end of a large source that are asked for their times, and how many times are enough."""
BATCHES = ((400, 100), (4_000, 1), (20_000, 0))
"""How many lines the parsers are given at once: so many where so many others follow of which none was handed over."""
THINNED = "evenly thinned"
"""How the note on a source ends of which not all progress records are kept, before it says which are."""
WARM = 1 << 16
UNREAD = frozenset({"checkpoint", "binary"})
_PURE = frozenset({"nvidia-smi-csv", "nvidia-smi-xml", "nvidia-smi-dmon", "nvidia-smi-pmon", "exit-code",
                   "torchelastic-error", "flight-recorder", "memory-snapshot", "torch-trace", "launch-script",
                   "config"})  # fmt: skip


class Heard(Struct):
    """What one source said: the part of a run's `Seen` that is its own."""

    source: Source
    events: list[Event] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    thinned: bool = False
    tail: Sequence[Line] | None = None
    times: tuple[array[int], array[float]] | None = None


def _ends_batch(batch: Sequence[Record], following: Line) -> bool:
    """Tell whether the parsers are to be given what there is before the following line."""
    if len(batch) < BATCHES[0][0]:
        return False
    gap = max(following.number - batch[-1].line.end - 1, int(following.gap))
    return any(len(batch) >= lines and gap >= least for lines, least in BATCHES)


def _behind_a_gap(record: Record) -> Record:
    return record if record.line.gap else replace(record, line=replace(record.line, gap=True))


def budget(item: Input, step_cap: int) -> int:
    """Return how many of the progress records of a large source are kept, about; 0 of a small one: all."""
    size = size_of(item)
    return max(FEWEST, step_cap // 4) if size > RECORD_BYTES * step_cap else 0


def size_of(item: Input) -> int:
    """Return how many bytes a source holds, unpacked; a guess where nobody has looked."""
    return item.source.bytes if item.measured else item.source.bytes * PACKED


class Reader:
    """Reads one source. Call `read` or `join` once."""

    def __init__(self, context: Context, hearing: Hearing, step_cap: int, watch: Watch | None = None) -> None:
        self._watch = watch or Watch()
        self._heard = Heard(context.source)
        self._context = context
        self._hearing = hearing
        self._step_cap = step_cap
        self._steps: list[Step] = []
        self._records = 0
        self._every = 1
        self._events = 0
        self._dropped = 0
        self._times: list[float] = []
        self._clock = Clock()
        self._stamped = array("q"), array("d")  # a log may have millions of them

    def read(self, item: Input, plan: Plan, matcher: Callable[[], Matcher]) -> Heard:
        """Read a source from its beginning to its end."""
        source = item.source
        if source.kind in UNREAD or source.read == "skipped":
            return self._heard
        self._artefact(item)
        if source.kind in _PURE:
            lines = item.read(FILE_CAP)
            self._watch.saw(source.bytes)
            return self._done(replace(source, lines=lines.count(b"\n") + (not lines.endswith(b"\n") and bool(lines))))
        if source.pane_width:
            return self._wrapped(item, source.pane_width)
        scan = Scan(plan, matcher(), budget=budget(item, self._step_cap), size=size_of(item))
        with closing(self._pieces(item)) as pieces:
            self._take(marked(hit, self._context) for hit in scan.over(pieces))
        self._stand_out([mark for _, mark in remarkable(scan, self._context)])
        return self._ended(item.source, counted(scan))

    def warm(self, item: Input, plan: Plan, matcher: Callable[[], Matcher]) -> None:
        """Read the beginning of a source for nothing: what that loads and compiles, processes begin with."""
        head = item.read(WARM)
        scan = Scan(plan, matcher(), budget=FEWEST, size=len(head))
        self._take(marked(hit, self._context) for hit in scan.over([head]))

    def join(self, item: Input, parts: Iterable[PartMarks]) -> Heard:
        """Read a source whose parts are looked through elsewhere, as they come."""
        self._artefact(item)
        whole = Joined(parts)
        self._take(whole.marks())
        self._stand_out([mark for _, mark in whole.remarkable()])
        source = whole.source() or item.source
        if told := whole.why():
            why = f"{source.why}; {told}" if source.why else told
            state = source.state if told.startswith((GREW, STOPPED)) else "cut"
            source = replace(source, why=why, read="partial", state=state)
        return self._ended(source, whole.counts())

    def _pieces(self, item: Input) -> Generator[bytes, None, None]:
        """Return the content of a source, made ahead where it is large and must be unpacked or fetched."""
        pieces = self._watch.follow(item)
        return ahead(pieces) if item.plain_path is None and budget(item, self._step_cap) else pieces

    def _artefact(self, item: Input) -> None:
        source = item.source
        cap = TABLE_CAP if source.kind in LOG_KINDS else FILE_CAP
        for parser in FILE_PARSERS:
            if source.kind in parser.kinds:
                self._keep(parser.parse(item.read(cap), self._context))
        if source.kind in _PURE and source.bytes > FILE_CAP:
            self._heard.notes.append(f"{source.path}: only the first {FILE_CAP >> 20} MiB of this artefact were read")

    def _take(self, marks: Iterable[Mark]) -> None:
        batch: list[Record] = []
        apart = False  # whether progress alone stands between this record and the one before it in the batch
        for mark in marks:
            self._clock.see(mark.record)
            if mark.step is not None:
                self._step(mark)
            if mark.literal:
                if _ends_batch(batch, mark.record.line):
                    self._parse(batch)
                    batch = []
                batch.append(_behind_a_gap(mark.record) if apart else mark.record)
            apart = not mark.literal
        self._parse(batch)

    def _ended(self, source: Source, counts: Counts) -> Heard:
        path, notes = source.path, self._heard.notes
        self._heard.tail = counts.tail
        lines = reversed(counts.tail[-CLOSING:]) if counts.records else counts.tail
        times = (t for line in lines if (t := peel(line, self._context).time) is not None)
        self._times += islice(times, LAST_TIMES if counts.records else None)
        if counts.cut:
            notes.append(f"{path}: {counts.cut} very long lines were read only in part (the first 64 KiB)")
        self._heard.thinned = counts.records > 0 or self._every > 1
        if self._heard.thinned:
            self._heard.left_out.append(
                f"{path}: {len(self._steps)} of about {max(counts.records, self._records)} progress records kept, "
                f"{THINNED} (of each rank the first, the last, those with the lowest and the highest loss of each "
                "stretch, and those with NaN among them)"
            )
        if counts.repeats:
            self._heard.left_out.append(
                f"{path}: {counts.repeats} lines were not read that differ only in their numbers from many that were"
            )
        return self._done(replace(source, lines=counts.lines))

    def _wrapped(self, item: Input, width: int) -> Heard:
        """Read a terminal capture whose long lines were broken at the pane's width."""
        text = item.read(FILE_CAP).decode("utf-8", "replace")
        self._watch.saw(item.source.bytes)
        physical = text.split("\n")
        last = len(physical) - (physical[-1] == "")
        records = []
        lines = [
            Line(first + 1, 0, 0, joined, end + 1, complete=end + 1 < len(physical))
            for first, end, joined in rejoin(physical[:last], width)
        ]
        for line in lines:
            hint = STEP_HINT.search(line.text.encode()) is not None
            mark = marked(Hit(line, literal=True, progress=hint), self._context)
            self._clock.see(mark.record)
            if mark.step is not None:
                self._step(mark)
            records.append(mark.record)
        self._parse(records)
        self._heard.tail = tuple(lines[-40:])
        return self._done(replace(item.source, lines=last))

    def _step(self, mark: Mark) -> None:
        step = mark.step
        if step is None or (not mark.record.line.complete and not complete(step, self._steps[-50:])):
            return
        if step.time is not None and (not self._steps or len(self._steps) % 50 == 0):
            self._times.append(step.time)
        self._records += 1
        if self._records % self._every and self._steps:
            self._steps[-1] = step  # the last one is always kept
            return
        self._steps.append(step)
        if len(self._steps) >= 2 * self._step_cap:
            self._steps = self._steps[::2]
            self._every *= 2

    def _stand_out(self, marks: Sequence[Mark]) -> None:
        """Add the records that stand out of a large source, and put all of them in order."""
        if not marks:
            return
        known = {(s.line, s.column) for s in self._steps}
        for mark in sorted(marks, key=lambda mark: mark.record.line.offset):
            place = mark.record.line.number, mark.record.line.column
            step = mark.step
            # Thinning would take the extremes away, for which they are here.
            if place not in known and step is not None and (mark.record.line.complete or complete(step, self._steps)):
                known.add(place)
                self._records += 1
                self._steps.append(step)
        self._steps.sort(key=lambda s: (s.line, s.column))

    def _parse(self, batch: Sequence[Record]) -> None:
        if not batch:
            return
        self._times += [r.time for r in (batch[0], batch[-1]) if r.time is not None]
        stamped = [(r.line.number, r.time) for r in batch if r.time is not None]
        self._stamped[0].extend(line for line, _ in stamped)
        self._stamped[1].extend(time for _, time in stamped)
        claimed: set[int] = set()
        shares, anchored = self._hearing.share(batch)
        for parser, records in shares:
            events = list(parser.parse(records, self._context))
            shared = parser.speaker == "progress"
            fresh = [e for e in events if shared or e.line not in claimed]
            if not shared:
                for event in fresh:
                    first = event.fields.get("from_line")
                    claimed.update(range(first if isinstance(first, int) else event.line, event.end_line + 1))
                    claimed.add(event.line)
            self._keep(fresh)
        self._keep(self._unclaimed(record for record in anchored if record.line.number not in claimed))

    def _unclaimed(self, records: Iterable[Record]) -> Iterator[Event]:
        """Yield lines that no speaker claims as plain output, or as log records if they have a level."""
        for record in records:
            speaker, kind = ("log", record.level) if record.level else ("output", "line")
            yield quote(speaker, kind, [record], self._context)

    def _keep(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind == "unread":
                self._heard.notes.append(f"{self._context.source.path}: {event.message}")
                continue
            if self._events >= EVENT_CAP:
                self._dropped += 1
                continue
            self._events += 1
            source = self._context.source
            if event.rank is None and source.rank is not None:
                event = replace(event, rank=source.rank)  # noqa: PLW2901 - the file's name says whose it is
            self._heard.events.append(event)

    def _done(self, source: Source) -> Heard:
        self._heard.steps.extend(
            replace(s, rank=source.rank) if s.rank is None and source.rank is not None else s
            for s in through_epochs(self._steps)
        )
        if self._dropped:
            self._heard.notes.append(f"{source.path}: {self._dropped} further events beyond {EVENT_CAP} were not kept")
        self._heard.times = self._stamped
        if self._clock.back:
            self._heard.notes.append(f"{source.path}{self._clock.told()}")
        if self._times:
            source = replace(source, started=min(self._times), ended=max(self._times))
        self._heard.source = source
        return self._heard
