"""From candidates to the findings of a report: evidence, ranks, facts, texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from forensics import timeline
from forensics.engine.causes import Candidate
from forensics.engine.context import before_node, exit_of, job_of, node_of, pid_of, ranks_of, start_of, versions_of
from forensics.engine.facts import derived
from forensics.engine.match import Match
from forensics.engine.seen import Seen
from forensics.model import SEVERITIES, Event, Evidence, Finding, Fix, Value
from forensics.rulebook.conditions import holds
from forensics.rulebook.schema import FixSpec
from forensics.text.lazy import lazy

EVIDENCE = 6
"""Places cited for one finding; more would hide the deciding one."""
_PROGRAMS = frozenset(
    {"exception", "c10d", "device", "nccl", "dynamo", "torchelastic", "cuda", "usage", "log", "output"}
)
"""Speakers of whose process a launcher tells the number."""
_PLACE = lazy(r"\{(\w+)\}")
_ORDER = {"root": 0, "cause": 1, "consequence": 2, "note": 3}


def findings(found: Iterable[Candidate], seen: Seen) -> tuple[Finding, ...]:
    """Return the findings, the root first, then its chain, then notes."""
    made = [_finding(c, seen) for c in found]
    return tuple(sorted(made, key=lambda f: (_ORDER[f.role], SEVERITIES.index(f.severity), len(f.because), f.id)))


def _finding(candidate: Candidate, seen: Seen) -> Finding:
    rule = candidate.rule
    hinted = [m for m in candidate.matches if m.signal.role == candidate.hint]
    decisive = next((m for m in hinted if (m.signal.severity or rule.severity) == candidate.severity), hinted[0])
    facts = _facts(candidate, decisive, seen)
    text = _fill((decisive.signal.why or rule.why).strip(), facts)
    if sentence := _first(candidate.matches, "sentence"):
        text = f"{sentence}. {text}"
    if candidate.recovered:
        text = f"The run went on after this. {text}"
    elif candidate.earlier:
        text = f"This belongs to an earlier attempt. {text}"
    elif candidate.quoted:
        text = f"This is only quoted. {text}"
    elif candidate.unrelated:
        text = f"By its time this lies outside the run. {text}"
    return Finding(
        id=rule.id,
        title=_fill(decisive.signal.title or rule.title, facts),
        severity=candidate.severity,
        confidence=decisive.signal.confidence or rule.confidence,
        role=candidate.role,
        evidence=_evidence(candidate, decisive),
        ranks=_ranks(candidate, seen),
        time=decisive.event.time,
        facts={name: value for name, value in facts.items() if rule.facts.get(name) != "text"},
        because=tuple(candidate.because),
        explanation=text,
        fixes=tuple(_fix(f, facts) for f in rule.fix if all(holds(c, facts) for c in f.when)),
        restart=rule.restart,
    )


def _evidence(candidate: Candidate, decisive: Match) -> tuple[Evidence, ...]:
    """Return the deciding place first, then others of other ranks or files."""
    places: dict[tuple[str, int, int], Evidence] = {}
    matches = [decisive, *(m for m in candidate.matches if m is not decisive)]
    for match in matches:
        event = match.event
        own = Evidence(event.path, event.line, event.end_line or event.line, event.text, event.column)
        for place in (own, *event.also):
            places.setdefault((place.path, place.line, place.column), place)
        if len(places) >= EVIDENCE:
            break  # a message may come back ten thousands of times
    return tuple(places.values())[:EVIDENCE]


def _ranks(candidate: Candidate, seen: Seen) -> tuple[int, ...]:
    """Return the ranks that the lines name, else those that say them; for a root also as the launcher tells."""
    named = [(m.event, m.facts.get("rank", m.event.rank)) for m in candidate.matches]
    tabled = {e.path for e in seen.said("torchrun", "failure")}  # of hundreds of logs few have a table of ranks
    ahead = {path: before_node(seen, path) for path in tabled & {event.path for event, _ in named}}
    ranks = (rank + ahead.get(e.path, 0) * (e.speaker != "torchrun") for e, rank in named if isinstance(rank, int))
    if told := tuple(dict.fromkeys(ranks)):
        return told
    return ranks_of(seen, [m.event for m in candidate.matches]) if candidate.role == "root" else ()


def _facts(candidate: Candidate, decisive: Match, seen: Seen) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    for match in [decisive, *candidate.matches]:
        for name, value in match.facts.items():
            facts.setdefault(name, value)
    counted = [name for name, kind in candidate.rule.facts.items() if kind == "count"]
    for name in counted:
        facts[name] = len({(m.event.path, m.event.line, m.event.lane) for m in candidate.matches})
    event = decisive.event
    facts |= derived(facts, event.message)
    facts |= {name: value for name, value in _raised(candidate, event).items() if name not in facts}
    source = seen.source(event.path)
    if source is not None and source.pane_width:
        facts["pane_width"] = source.pane_width
    if candidate.role == "root":
        if "last_step" not in facts:
            facts |= _last_step(candidate, seen)
        if "node" in candidate.rule.facts and "node" not in facts:
            facts |= node_of(seen, event)
        facts = {**job_of(seen), **versions_of(seen, candidate.rule.facts), **facts}
        if "exit_code" not in facts and "signal" not in facts:
            facts |= exit_of(seen, event.rank, event.path)
        if "pid" not in facts and event.speaker in _PROGRAMS:
            facts |= pid_of(seen, event)
        if "start_command" in candidate.rule.facts:
            facts |= start_of(seen, event.path)
    return facts


def _raised(candidate: Candidate, decisive: Event) -> dict[str, Value]:
    """Return the exception and its place; where another line decides, only what the program raised upon it."""
    if decisive.speaker in {"exception", "torchelastic", "device"}:
        names = ("exception", "file", "file_line", "function")
        return {name: value for name in names if (value := decisive.fields.get(name)) not in {None, ""}}
    if candidate.role != "root":
        return {}
    raised = [m.event.fields.get("exception") for m in candidate.matches if m.event.speaker == "exception"]
    return {"exception": error} if (error := next((name for name in raised if name), None)) else {}


def _last_step(candidate: Candidate, seen: Seen) -> dict[str, Value]:
    """Return the last step of the rank that failed first, else of the run."""
    event = candidate.matches[0].event
    steps = [s for s in seen.current_steps() if event.rank is None or s.rank in {None, event.rank}]
    before = [s for s in steps if s.path != event.path or s.line <= max(event.line, event.end_line)]
    last = timeline.last_step(before or steps)
    return {} if last is None else {"last_step": last}


def _first(matches: Iterable[Match], name: str) -> Value:
    return next((v for m in matches if (v := m.event.fields.get(name))), None)


def _fix(spec: FixSpec, facts: Mapping[str, Value]) -> Fix:
    return Fix(
        id=spec.id,
        title=_fill(spec.title, facts),
        detail=_fill(spec.detail, facts),
        safe=spec.safe,
        env={k: _fill(v, facts) for k, v in spec.env.items()},
        args={_fill(k, facts): _fill(v, facts) for k, v in spec.args.items()},
    )


def _fill(text: str, facts: Mapping[str, Value]) -> str:
    """Put facts into `{name}`; a name without a fact is left as `?`."""
    from forensics.text.sizes import format_size

    def value(found: re.Match[str]) -> str:
        name = found[1]
        fact = facts.get(name)
        if name.endswith("_bytes") and isinstance(fact, int):
            return format_size(fact)
        return "?" if fact is None else str(fact)

    return _PLACE.sub(value, text)


def quoted(found: tuple[Finding, ...], words: Mapping[tuple[str, int], str]) -> tuple[Finding, ...]:
    """Return the findings with the words of every place that was cited by its number only."""
    return tuple(
        replace(f, evidence=tuple(replace(e, text=e.text or words.get((e.path, e.line), "")) for e in f.evidence))
        for f in found
    )
