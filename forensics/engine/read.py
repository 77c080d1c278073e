"""Run the scan and the parsers over every source, in bounded memory, losing nothing silently.

Each source, and each part of a large one, is a task of an `Executor`; what they yield is put
together in the order of the sources, so the report is the same wherever they were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from forensics.engine import hints
from forensics.engine.executor import Executor, Forked, local
from forensics.engine.hearing import Hearing, followed, hearing
from forensics.engine.losses import loss_key
from forensics.engine.marks import PartMarks, read_part
from forensics.engine.phases import told_apart
from forensics.engine.reader import UNREAD, Heard, Reader, budget
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.engine.streams import read_stream_part
from forensics.engine.woven import woven
from forensics.model import NO_FIELDS, Context
from forensics.parsers.metrics import STEP_HINT
from forensics.rulebook.lint import UNSPOKEN
from forensics.rulebook.load import Rulebook
from forensics.scan import HEAD_LINES, MOST_ALIKE, Part, PartReader, Plan, split, split_stream
from forensics.sources import Found, Input, Watch
from forensics.sources.watch import STOPPED

STEP_CAP = 24_000
"""Progress records of a run up to which all are kept; beyond it they are thinned, and the report says so."""
FEWEST_STEPS = 40
"""Progress records kept of each source, however many sources there are."""

MANY = 48
"""Sources beyond which less is read in full of each large one: many ranks begin, and repeat themselves, alike."""
MOST_NOTES, SHOWN_NOTES = 24, 8
FEWEST_HEAD, FEWEST_ALIKE = 6, 5


class Setting(Struct, frozen=True):
    """What all tasks of one run have in common.

    `own` holds the rules' literals on lines that no parser asks for; `texts` is how many sources
    the run has that hold text.
    """

    own: tuple[str, ...]
    texts: int
    total_bytes: int

    @property
    def step_cap(self) -> int:
        """How many progress records of each source are all kept."""
        return max(FEWEST_STEPS, STEP_CAP // self.texts)

    def plan(self) -> Plan:
        """Return what the scan looks for."""
        share = min(1.0, MANY / self.texts)
        head = max(FEWEST_HEAD, round(HEAD_LINES * share))
        alike = max(FEWEST_ALIKE, round(MOST_ALIKE * share))
        return Plan(self.hearing().follow, STEP_HINT, loss_key, total_bytes=self.total_bytes, head=head, alike=alike)

    def hearing(self) -> Hearing:
        """Return who hears which of the lines found."""
        return hearing(self.own, self.total_bytes)


class Task(Struct, frozen=True):
    """A source to read, or a part of one."""

    item: Input
    context: Context
    part: Part | None = None


def read(found: Found, book: Rulebook, utc_offset_s: float = 0.0, executor: Executor | None = None) -> Seen:
    """Return what the sources say. Never raises on their content."""
    seen = Seen(found.root, notes=list(found.notes))
    total = sum(i.source.bytes for i in found.inputs)
    years, leads = hints.beginnings(found.inputs)
    common = next((y for y in years.values() if y), None)
    texts = max(1, sum(i.source.kind not in UNREAD for i in found.inputs))
    known = hints.variables(found.inputs)
    setting = Setting(anchors(book), texts, total)
    tasks: list[Task] = []
    for item in found.inputs:
        told = known if item.source.kind == "launch-script" else NO_FIELDS
        context = Context(item.source, years[item.source.path] or common, utc_offset_s, told, leads)
        tasks.extend(Task(item, context, part) for part in _parts(item, setting))
    setting.plan().matcher()  # made once, before processes begin as copies of this one
    where = executor or local(total)
    log = next((task for task in tasks if task.item.source.kind in LOG_KINDS), None)
    if isinstance(where, Forked) and log is not None:
        Reader(log.context, setting.hearing(), setting.step_cap).warm(log.item, setting.plan(), setting.plan().matcher)
    # A cluster has its own processes, which no memory of this one reaches.
    results = where.map(partial(perform, setting, watch=None if executor else found.watch), tasks)
    left_out: list[str] = []
    read_as = {task.item.source.path: (task.item, task.context) for task in tasks}
    for heard in _together(setting, tasks, results):
        _add(seen, heard, found.watch)
        if heard.thinned:
            seen.thinned[heard.source.path] = read_as[heard.source.path]
        left_out.extend(heard.left_out)
        if executor is not None:
            found.watch.saw(heard.source.bytes)
    seen.notes.extend(_summary(left_out))
    seen.events = told_apart(seen.events, seen.steps)
    seen.current = max((s.attempt for s in seen.sources), default=0)
    seen.events.extend(woven(seen, found.inputs, found.watch))
    return seen


def perform(setting: Setting, task: Task, watch: Watch | None = None) -> Heard | PartMarks:
    """Read a source, or look through a part of one; where reading was stopped, nothing more."""
    item, plan = task.item, setting.plan()
    watch = watch or Watch()
    reader = Reader(task.context, setting.hearing(), setting.step_cap, watch)
    if task.part is None:
        return Heard(watch.left_out(item.source)) if watch.stopped else reader.read(item, plan, plan.matcher)
    watch.name = item.source.path
    kept = budget(item, setting.step_cap)
    if item.plain_path is None:
        found = read_stream_part(item, task.part, plan, plan.matcher(), task.context, kept, watch)
    else:
        part = PartReader(item.plain_path, task.part)
        found = read_part(part, task.part, plan, plan.matcher(), task.context, kept, watch)
    return found if task.part.count > 1 else reader.join(item, [found])


def _parts(item: Input, setting: Setting) -> Sequence[Part | None]:
    source = item.source
    parted = (item.plain_path is not None or item.cheap) and source.kind in LOG_KINDS and not source.pane_width
    if not parted or source.read == "skipped" or not budget(item, setting.step_cap):
        return (None,)
    if item.plain_path is not None:
        return split(source.bytes)
    found = split_stream(item.reckoned())
    return found if len(found) > 1 else (None,)


def _together(setting: Setting, tasks: Sequence[Task], results: Iterator[Heard | PartMarks]) -> Iterator[Heard]:
    """Yield what each source said. A file's parts are put together while the next ones are read."""
    pairs = zip(tasks, results, strict=True)
    for task, result in pairs:
        if isinstance(result, Heard):
            yield result
        else:
            reader = Reader(task.context, setting.hearing(), setting.step_cap)
            yield reader.join(task.item, _whole(task, result, pairs))


def _whole(task: Task, result: PartMarks, pairs: Iterator[tuple[Task, Heard | PartMarks]]) -> Iterator[PartMarks]:
    """Yield the parts of a file up to its last one, or to the first at which reading was stopped."""
    yield result
    stopped = result.stopped
    while task.part is not None and not task.part.last:
        task, part = next(pairs)
        if isinstance(part, PartMarks) and not stopped:  # behind a gap nobody knows the numbers of lines
            yield part
            stopped = part.stopped


def _summary(left_out: Sequence[str]) -> Sequence[str]:
    """Return the notes on what was left out of large sources; of very many, the first ones and their number."""
    if len(left_out) <= MOST_NOTES:
        return left_out
    return (*left_out[:SHOWN_NOTES], f"{len(left_out) - SHOWN_NOTES} more notes say the same of other sources")


def _add(seen: Seen, heard: Heard, watch: Watch) -> None:
    path = heard.source.path
    if STOPPED in heard.source.why and heard.source.read == "partial":
        watch.cut.add(path)  # a process of its own may have told nobody else
        heard.tail = None  # where reading was stopped says nothing of how the file ends
    seen.sources.append(heard.source)
    seen.events.extend(heard.events)
    seen.steps.extend(heard.steps)
    seen.notes.extend(heard.notes)
    if heard.tail is not None:
        seen.tails[path] = heard.tail
    if heard.times is not None:
        seen.times[path] = heard.times


def literals(book: Rulebook) -> dict[bytes, int]:
    """Return what makes a line worth handing over, and how many lines after it: parsers' triggers, rules' anchors."""
    return followed(anchors(book))


def anchors(book: Rulebook) -> tuple[str, ...]:
    """Return the literals of rules on lines that no parser asks for."""
    signals = [s for rule in book.rules.values() for s in rule.signal if UNSPOKEN & set(s.speaker)]
    return tuple(dict.fromkeys(a for s in signals for a in s.anchors or book.required(s.pattern)))
