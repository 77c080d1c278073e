"""The gate: a report and a policy in, a decision out.

    decide(analysis, policy, today) -> Decision     for programs
    check(path)                                     for tests in pytest: raises GateError

`pass`, `fail` and `unknown` are exit statuses 0, 1 and 3 of the command.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from forensics.analyze import examine
from forensics.gate.baseline import Baseline, BaselineError
from forensics.gate.decide import decide
from forensics.gate.policy import Policy, PolicyError, find_policy, load_policy
from forensics.model import Decision, Evidence

__all__ = [
    "Baseline",
    "BaselineError",
    "GateError",
    "Policy",
    "PolicyError",
    "check",
    "decide",
    "find_policy",
    "load_policy",
]


class GateError(AssertionError):
    """A run that did not pass; `decision` holds all that was looked at."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        reasons = [f"{c.name}: {c.text}{_where(c.evidence)}" for c in decision.of("fail", "unknown")]
        super().__init__("\n".join([f"{decision.report.run.path}: {decision.status}", *reasons]))


def _where(evidence: tuple[Evidence, ...]) -> str:
    return f" ({evidence[0].path}:{evidence[0].line})" if evidence else ""


def check(
    path: str | Path, *, policy: Policy | str | Path | None = None, against: str | Path | None = None
) -> Decision:
    """Assert that the run in `path` passes, and return the decision.

    `policy` is a policy or its file; without one the nearest `dflash-forensics.toml` or
    `pyproject.toml` above the working directory that has one counts, as for the command.
    `against` is a good run to compare with.

    Raises:
        GateError: the run fails the policy, or its files cannot tell.
        PolicyError: the policy is not sound.
        forensics.sources.SourceError: there is nothing at `path`.
    """
    if not isinstance(policy, Policy):
        named = Path(policy) if policy is not None else find_policy(Path.cwd())
        policy = load_policy(named) if named is not None else Policy()
    good = examine([str(against)]) if against is not None else None
    # A person's calendar decides when an ignore ends.
    today = date.today()  # noqa: DTZ011
    decision = decide(examine([str(path)]), policy, today, good=good)
    if decision.status != "pass":
        raise GateError(decision)
    return decision
