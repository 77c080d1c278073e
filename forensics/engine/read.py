"""Run the scan and the parsers over every source, in bounded memory, losing nothing silently."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from forensics.engine.phases import told_apart
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import NO_FIELDS, Context, Event, Line, Record, Source, Step, Value
from forensics.parsers import FILE_PARSERS, LINE_PARSERS
from forensics.parsers.metrics import STEP_HINT, complete, parse_step
from forensics.rulebook.lint import UNSPOKEN
from forensics.rulebook.load import Rulebook
from forensics.scan import Matcher, Plan, Scan
from forensics.sources import Found, Input, Watch
from forensics.text.damage import rejoin
from forensics.text.lazy import lazy_bytes
from forensics.text.prefix import peel
from forensics.text.quote import quote
from forensics.timeline import through_epochs

FILE_CAP = 64 << 20
"""Bytes of an artefact that is read as a whole."""
TABLE_CAP = 4 << 20
"""Bytes of a transcript or text in which tables of commands (df, sacct) are looked for; its lines are all read."""
STEP_CAP = 24_000
"""Progress records kept of a run; beyond it they are thinned evenly, and the report says so."""
RECORD_BYTES = 160
"""A usual progress record, to guess from a file's size how much to thin it."""
EVENT_CAP = 20_000
"""Events kept of one source."""
BATCH = 4_000
CLOCK_S = 120.0
"""Seconds by which a later line may be stamped earlier: ranks write past each other, clocks are set."""
_UNREAD = frozenset({"checkpoint", "binary"})
_PURE = frozenset({"nvidia-smi-csv", "nvidia-smi-xml", "nvidia-smi-dmon", "nvidia-smi-pmon", "exit-code",
                   "torchelastic-error", "flight-recorder", "memory-snapshot", "torch-trace", "launch-script",
                   "config"})  # fmt: skip
_YEAR = lazy_bytes(
    rb"\b(20[1-4]\d)[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])[T _]|\d\d:\d\d:\d\d (?:[A-Z]{2,5} )?(20[1-4]\d)\b"
)


def read(found: Found, book: Rulebook, utc_offset_s: float = 0.0) -> Seen:
    """Return what the sources say. Never raises on their content."""
    seen = Seen(found.root, notes=list(found.notes))
    own = _anchors(book)
    total = sum(i.source.bytes for i in found.inputs)
    plan = Plan(_literals(own), STEP_HINT, total_bytes=total)
    matcher = plan.matcher()
    years = {i.source.path: _year(i) for i in found.inputs}
    common = next((y for y in years.values() if y), None)
    texts = max(1, sum(i.source.kind not in _UNREAD for i in found.inputs))
    known = _variables(found.inputs)
    for item in found.inputs:
        if found.watch.stopped:
            seen.sources.append(found.watch.left_out(item.source))
            continue
        hints = known if item.source.kind == "launch-script" else NO_FIELDS
        context = Context(item.source, years[item.source.path] or common, utc_offset_s, hints)
        reader = _Reader(seen, context, own, max(500, STEP_CAP // texts), found.watch)
        seen.sources.append(reader.read(item, plan, matcher))
    seen.events = told_apart(seen.events, seen.steps)
    seen.current = max((s.attempt for s in seen.sources), default=0)
    return seen


def _literals(own: Sequence[str]) -> dict[bytes, int]:
    """Return what makes a line worth handing over: parsers' triggers, then rules' anchors."""
    follow: dict[bytes, int] = {}
    for parser in LINE_PARSERS:
        for trigger in parser.triggers:
            follow[trigger.encode()] = max(follow.get(trigger.encode(), 0), parser.follow)
    for anchor in own:
        follow.setdefault(anchor.encode(), 0)
    return follow


def _anchors(book: Rulebook) -> tuple[str, ...]:
    """Return the literals of rules on lines that no parser asks for."""
    signals = [s for rule in book.rules.values() for s in rule.signal if UNSPOKEN & set(s.speaker)]
    return tuple(dict.fromkeys(a for s in signals for a in s.anchors or book.required(s.pattern)))


def _variables(inputs: Sequence[Input]) -> dict[str, Value]:
    """Return what the scripts of the folder set: one may source another."""
    scripts = [i for i in inputs if i.source.kind == "launch-script" and i.source.read != "skipped"]
    if len(scripts) < 2:
        return {}
    from forensics.text.shell import variables

    return {k: v for i in scripts for k, v in variables(i.read(TABLE_CAP).decode("utf-8", "replace")).items()}


def _year(item: Input) -> int | None:
    if item.source.kind in _UNREAD:
        return None
    found = _YEAR.search(item.read(1 << 14))
    return int(found[1] or found[2]) if found else None


class _Clock:
    """Watches the times of one source: a clock that was set back, or a second one, puts later lines earlier."""

    def __init__(self) -> None:
        self.back = 0
        self._latest: float | None = None
        self._first: tuple[int, float] = 0, 0.0

    def see(self, record: Record) -> None:
        if record.time is None:
            return
        if self._latest is not None and self._latest - record.time > CLOCK_S:
            self.back += 1
            if self.back == 1:
                self._first = record.line.number, self._latest - record.time
            self._latest = record.time
        self._latest = max(record.time, self._latest or record.time)

    def told(self) -> str:
        line, by = self._first
        more = f", and {self.back - 1} more times" if self.back > 1 else ""
        return f":{line}: the clock goes back by {by:.0f} s here{more}; times of this file order events only roughly"


class _Reader:
    """Reads one source into `seen`."""

    def __init__(self, seen: Seen, context: Context, literals: Sequence[str], step_cap: int, watch: Watch) -> None:
        self._seen = seen
        self._context = context
        self._literals = literals
        self._step_cap = step_cap
        self._watch = watch
        self._steps: list[Step] = []
        self._events = 0
        self._dropped = 0
        self._times: list[float] = []
        self._clock = _Clock()
        self._stamped = array("q"), array("d")  # a log may have millions of them

    def read(self, item: Input, plan: Plan, matcher: Matcher) -> Source:
        source = item.source
        if source.kind in _UNREAD or source.read == "skipped":
            return source
        cap = TABLE_CAP if source.kind in LOG_KINDS else FILE_CAP
        for parser in FILE_PARSERS:
            if source.kind in parser.kinds:
                self._keep(parser.parse(item.read(cap), self._context))
        if source.kind in _PURE and source.bytes > FILE_CAP:
            self._seen.notes.append(f"{source.path}: only the first {FILE_CAP >> 20} MiB of this artefact were read")
        if source.kind in _PURE:
            lines = item.read(FILE_CAP)
            self._watch.saw(source.bytes)
            return self._done(replace(source, lines=lines.count(b"\n") + (not lines.endswith(b"\n") and bool(lines))))
        if source.pane_width:
            return self._wrapped(item, source.pane_width)
        scan = Scan(plan, matcher)
        scan.stride = max(1, (source.bytes - source.nul_bytes) // (RECORD_BYTES * self._step_cap))
        return self._stream(item, scan)

    def _stream(self, item: Input, scan: Scan) -> Source:
        batch: list[Record] = []
        for hit in scan.over(self._watch.follow(item)):
            record = peel(hit.line, self._context)
            self._clock.see(record)
            if hit.progress:
                self._step(record, scan)
            if hit.literal:
                if len(batch) >= BATCH and (hit.line.gap or len(batch) >= 5 * BATCH):
                    self._parse(batch)
                    batch = []
                batch.append(record)
        self._parse(batch)
        path = item.source.path
        if path not in self._watch.cut:  # where reading was stopped says nothing of how the file ends
            self._seen.tails[path] = scan.tail
        self._times += [t for line in scan.tail if (t := peel(line, self._context).time) is not None]
        source = replace(item.source, lines=scan.lines)
        if scan.cut_lines or scan.split_lines:
            self._seen.notes.append(
                f"{path}: {scan.cut_lines + scan.split_lines} very long lines were read only in part (the first 64 KiB)"
            )
        if scan.skipped_steps:
            self._seen.notes.append(
                f"{path}: {len(self._steps)} of about {len(self._steps) + scan.skipped_steps} progress records kept, "
                "evenly thinned (the first, the last, and those with NaN among them)"
            )
        return self._done(source)

    def _wrapped(self, item: Input, width: int) -> Source:
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
            record = peel(line, self._context)
            self._clock.see(record)
            if STEP_HINT.search(line.text.encode()):
                self._step(record, None)
            records.append(record)
        self._parse(records)
        self._seen.tails[item.source.path] = tuple(lines[-40:])
        return self._done(replace(item.source, lines=last))

    def _step(self, record: Record, scan: Scan | None) -> None:
        step = parse_step(record, self._context.source.path)
        if step is None or (not record.line.complete and not complete(step, self._steps[-50:])):
            return
        if record.time is not None and (not self._steps or len(self._steps) % 50 == 0):
            self._times.append(record.time)
        self._steps.append(step)
        if scan and len(self._steps) >= self._step_cap:
            dropped = len(self._steps) - len(self._steps[::2])
            self._steps = self._steps[::2]
            scan.stride *= 2
            scan.skipped_steps += dropped

    def _parse(self, batch: Sequence[Record]) -> None:
        if not batch:
            return
        self._times += [r.time for r in (batch[0], batch[-1]) if r.time is not None]
        stamped = [(r.line.number, r.time) for r in batch if r.time is not None]
        self._stamped[0].extend(line for line, _ in stamped)
        self._stamped[1].extend(time for _, time in stamped)
        claimed: set[int] = set()
        for parser in LINE_PARSERS:
            events = list(parser.parse(batch, self._context))
            shares = parser.speaker == "progress"
            fresh = [e for e in events if shares or e.line not in claimed]
            if not shares:
                for event in fresh:
                    first = event.fields.get("from_line")
                    claimed.update(range(first if isinstance(first, int) else event.line, event.end_line + 1))
                    claimed.add(event.line)
            self._keep(fresh)
        self._keep(self._unclaimed(batch, claimed))

    def _unclaimed(self, batch: Iterable[Record], claimed: set[int]) -> Iterator[Event]:
        """Yield lines that no speaker claims as plain output, or as log records if they have a level."""
        for record in batch:
            if record.line.number in claimed or not any(a in record.raw for a in self._literals):
                continue
            speaker, kind = ("log", record.level) if record.level else ("output", "line")
            yield quote(speaker, kind, [record], self._context)

    def _keep(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind == "unread":
                self._seen.notes.append(f"{self._context.source.path}: {event.message}")
                continue
            if self._events >= EVENT_CAP:
                self._dropped += 1
                continue
            self._events += 1
            source = self._context.source
            if event.rank is None and source.rank is not None:
                event = replace(event, rank=source.rank)  # noqa: PLW2901 - the file's name says whose it is
            self._seen.events.append(event)

    def _done(self, source: Source) -> Source:
        self._seen.steps.extend(
            replace(s, rank=source.rank) if s.rank is None and source.rank is not None else s
            for s in through_epochs(self._steps)
        )
        if self._dropped:
            self._seen.notes.append(f"{source.path}: {self._dropped} further events beyond {EVENT_CAP} were not kept")
        self._seen.times[source.path] = self._stamped
        if self._clock.back:
            self._seen.notes.append(f"{source.path}{self._clock.told()}")
        if self._times:
            return replace(source, started=min(self._times), ended=max(self._times))
        return source
