"""The words of the program, as frozen data: line, record, event, step, source, finding, report.

Nothing here reads a file, looks at a clock or knows a format. Every other floor
speaks in these types, so a reader who knows this page can read any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, Union

from msgspec import Struct, field

Value: TypeAlias = Union[str, int, float, bool, tuple["Value", ...], None]  # noqa: UP007 - a forward reference
"""What a fact or a field may hold: plain data that JSON can carry."""

Fields: TypeAlias = Mapping[str, Value]

NO_FIELDS: Fields = MappingProxyType({})


def _no_fields() -> Fields:
    return NO_FIELDS


Severity: TypeAlias = Literal["error", "warning", "info"]
Confidence: TypeAlias = Literal["high", "medium", "low"]
Role: TypeAlias = Literal["root", "cause", "consequence", "note"]
Verdict: TypeAlias = Literal["healthy", "degraded", "failed", "unknown"]
Restart: TypeAlias = Literal["no", "maybe", "yes"]
State: TypeAlias = Literal["whole", "empty", "torn", "nul-tail", "cut", "window", "stale"]
Read: TypeAlias = Literal["all", "partial", "skipped"]
Level: TypeAlias = Literal["error", "warning", "note"]
Standing: TypeAlias = Literal["pass", "fail", "unknown", "known", "ignored"]
Status: TypeAlias = Literal["pass", "fail", "unknown"]
Hears: TypeAlias = Literal["lines", "blocks", "all"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Line(Struct, frozen=True):
    r"""One logical line of a source: a `\n` line, or one `\r` record of it.

    `number` counts `\n` only, as an editor does, from 1. `column` is the character
    at which the record starts in that line (0 unless a `\r` came before it).
    `offset` is the byte offset of the record in the decompressed stream.
    `end` is the last physical line, larger than `number` where a terminal had
    wrapped the line. `gap` says that the line before it was not handed over.
    `complete` is false for a last record without a line end.
    """

    number: int
    column: int
    offset: int
    text: str
    end: int = 0
    gap: bool = False
    complete: bool = True


class Record(Struct, frozen=True):
    """A line with its wrapping peeled off: what was said, and by whom, as far as a prefix tells.

    `text` is the message without escape sequences and without prefixes; `raw` is the
    line as it stands in the file. `rank` is the global rank named by the prefix,
    `lane` a thread or actor name such as `drafter 2`. `time` is seconds since the
    epoch (UTC) or None. `level` is lower case (`info`, `warning`, `error`).
    """

    line: Line
    text: str
    raw: str
    time: float | None = None
    rank: int | None = None
    lane: str | None = None
    host: str | None = None
    pid: int | None = None
    level: str | None = None


class Event(Struct, frozen=True):
    """What one speaker said (or what an observation found), with where it stands.

    `speaker` is who said it (`exception`, `kernel`, `nccl`, `observed`, ...), `kind`
    what it is within that speaker's vocabulary. Rules match `message`; people see
    `text`, which is verbatim. `also` holds further places that decide the event.
    """

    speaker: str
    kind: str
    path: str
    line: int
    text: str
    message: str = ""
    end_line: int = 0
    column: int = 0
    time: float | None = None
    rank: int | None = None
    lane: str | None = None
    host: str | None = None
    pid: int | None = None
    fields: Fields = field(default_factory=_no_fields)
    also: tuple[Evidence, ...] = ()

    @property
    def place(self) -> Evidence:
        """Return where it stands, with its words."""
        return Evidence(self.path, self.line, self.end_line, self.text)


class Step(Struct, frozen=True):
    """One progress record: sizes in bytes, durations in seconds, NaN kept as NaN. `epochs` are those planned."""

    path: str
    line: int
    column: int
    step: int | None
    total: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    tokens_per_s: float | None = None
    memory_bytes: int | None = None
    step_time_s: float | None = None
    data_time_s: float | None = None
    time: float | None = None
    rank: int | None = None
    lane: str | None = None
    keys: tuple[str, ...] = ()
    series: str = "train"


class Evidence(Struct, frozen=True):
    """A place in a source, with its words. `line` 0 means the file as a whole."""

    path: str
    line: int
    end_line: int
    text: str
    column: int = 0


class Source(Struct, frozen=True):
    """One file of evidence as found: what it is, how whole it is, how much was read.

    `path` is relative to the run (archive members read `logs.tar.gz!train.log`).
    `attempt` orders several tries in one folder: the highest is the run in question.
    `rank` and `host` are hints taken from the file's name.
    """

    path: str
    kind: str
    bytes: int
    lines: int = 0
    state: State = "whole"
    read: Read = "all"
    why: str = ""
    attempt: int = 0
    rank: int | None = None
    host: str | None = None
    mtime: float | None = None
    pane_width: int | None = None
    nul_bytes: int = 0
    started: float | None = None
    ended: float | None = None


class Expected(Struct, frozen=True):
    """A file that a launch line promised."""

    path: str
    state: Literal["present", "missing", "empty", "stale"]
    promised_by: Evidence
    nearest: str | None = None


class Fix(Struct, frozen=True):
    """A change to make, reviewable: environment, arguments, or a diff of the script."""

    id: str
    title: str
    detail: str = ""
    safe: bool = False
    env: Fields = field(default_factory=_no_fields)
    args: Fields = field(default_factory=_no_fields)
    script: str = ""


class Finding(Struct, frozen=True):
    """One thing found, with its evidence. There is no finding without evidence."""

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    role: Role
    evidence: tuple[Evidence, ...]
    ranks: tuple[int, ...] = ()
    time: float | None = None
    facts: Fields = field(default_factory=_no_fields)
    because: tuple[str, ...] = ()
    explanation: str = ""
    fixes: tuple[Fix, ...] = ()
    restart: Restart = "maybe"


class Run(Struct, frozen=True):
    """What is known of the run as a whole. Times are seconds since the epoch, UTC."""

    path: str
    started: float | None = None
    ended: float | None = None
    last_step: int | None = None
    total_steps: int | None = None
    last_checkpoint_step: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    world_size: int | None = None
    programs: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """The answer: verdict, at most one root, the chain, and everything left out."""

    run: Run
    verdict: Verdict
    restart_helps: Restart
    sources: tuple[Source, ...]
    expected: tuple[Expected, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    rules_digest: str = ""
    version: str = ""
    reason: str = ""

    @property
    def root(self) -> Finding | None:
        """The finding to fix first, or None."""
        return next((f for f in self.findings if f.role == "root"), None)


class Check(Struct, frozen=True):
    """One thing that a gate looked at: a finding, or a condition of the policy.

    `name` is the finding's id, or `gate.` and what was asked for. `known` stands in the
    baseline, `ignored` is what the policy lets pass; `reason` says why. `text` is one sentence.
    """

    name: str
    standing: Standing
    level: Level
    text: str
    evidence: tuple[Evidence, ...] = ()
    finding: Finding | None = None
    fingerprint: str = ""
    reason: str = ""


class Decision(Struct, frozen=True):
    """What a gate decided about a run, and everything it looked at."""

    status: Status
    report: Report
    checks: tuple[Check, ...]
    policy: str = ""

    @property
    def exit_status(self) -> int:
        """Return the status of the command: 0 pass, 1 fail, 3 cannot tell (2 is wrong usage)."""
        return {"pass": 0, "fail": 1, "unknown": 3}[self.status]

    def of(self, *standings: Standing) -> tuple[Check, ...]:
        """Return the checks that stand so, in their order."""
        return tuple(check for check in self.checks if check.standing in standings)


class Context(Struct, frozen=True):
    """What a parser may know besides the lines: never the clock, never the machine.

    `default_year` completes dates that print none (glog, syslog); `utc_offset_s` is
    the offset of local times that name no zone, 0 unless the user said otherwise. `leads`
    has what stands before the lines of this run's logs in no known form (`text.leads`).
    """

    source: Source
    default_year: int | None = None
    utc_offset_s: float = 0.0
    hints: Fields = field(default_factory=_no_fields)
    leads: tuple[str, ...] = ()


class LineParser(Protocol):
    """Reads the voice of one speaker out of a text that many speakers share.

    The scan hands over each line that holds one of `triggers`, and `follow` lines
    after it, so a parser that sees nothing of its own yields nothing. A parser never
    raises on any text, keeps state in locals only, and closes what is open when the
    lines end or a `gap` cuts them.

    What it hears of that: `lines`, only those that hold a trigger, each by itself;
    `blocks`, all that stand around one; `all`, also where there is none.
    """

    @property
    def speaker(self) -> str:
        """Whose voice it is: the `speaker` of its events."""
        ...

    @property
    def triggers(self) -> tuple[str, ...]:
        """Literals that make the scan hand over a line."""
        ...

    @property
    def follow(self) -> int:
        """How many lines after a trigger are handed over as well."""
        ...

    @property
    def hears(self) -> Hears:
        """Which of the lines handed over it is given."""
        ...

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield this speaker's events in the order of their lines."""
        ...


class FileParser(Protocol):
    """Reads a whole artefact (a dump, a table, a script) of the kinds it names."""

    @property
    def speaker(self) -> str:
        """Whose voice it is: the `speaker` of its events."""
        ...

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of source that it reads."""
        ...

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield events of the artefact; `data` is the decompressed content, capped."""
        ...
