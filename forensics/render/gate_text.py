"""A gate's decision for a person: passed or not, and each reason with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics.model import Check, Decision
from forensics.render import places
from forensics.text.ansi import visible

HEADS = {"pass": "PASS", "fail": "FAIL", "unknown": "CANNOT TELL"}
MOST = 40
"""Checks of one kind that are listed."""


def render(decision: Decision, base: str = "") -> str:
    """Return the decision as text; `base` is the folder that evidence paths are relative to."""
    return "\n".join(_inert(line) for line in _lines(decision, base)) + "\n"


def _lines(decision: Decision, base: str) -> Iterator[str]:
    run = decision.report.run
    yield f"{HEADS[decision.status]}  {run.path}"
    failed, open_ = decision.of("fail"), decision.of("unknown")
    yield from _listed("", failed, base)
    if open_ and not failed and decision.status == "pass":
        yield from _listed("Cannot be told, and the policy lets it pass", open_, base)
    else:
        yield from _listed("Cannot be told" if failed else "", open_, base)
    yield from _listed("Known or ignored", decision.of("known", "ignored"), base)
    if not failed and not open_:
        yield from (f"  {check.text}" for check in decision.of("pass") if check.name.startswith("gate."))
    if decision.policy:
        yield f"Policy: {decision.policy}"
    if failed or open_:
        yield f"Why, and what to do: dflash-forensics analyze {run.path}"


def _listed(head: str, checks: Sequence[Check], base: str) -> Iterator[str]:
    if head and checks:
        yield f"{head}:"
    for check in checks[:MOST]:
        place = places.first(check)
        where = f"  {places.path(base, place)}:{place.line}" if place is not None and place.line else ""
        yield f"  {check.name}  {check.text}{where}"
        if check.reason:
            yield f"      {check.reason}"
    if len(checks) > MOST:
        yield f"  and {len(checks) - MOST} more"


def _inert(line: str) -> str:
    return uncommanded(visible(line, keep=""))


def uncommanded(line: str) -> str:
    """Return a line that no CI server obeys: GitHub and Azure take `::` and `##[` at its start for commands."""
    bare = line.lstrip()
    return f"\u2502 {line}" if bare.startswith(("::", "##[", "##vso[")) else line
