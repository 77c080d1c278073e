"""`analyze(paths) -> Report`: the page to read first.

    paths -> sources -> scan -> parsers -> events, steps      (engine.read)
          -> observations                                     (engine.observe)
          -> matches of the rules                             (engine.match)
          -> candidates, roles, because                       (engine.causes)
          -> verdict, findings -> Report

Everything above this module shows or judges a Report; everything below knows one thing.
No clock, environment or network is read here or below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, BinaryIO

from msgspec import Struct

from forensics import __version__, timeline
from forensics.engine.aftermath import handed_on
from forensics.engine.causes import assign, candidates
from forensics.engine.context import status_of
from forensics.engine.executor import Executor, spread
from forensics.engine.findings import findings, quoted
from forensics.engine.full import every_step
from forensics.engine.hearsay import set_aside
from forensics.engine.match import Match, match
from forensics.engine.observe import observe
from forensics.engine.outcome import Outcome, outcome
from forensics.engine.read import read
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.engine.verdict import judge
from forensics.model import Context, Event, Finding, Report, Run, Source, Step
from forensics.rulebook.load import Rulebook, load
from forensics.scan import pick
from forensics.sources import Found, Input, Watch, find, find_in_memory


class Analysis(Struct, frozen=True):
    """A report, and what it does not carry but a judgement of the run may ask for.

    `steps` are the progress records of the attempt in question, with their numbers, and
    `events` what all speakers and the observations said, of every attempt. `finished` tells
    whether somebody said that training came to its end, `reached_total` whether the counter
    itself shows that.
    """

    report: Report
    steps: tuple[Step, ...]
    events: tuple[Event, ...]
    finished: bool
    reached_total: bool


class Collected(Struct, frozen=True):
    """What a run said, without a judgement: for the timeline.

    Of the sources in `thinned`, `steps` are only some; `write_every_row` reads them anew.
    """

    events: tuple[Event, ...]
    steps: tuple[Step, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...]
    thinned: Mapping[str, tuple[Input, Context]]


def analyze(
    paths: Sequence[str],
    *,
    rules: Sequence[str] = (),
    tz: str | None = None,
    stdin: BinaryIO | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> Report:
    """Return the report on the run that `paths` hold.

    `rules` are folders of further rules. `tz` names the zone of times that state none
    (UTC otherwise). `watch` counts what is read, and can end it: the report is then on what
    was read so far, says so, and judges nothing. `executor` decides where it is read: in this
    process and others beside it if none is given. Raises SourceError if a path is not there,
    RulebookError if a rule is unsound, ValueError if `tz` is not a zone.
    """
    return examine(paths, rules=rules, tz=tz, stdin=stdin, watch=watch, executor=executor).report


def examine(
    paths: Sequence[str],
    *,
    rules: Sequence[str] = (),
    tz: str | None = None,
    stdin: BinaryIO | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> Analysis:
    """Return the report on a run together with its steps; arguments and errors as for `analyze`."""
    book = load(rules)
    return conclude(find(paths, stdin, watch, spread), book, tz, executor)


def analyze_files(files: Mapping[str, bytes], book: Rulebook, tz: str | None = None) -> Report:
    """Return the report on a run held in memory: name -> content."""
    return conclude(find_in_memory(files), book, tz).report


def trace_files(files: Mapping[str, bytes], book: Rulebook) -> list[Match]:
    """Return which signals matched which events of a run held in memory: for proving rules."""
    seen = read(find_in_memory(files), book)
    seen.events.extend(observe(seen))
    return match(seen.events, book, seen.sources).matches


def events(
    paths: Sequence[str], *, tz: str | None = None, stdin: BinaryIO | None = None, watch: Watch | None = None
) -> Collected:
    """Return the events and steps of a run, with observations, without concluding anything."""
    found = find(paths, stdin, watch, spread)
    seen = read(found, load(), _offset(tz))
    observed = observe(seen)
    notes = (*_partial(found, seen), *seen.notes)
    return Collected((*seen.events, *observed), tuple(seen.steps), tuple(seen.sources), notes, seen.thinned)


def write_every_row(
    said: Collected,
    format_: timeline.Format,
    stream: IO[bytes],
    choice: timeline.Choice,
    watch: Watch | None = None,
) -> int:
    """Write the timeline with all progress records, in bounded memory, and return how many rows it has.

    Rows come in the order of sources and lines, not of time, and steps are as they were printed.
    Raises OSError if there is no room for temporary files, about as large as the result.
    """
    from tempfile import TemporaryDirectory  # most analyses need none

    watch = watch or Watch()
    watch.expect(item for item, _ in said.thinned.values())
    paths = dict.fromkeys((*(s.path for s in said.sources), *(e.path for e in said.events)))
    with TemporaryDirectory(prefix="dflash-forensics-") as folder:
        every = (frame for path in paths for frame in timeline.stream(*_rows_of(said, path, watch), choice))
        return timeline.write_stream(every, Path(folder), format_, stream)


def _rows_of(said: Collected, path: str, watch: Watch) -> tuple[list[Event], Iterable[Step]]:
    """Return what a source said, and all its progress records in the order of its lines."""
    events = [event for event in said.events if event.path == path]
    if path in said.thinned:
        return events, every_step(*said.thinned[path], watch)
    return events, sorted((s for s in said.steps if s.path == path), key=lambda s: (s.line, s.column))


def conclude(found: Found, book: Rulebook, tz: str | None = None, executor: Executor | None = None) -> Analysis:
    """Return the analysis of sources that were found."""
    seen = read(found, book, _offset(tz), executor)
    seen.events.extend(observe(seen))
    end = outcome(seen)
    matched = match(seen.events, book, seen.sources)
    suspects = candidates(matched.matches, seen, end)
    set_aside(suspects, seen, end)
    assign(suspects, end)
    late = handed_on(suspects, end, seen)
    made = findings(suspects, seen)
    made = quoted(made, _words(found, made))
    root = next((f for f in made if f.role == "root"), None)
    known = {r.id: r.verdict for r in book.rules.values() if r.verdict}
    verdict, reason = judge(made, end, seen, {**known, **late})
    if verdict == "unknown" and reason:
        reason = f"unknown: {reason}"
    partial = _partial(found, seen)
    if partial:  # what was not read may recover from a fault that was, or hold one
        verdict, reason = "unknown", partial[0]
    report = Report(
        run=_run(seen, end, root.evidence[0].path if root else ""),
        verdict=verdict,
        restart_helps=root.restart if root and not partial else ("maybe" if verdict in {"failed", "unknown"} else "no"),
        sources=tuple(seen.sources),
        expected=tuple(seen.expected),
        findings=made,
        notes=(*seen.notes, *matched.problems, *_zone_note(seen, tz)),
        rules_digest=book.digest,
        version=__version__,
        reason=reason,
    )
    said = end.finished is not None or end.hinted is not None
    return Analysis(report, tuple(timeline.placed(seen.current_steps())), tuple(seen.events), said, end.reached_total)


def _run(seen: Seen, end: Outcome, where: str) -> Run:
    logs = [s for s in seen.sources if s.kind in LOG_KINDS and seen.is_current(s.path)]
    ranks = {e.rank for e in seen.events if e.rank is not None} | {s.rank for s in seen.steps if s.rank is not None}
    declared = [e.fields.get("nranks") or e.fields.get("world_size") for e in seen.events]
    sizes = [n for n in declared if isinstance(n, int)]
    programs = {
        f"{e.fields.get('name')} {e.fields.get('version')}"
        for e in seen.events
        if e.kind in {"program", "version"} and e.fields.get("version")
    }
    return Run(
        path=seen.root,
        started=min((s.started for s in logs if s.started is not None), default=None),
        ended=max((s.ended for s in logs if s.ended is not None), default=None),
        last_step=end.last_step,
        total_steps=end.total_steps,
        last_checkpoint_step=timeline.last_checkpoint(
            [e for e in seen.events if seen.is_current(e.path)], seen.current_steps()
        ),
        exit_code=status_of(seen, where) if end.exit_code is None else end.exit_code,
        signal=end.signal,
        world_size=max(sizes, default=len(ranks) or None),
        programs=tuple(sorted(programs)),
    )


def _words(found: Found, made: Sequence[Finding]) -> dict[tuple[str, int], str]:
    """Read the lines that are cited by number only, in one pass over each of their sources."""
    wanted: dict[str, set[int]] = {}
    for finding in made:
        for place in finding.evidence:
            if place.line and not place.text:
                wanted.setdefault(place.path, set()).add(place.line)
    words: dict[tuple[str, int], str] = {}
    for item in found.inputs:
        path = item.source.path
        if path in wanted:
            words |= {(path, number): text for number, text in pick(item.chunks(), wanted[path]).items()}
    return words


def _offset(tz: str | None) -> float:
    if not tz:
        return 0.0
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # most runs need none

    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"not a time zone: {tz}") from error
    offset = zone.utcoffset(datetime(2026, 1, 1))  # noqa: DTZ001 - a wall-clock moment is what is asked for
    return offset.total_seconds() if offset else 0.0


def _partial(found: Found, seen: Seen) -> tuple[str, ...]:
    told = found.watch.told(seen.sources)
    return (told,) if told else ()


def _zone_note(seen: Seen, tz: str | None) -> tuple[str, ...]:
    if not any(s.started is not None for s in seen.sources):
        return ()
    return (f"times without a zone were read as {tz or 'UTC'}",)
