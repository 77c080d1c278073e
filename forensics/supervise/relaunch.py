"""The plan of a second try, as data: what changes, why, from which checkpoint, and whether it will help.

    report -> fixes, hardware to leave out -> changes of command and environment
    journal -> attempts so far             -> policy -> may it, will it help, when
    disk    -> newest whole checkpoint     -> where it goes on

Nothing is changed or started here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from forensics.analyze import Analysis, analyze, examine
from forensics.model import Event, Evidence, Finding, Fix, Report
from forensics.supervise import arguments, journal, policy
from forensics.supervise.checkpoints import Choice, choose, places
from forensics.supervise.secrets import WITHHELD, is_secret_name, redact_text

MOST_TRIES = 12
"""Attempts that are analysed for the story; older ones count as they were recorded."""


class NoPlanError(Exception):
    """There is nothing to plan with; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for beside the defaults."""

    fixes: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    resume_option: str | None = None
    checkpoints: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One change: of the environment, of an option, of the command, or of what a scheduler is asked for."""

    kind: Literal["env", "arg", "scheduler", "command"]
    name: str
    before: str | None
    after: str
    reason: str
    evidence: tuple[Evidence, ...] = ()
    fix: str = ""
    mends: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A fix that is not applied: by choice, or because only a person can."""

    id: str
    title: str
    cause: str
    machine: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The next try. `command` and `environment` are what would be started."""

    report: Report
    tries: tuple[policy.Try, ...]
    before: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    changes: tuple[Change, ...]
    offers: tuple[Offer, ...]
    checkpoints: Choice
    resumes: str
    decision: policy.Decision
    cwd: Path | None
    folder: Path
    withheld: bool = False
    """Whether a part of the command is known only as redacted, so that it cannot be started."""

    def journalled(self) -> dict[str, object]:
        """Return what the record of the next attempt says of why it is made."""
        chosen = self.checkpoints.chosen
        return {
            "after": self.tries[-1].number if self.tries else None,
            "cause": self.report.root.id if self.report.root else None,
            "changes": [
                {"kind": c.kind, "name": c.name, "before": _told(c.name, c.before), "after": _told(c.name, c.after),
                 "fix": c.fix, "reason": c.reason}
                for c in self.changes
            ],
            "checkpoint": str(chosen.path) if chosen else None,
            "checkpoint_step": chosen.step if chosen else None,
            "helps": self.decision.helps,
            "reasons": list(self.decision.reasons),
        }  # fmt: skip


def plan(folder: Path, wish: Wish, rules: policy.Policy, now: float, buses: Sequence[str] = ()) -> Plan:
    """Make the plan for a folder that a run left.

    Args:
        folder: where its attempts are, or its evidence.
        wish: what the user asked for.
        rules: the policy.
        now: seconds since the epoch.
        buses: the PCI addresses of this machine's GPUs in their order, where known.

    Raises:
        NoPlanError: no command is known, or a fix is asked for that there is none of.
    """
    analysis = examine([str(folder)])
    report = analysis.report
    attempts = journal.attempts(folder)
    before, cwd, known = _command(analysis, attempts)
    base = wish.command or before
    if not base:
        raise NoPlanError("the command of the run is not known; give it after --")
    changes = [
        *_from_fixes(report, wish, known, base),
        *_excluded(report, known, buses),
        *_by_hand(wish, before, known),
    ]
    choice = choose(wish.checkpoints or _places(base, cwd, analysis, folder))
    resumed, resumes = _resumed(base, choice, wish)
    changes += resumed
    command, environment = list(base), {}
    for change in changes:
        if change.kind == "arg":
            command = arguments.with_option(command, change.name, change.after)
        elif change.kind == "env":
            environment[change.name] = change.after
    root = report.root
    asked = policy.Asked(
        restart=report.restart_helps,
        mends=tuple(dict.fromkeys(c.fix for c in changes if c.mends)),
        excludes=tuple(f"{c.name}={c.after}" for c in changes if c.fix == EXCLUDE),
        changed_by_hand=bool(wish.environment or wish.arguments or (wish.command and tuple(wish.command) != before)),
    )
    tries = _tries(attempts, report, choice)
    decision = policy.decide(rules, tries, asked, now)
    if report.verdict == "healthy":
        decision = policy.Decision(may=False, helps="no", reasons=("the run is healthy: there is nothing to repeat",))
    elif attempts and journal.still_runs(attempts[-1].record):
        decision = policy.Decision(may=False, helps="no", reasons=("it still runs",))
    elif root is None and report.verdict == "unknown":
        reason = f"the cause is not known ({report.reason}); a second try under the supervisor will leave evidence"
        decision = replace(decision, reasons=(*decision.reasons, reason))
    applied = {c.fix for c in changes}
    return Plan(
        report, tries, before, tuple(command), environment, tuple(changes), _offers(report, applied), choice, resumes,
        decision, cwd, folder, withheld=any(WITHHELD in word for word in command),
    )  # fmt: skip


EXCLUDE = "leave-out"


def _command(
    analysis: Analysis, attempts: Sequence[journal.Attempt]
) -> tuple[tuple[str, ...], Path | None, Mapping[str, str]]:
    """Return command, folder and environment of the last attempt; else the command that a launch script wraps."""
    if attempts and attempts[-1].record.get("command"):
        record = attempts[-1].record
        return tuple(map(str, record["command"])), Path(str(record.get("cwd", "."))), record.get("env", {})
    for event in analysis.events:
        if event.speaker == "launch" and event.kind == "start" and event.fields.get("start_command"):
            return ("bash", "-c", str(event.fields["start_command"])), None, {}
    return (), None, {}


def _chain(report: Report) -> list[Finding]:
    """Return what ended the run: the root, and the causes between it and the end."""
    return [f for f in report.findings if f.role in {"root", "cause"}]


def _from_fixes(report: Report, wish: Wish, known: Mapping[str, str], command: Sequence[str]) -> list[Change]:
    wanted, found = set(wish.fixes), []
    for finding in _chain(report):
        for fix in finding.fixes:
            names = {fix.id, f"{finding.id}/{fix.id}"}
            if not (fix.env or fix.args) or not (wanted & names or (fix.safe and not wish.fixes)):
                continue
            wanted -= names
            found += _changes_of(fix, finding, known, command)
    if wanted:
        offered = ", ".join(o.id for o in _offers(report, set()) if o.machine) or "none can be applied by machine"
        raise NoPlanError(f"no such fix here: {', '.join(sorted(wanted))} (there is: {offered})")
    return found


def _changes_of(fix: Fix, finding: Finding, known: Mapping[str, str], command: Sequence[str]) -> list[Change]:
    """Return the changes of a fix; what only lets the next failure tell more mends nothing."""
    mends = finding.role == "root" and not (fix.env and not fix.args and set(fix.env) <= policy.REVEALING)
    made = [
        Change("env", n, known.get(n), str(v), f"{fix.title} ({finding.id})", finding.evidence[:1], fix.id, mends)
        for n, v in fix.env.items()
    ]
    words = arguments.all_words(command)
    for name, value in fix.args.items():
        kind: Literal["arg", "scheduler"] = "scheduler" if name in arguments.SCHEDULER else "arg"
        old = arguments.value_of(words, name)
        why = f"{fix.title} ({finding.id})"
        made.append(Change(kind, name, old, str(value), why, finding.evidence[:1], fix.id, mends))
    return made


def _excluded(report: Report, known: Mapping[str, str], buses: Sequence[str]) -> list[Change]:
    """Leave out the GPU or the node whose fault ended the run."""
    found: list[Change] = []
    for finding in _chain(report):
        if finding.id not in policy.HARDWARE:
            continue
        reason = f"{finding.id}: {finding.title}"
        old = known.get("CUDA_VISIBLE_DEVICES")
        kept = _others(finding, old, buses)
        if kept is not None:
            found.append(Change("env", "CUDA_VISIBLE_DEVICES", old, kept, reason, finding.evidence[:1], EXCLUDE))
        node = finding.facts.get("node")
        if isinstance(node, str) and node:
            found.append(Change("scheduler", "--exclude", None, node, reason, finding.evidence[:1], EXCLUDE))
    return found


def _others(finding: Finding, visible: str | None, buses: Sequence[str]) -> str | None:
    """Return the GPUs without the one that failed: by the program's number, or by its place on the bus."""
    device, pci = finding.facts.get("device"), finding.facts.get("pci")
    if isinstance(device, int):
        return policy.visible_without(visible, len(buses) or None, device)
    if not isinstance(pci, str):
        return None
    number = next((n for n, bus in enumerate(buses) if _slot(bus) == _slot(pci)), None)
    if number is None:
        return None
    names = [n.strip() for n in visible.split(",")] if visible else [str(n) for n in range(len(buses))]
    return policy.visible_without(",".join(names), None, names.index(str(number))) if str(number) in names else None


def _slot(pci: str) -> str:
    """Return the part of a PCI address that all spellings share: 0000:3B:00.0, 00000000:3b:00 -> 3b:00."""
    return ":".join(pci.lower().partition(".")[0].split(":")[-2:])


def _by_hand(wish: Wish, before: Sequence[str], known: Mapping[str, str]) -> list[Change]:
    reason = "you asked for it"
    made = [Change("env", n, known.get(n), v, reason) for n, v in wish.environment.items()]
    words = arguments.all_words(wish.command or before)
    made += [Change("arg", n, arguments.value_of(words, n), v, reason) for n, v in wish.arguments.items()]
    if wish.command and tuple(wish.command) != tuple(before):
        made.insert(0, Change("command", "command", " ".join(before) or None, " ".join(wish.command), reason))
    return made


def _places(command: Sequence[str], cwd: Path | None, analysis: Analysis, folder: Path) -> list[Path]:
    told = [str(e.fields[n]) for e in analysis.events if _saves(e) for n in ("path", "missing_path") if e.fields.get(n)]
    found = places(arguments.all_words(command), cwd or Path.cwd(), dict.fromkeys(told))
    return [*found, *([folder] if not found else [])]


def _saves(event: Event) -> bool:
    return event.speaker == "progress" and event.kind.startswith("checkpoint")


def _resumed(command: Sequence[str], choice: Choice, wish: Wish) -> tuple[list[Change], str]:
    """Return the change that makes the program go on from the checkpoint, and how it goes on in words."""
    chosen = choice.chosen
    if chosen is None:
        return [], "no whole checkpoint was found, so it begins anew"
    option = wish.resume_option or arguments.resume_option(command)
    step = f" (step {chosen.step})" if chosen.step is not None else ""
    if option is None:
        return [], (
            f"{chosen.path}{step} is the newest that is whole; the command has no option for it, so unless the "
            "program finds it by itself, name the option: --resume-option --resume"
        )
    old = arguments.value_of(arguments.all_words(command), option)
    if old == "auto":
        return [], f"{chosen.path}{step}, which the program finds by {option} auto"
    reason = "the newest checkpoint that is whole"
    resumes = f"{chosen.path}{step}"
    return ([Change("arg", option, old, str(chosen.path), reason)] if old != str(chosen.path) else []), resumes


def _offers(report: Report, applied: set[str]) -> tuple[Offer, ...]:
    return tuple(
        Offer(fix.id, fix.title, finding.id, machine=bool(fix.env or fix.args))
        for finding in _chain(report)
        for fix in finding.fixes
        if fix.id not in applied
    )


def _tries(attempts: Sequence[journal.Attempt], report: Report, choice: Choice) -> tuple[policy.Try, ...]:
    """Return the attempts so far with the causes of their ends; what a later record tells is not found again."""
    told = {a.record["relaunch"].get("after"): a.record["relaunch"] for a in attempts if a.record.get("relaunch")}
    found: list[policy.Try] = []
    for at, attempt in enumerate(attempts):
        after = told.get(attempt.number, {})
        cause, checkpoint = after.get("cause"), after.get("checkpoint")
        if at == len(attempts) - 1:
            cause = report.root.id if report.root else None
            checkpoint = str(choice.chosen.path) if choice.chosen else None
        elif attempt.number not in told and len(attempts) - at <= MOST_TRIES:
            root = analyze([str(attempt.folder)]).root
            cause = root.id if root else None
        ended = journal.seconds(attempt.record.get("ended"))
        found.append(
            policy.Try(attempt.number, cause, checkpoint, ended, relaunched=bool(attempt.record.get("relaunch")))
        )
    return tuple(found)


def _told(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    return WITHHELD if is_secret_name(name) else redact_text(value)
