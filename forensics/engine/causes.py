"""Who explains whom: from matches to findings with roles, and at most one root."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cmp_to_key

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.engine.match import Match
from forensics.engine.outcome import Outcome
from forensics.engine.progress import Progress
from forensics.engine.recovery import answered, answers_of, ends_of, recovered
from forensics.engine.seen import UNTIMED, Seen
from forensics.engine.services import Services
from forensics.engine.starts import last_starts
from forensics.engine.whose import Whose
from forensics.model import SEVERITIES, Event, Role, Severity
from forensics.rulebook.groups import members
from forensics.rulebook.schema import Rule

SLACK_S = 2.0
"""Clocks of ranks and of the kernel may differ by this much."""
REPORTED_LATE_S = 30.0
"""The kernel writes at once what a program, whose GPU works on while it waits, reports only later.

So do the partners of a process that closes its connections, then ends its threads, and then prints its traceback."""
_SENT = frozenset({"scheduler.cancelled", "host.killed-signal"})
"""How tasks end that the launcher stops because another one failed."""


class Candidate(Struct):
    """All matches of one rule that count, in the order in which they happened."""

    rule: Rule
    matches: list[Match]
    severity: Severity
    hint: str
    recovered: bool = False
    earlier: bool = False
    unrelated: bool = False
    quoted: bool = False
    named: bool = False
    """Whether our logs name a process of which the kernel speaks here."""
    by_itself: bool = False
    """Whether it stands in the log of a task that ended with a status of its own, before others were ended."""
    because: list[str] = field(default_factory=list)
    role: Role = "note"
    start: tuple[float, float] = UNTIMED
    """The moments between which the first match lies; the same one twice where its line has a time."""
    stop: tuple[float, float] = UNTIMED
    """The moments between which the last match lies."""

    @property
    def id(self) -> str:
        """The cause's id."""
        return self.rule.id

    @property
    def active(self) -> bool:
        """Tell whether it can be part of the chain of this attempt's failure."""
        return not (self.recovered or self.earlier or self.unrelated or self.quoted) and self.hint != "note"


def candidates(matches: Iterable[Match], seen: Seen, end: Outcome) -> list[Candidate]:
    """Group matches by rule, and set aside what recovered, is of an earlier try, or of another job."""
    groups: dict[str, list[Match]] = defaultdict(list)
    for match in matches:
        groups[match.rule.id].append(match)
    progress = Progress(seen.steps)
    whose, services = Whose(seen, progress), Services(seen)
    starts = last_starts(seen)
    ends = ends_of(seen, starts)
    at_work = bool(seen.current_steps())
    answers = answers_of(seen)
    found = []
    for group in groups.values():
        # What tmux itself says is of now, whatever run its panes show.
        current = [
            m
            for m in group
            if m.event.speaker == "tmux"
            or (
                seen.is_current(m.event.path)
                and m.event.line >= starts.get(m.event.path, 0)
                and not whose.of_an_earlier_try(m.event)
            )
        ]
        related = [m for m in current if not whose.foreign(m.event) and not _refuted(m, progress, at_work=at_work)]
        # A warning is no fault to recover from: what it warned of may show many steps later.
        lasting = [
            m
            for m in related
            if not answered(m.event, answers)
            and (
                _severity(m) != "error"
                or (end.finished is None and not end.reached_total and services.ended(m.event))
                or not (whose.outlived(m.event) or recovered(m.event, progress, ends, end))
            )
        ]
        chosen = lasting or related or current or group
        order = sorted(chosen, key=lambda m: _position(m.event))
        hints = {m.signal.role for m in order}
        hint = next(h for h in ("cause", "consequence", "note") if h in hints)
        first = next(m for m in order if m.signal.role == hint)
        # The worst of what was said counts: an early warning does not soften a later error.
        said = {_severity(m) for m in order if m.signal.role == hint}
        severity = next(s for s in SEVERITIES if s in said)
        found.append(
            Candidate(
                first.rule,
                order,
                severity,
                hint,
                recovered=bool(related) and not lasting,
                earlier=not current,
                unrelated=bool(current) and not related,
                named=any(whose.named(m.event) for m in order),
                by_itself=any(whose.left_by_itself(m.event) for m in order),
                start=seen.moments(order[0].event),
                stop=seen.moments(order[-1].event),
            )
        )
    return found


def _refuted(match: Match, progress: Progress, *, at_work: bool) -> bool:
    """Tell whether the program worked before somebody said that it was never started: another command was not."""
    if match.rule.id != "capture.never-started":
        return False
    of_all = match.event.speaker == "status" or match.event.kind == "submit-refused"
    return at_work if of_all else progress.all_before(match.event) > 0


def _severity(match: Match) -> Severity:
    return match.signal.severity or match.rule.severity


def assign(found: Sequence[Candidate], end: Outcome) -> None:
    """Set `because` and `role` of every candidate: at most one root."""
    ids = [c.id for c in found]
    certain = {c.id: members([n for m in c.matches for n in m.signal.explains], ids, c.id) for c in found}
    followed = [c.id for c in found if c.hint == "consequence"]
    explains = {c.id: members(c.rule.explains, ids, c.id, followed) | certain[c.id] for c in found}
    live = [c for c in found if c.active]
    if not any(c.severity == "error" for c in live) and end.bad:
        # The status says that it failed, so a fault that seemed to recover did not.
        for candidate in found:
            candidate.recovered = False
        live = [c for c in found if c.active]
    if _only_the_machine(live, end):
        for candidate in live:
            candidate.recovered = candidate.severity == "error"
        live = [c for c in found if c.active]
    for candidate in live:
        candidate.because = [
            c.id
            for c in live
            if c is not candidate
            and c.hint == "cause"
            and candidate.id in explains[c.id]
            and c.id not in certain[candidate.id]
            and not (candidate.by_itself and c.id in _SENT)
            and (candidate.id in certain[c.id] or _before(c, candidate))
        ]
    _break_circles(live)
    root = _root(live, end)
    for candidate in found:
        candidate.role = _role(candidate, root, live)
    if root is None:
        return
    for candidate in live:
        if candidate.role == "consequence" and not candidate.because:
            candidate.because = [root.id]


def _only_the_machine(live: Sequence[Candidate], end: Outcome) -> bool:
    """Tell whether the run came to a good end and only the kernel complains, of what came before: another's process."""
    errors = [c for c in live if c.severity == "error"]
    if not errors or not replace(end, hinted=None).good:
        return False
    said = end.finished.time if end.finished is not None else None
    finish = said if said is not None else float("inf")
    return all(m.event.speaker == "kernel" for c in errors for m in c.matches) and all(
        c.start[0] <= finish + SLACK_S for c in errors
    )


def _role(candidate: Candidate, root: Candidate | None, live: Sequence[Candidate]) -> Role:
    if candidate is root:
        return "root"
    if root is None or not candidate.active:
        return "note"
    if candidate.because and candidate.hint == "cause":
        return "cause" if any(candidate.id in c.because for c in live) else "consequence"
    return "consequence" if candidate.because or candidate.hint == "consequence" else "note"


def _root(live: Sequence[Candidate], end: Outcome) -> Candidate | None:
    """Choose among causes that nothing explains: errors, then warnings, then what is only odd about the capture."""
    unexplained = [c for c in live if not c.because]
    program = [c for c in unexplained if not _capture(c)]
    capture = [c for c in unexplained if _capture(c)]
    tiers = (
        [c for c in program if _worst(c)],
        # What only follows from something is noise where the run came to a good end.
        [] if end.good else [c for c in program if c.severity == "error"],
        # A warning that led to an error is worth more than what is odd about the capture of it.
        [c for c in program if c.hint == "cause" and _led_to_error(c, live)],
        [c for c in capture if _worst(c) and (not end.good or _unstarted(c, end) or _led_to_error(c, live))],
        [c for c in program if c.severity == "warning" and c.hint == "cause"],
        [] if end.good else [c for c in capture if not (end.running and _unfinished(c))],
        [] if end.good or end.running else [c for c in program if _gone(c)],
    )
    for tier in tiers:
        if tier:
            return min(tier, key=cmp_to_key(_earlier))
    return None


def _worst(candidate: Candidate) -> bool:
    return candidate.severity == "error" and candidate.hint == "cause"


def _led_to_error(candidate: Candidate, live: Sequence[Candidate]) -> bool:
    return any(e.severity == "error" and candidate.id in e.because for e in live)


def _gone(candidate: Candidate) -> bool:
    """Tell whether a look at the machine shows that training is gone: all that is known where nothing says why."""
    return any(m.event.kind == "left-empty" for m in candidate.matches)


def _unfinished(candidate: Candidate) -> bool:
    """Tell whether all that is odd is a last line without its end, as the log of a run that is at work has."""
    return all(m.event.kind == "torn" for m in candidate.matches)


def _unstarted(candidate: Candidate, end: Outcome) -> bool:
    """Tell whether Slurm could not start the program: the status 0 is then that of the script around it."""
    if end.finished is not None or end.hinted is not None or end.last_step is not None:
        return False
    return any(m.event.speaker == "slurm" and m.event.kind == "exec-failed" for m in candidate.matches)


def _capture(candidate: Candidate) -> bool:
    return candidate.id.startswith("capture.")


def _earlier(a: Candidate, b: Candidate) -> int:
    """Order causes: fallbacks last, then by the time of the first match, then as the rules say, then by place."""
    if a.rule.fallback != b.rule.fallback:
        return 1 if a.rule.fallback else -1
    first, second = a.matches[0].event, b.matches[0].event
    if first.path == second.path and abs(a.rule.order - b.rule.order) < 20:
        return ((first.line, first.column) < (second.line, second.column) and -1) or 1
    slack = _slack(first, second)
    if a.start[1] + slack < b.start[0] or b.start[1] + slack < a.start[0]:
        return -1 if a.start[1] < b.start[0] else 1
    program, machine = (b, a) if _of_the_machine(a) else (a, b)
    if _of_the_machine(machine) and not _of_the_machine(program) and _undated(a, b) and _its_own(program):
        return -1 if program is a else 1
    if (places := _shared(a, b)) and abs(a.rule.order - b.rule.order) < 20:
        return -1 if places[0] < places[1] else 1
    if a.rule.order != b.rule.order:
        return a.rule.order - b.rule.order
    return -1 if (first.path, first.line) <= (second.path, second.line) else 1


def _of_the_machine(candidate: Candidate) -> bool:
    """Tell whether only the kernel speaks of a cause, and of no process that our logs name."""
    return not candidate.named and all(m.event.speaker == "kernel" for m in candidate.matches)


def _its_own(candidate: Candidate) -> bool:
    """Tell whether a fault is the program's own: no broken GPU and no dead process look like it."""
    return not candidate.id.startswith(("gpu.", "comm.", "host."))


def _undated(a: Candidate, b: Candidate) -> bool:
    """Tell whether no time relates two causes, so that nothing puts the kernel's line within the run.

    What a program says of its own fault, which the kernel's would not bring about, then counts more.
    """
    return any(UNTIMED[0] in {c.start[0], c.stop[0]} and UNTIMED[1] in {c.start[1], c.stop[1]} for c in (a, b))


def _shared(a: Candidate, b: Candidate) -> tuple[int, int] | None:
    """Return the first lines of two causes in a source that speaks of both; None where none does."""
    ours = {m.event.path: m.event.line for m in reversed(a.matches) if m.signal.role == a.hint}
    theirs = {m.event.path: m.event.line for m in reversed(b.matches) if m.signal.role == b.hint}
    path = next((path for path in ours if path in theirs and ours[path] != theirs[path]), None)
    return (ours[path], theirs[path]) if path is not None else None


def _before(a: Candidate, b: Candidate) -> bool:
    """Tell whether `a` can have come before `b`: not when times or places say otherwise."""
    first, last = a.matches[0].event, b.matches[-1].event
    if first.path == last.path and first.line == last.line:
        return True
    slack = _slack(first, last) if last.speaker == "kernel" else SLACK_S
    if _unwinds(a, b):
        slack = REPORTED_LATE_S
    if first.time is not None and last.time is not None:
        return first.time <= last.time + slack
    if first.path == last.path and first.rank == last.rank and "observed" not in {first.speaker, last.speaker}:
        return first.line <= last.end_line
    return a.start[0] <= b.stop[1] + slack


def _unwinds(a: Candidate, b: Candidate) -> bool:
    """Tell whether `a` is a process's own fault, told when all is unwound, and `b` how others saw it go before that.

    What no restart can mend was wrong from the start, so a connection that broke is not how it came about.
    """
    own = a.rule.restart == "no" and a.matches[0].event.speaker == "exception" and not a.id.startswith("comm.")
    return own and b.id.startswith("comm.") and a.matches[0].event.path != b.matches[-1].event.path


def _slack(first: Event, second: Event) -> float:
    """Return by how many seconds the times of two lines may differ where they speak of one moment."""
    return REPORTED_LATE_S if (first.speaker == "kernel") != (second.speaker == "kernel") else SLACK_S


def _break_circles(live: Sequence[Candidate]) -> None:
    """Where two causes explain each other, keep the explanation by the earlier one."""
    by_id = {c.id: c for c in live}
    for candidate in live:
        for name in list(candidate.because):
            other = by_id[name]
            if candidate.id in other.because:
                loser = candidate if _earlier(candidate, other) < 0 else other
                winner = other if loser is candidate else candidate
                loser.because.remove(winner.id)
    while ring := _ring(live):
        min(ring, key=cmp_to_key(_earlier)).because.clear()


def _ring(live: Sequence[Candidate]) -> list[Candidate]:
    """Return the causes that explain one another in a circle, where nothing outside it explains any of them."""
    because = {c.id: set(c.because) for c in live}
    for candidate in live:
        behind: set[str] = set()
        ahead = set(candidate.because)
        while ahead:
            behind |= ahead
            ahead = set().union(*(because[name] for name in ahead)) - behind
        if candidate.id in behind and all(because[name] for name in behind):
            return [c for c in live if c.id in behind]
    return []


def _position(event: Event) -> tuple[float, str, int, int]:
    since = event.fields.get("waiting_since")
    time = since if isinstance(since, float) else event.time
    return (time if time is not None else float("inf"), event.path, event.line, event.column)
