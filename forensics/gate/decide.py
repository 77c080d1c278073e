"""From an analysis and a policy to a decision: each thing looked at is one check.

A known failure fails even where the files are incomplete. What only a broken capture
leaves open is `unknown`, never `fail`: the files cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from msgspec.structs import replace

from forensics.analyze import Analysis
from forensics.gate.baseline import Baseline
from forensics.gate.compare import compare
from forensics.gate.fingerprint import fingerprint
from forensics.gate.policy import Policy
from forensics.gate.require import requirements
from forensics.model import Check, Decision, Finding, Level, Report, Standing, Status

_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "info": "note"}


def decide(
    analysis: Analysis,
    policy: Policy,
    today: date,
    *,
    known: Baseline | None = None,
    good: Analysis | None = None,
) -> Decision:
    """Return the decision on a run.

    Args:
        analysis: the run.
        policy: what it must be.
        today: the day that decides which ignores still count.
        known: findings that may stay.
        good: a run that this one must not fall behind.
    """
    report = analysis.report
    found = [_of_finding(f, report, policy, today, known or Baseline()) for f in report.findings]
    found = [_following(check, found) for check in found]
    checks = [
        _of_verdict(report, found, policy),
        *found,
        *requirements(analysis, policy.require),
        *(compare(analysis, good, policy.against) if good is not None else ()),
        *_expired(policy, today),
    ]
    return Decision(_status(checks, policy), report, tuple(checks), policy.path)


def _status(checks: Sequence[Check], policy: Policy) -> Status:
    standings = {check.standing for check in checks}
    if "fail" in standings:
        return "fail"
    return "unknown" if "unknown" in standings and policy.unknown == "fail" else "pass"


def _of_finding(finding: Finding, report: Report, policy: Policy, today: date, known: Baseline) -> Check:
    """Judge one finding by itself; what follows from another one is judged with that."""
    setting = policy.setting(finding.id)
    level = _LEVELS[finding.severity] if setting in {None, "ignore"} else _LEVELS.get(str(setting), "note")
    if finding.role in {"note", "consequence"} and setting is None:
        level = "note" if finding.role == "note" else level
    check = Check(finding.id, "pass", level, finding.title, finding.evidence, finding, fingerprint(finding))
    ignored = next((i for i in policy.ignore if i.covers(finding.id) and not i.expired(today)), None)
    if setting == "ignore":
        return replace(check, standing="ignored", reason="the policy ignores it")
    if ignored is not None:
        until = f", until {ignored.until}" if ignored.until else ""
        return replace(check, standing="ignored", reason=f"{ignored.reason}{until}")
    if check.fingerprint in known.prints:
        return replace(check, standing="known", reason="it stands in the baseline")
    return replace(check, standing=_standing(finding, report, policy, level, raised=setting is not None))


def _standing(finding: Finding, report: Report, policy: Policy, level: Level, *, raised: bool) -> Standing:
    if not policy.fails(level) or (finding.role in {"note", "consequence"} and not raised):
        return "pass"
    # Where the capture is broken, what is odd about it is why nobody can tell, and not a failure of the run.
    open_ = report.verdict == "unknown" and finding.id.startswith("capture.") and not raised
    return "unknown" if open_ else "fail"


def _following(check: Check, found: Sequence[Check]) -> Check:
    """Let a cause that an ignored or known one explains stand as that one does."""
    if check.standing not in {"fail", "unknown"} or check.finding is None:
        return check
    for other in found:
        if other.name in check.finding.because and other.standing in {"ignored", "known"}:
            return replace(check, standing=other.standing, reason=f"it follows from {other.name}")
    return check


def _of_verdict(report: Report, found: Sequence[Check], policy: Policy) -> Check:
    """Judge how the run ended: a failed run fails, unless all that failed it may pass."""
    text = report.reason or f"the run is {report.verdict}"
    check = Check("gate.verdict", "pass", "error", f"{report.verdict}: {text.removeprefix('unknown: ')}")
    if report.verdict == "unknown":
        return replace(check, standing="unknown")
    if report.verdict == "degraded" and policy.require.not_degraded:
        return replace(check, standing="fail")
    if report.verdict != "failed":
        return check
    root = next((c for c in found if c.finding is not None and c.finding.role == "root"), None)
    if root is None or root.standing in {"fail", "unknown"}:
        return replace(check, standing="fail")
    if root.standing in {"ignored", "known"}:
        return replace(check, standing=root.standing, reason=f"{root.name}: {root.reason}")
    if policy.setting(root.name) is not None:
        return replace(check, standing="ignored", reason=f"the policy sets {root.name} lower")
    # A root that is a warning has led to an error: the run failed all the same.
    return replace(check, standing="fail")


def _expired(policy: Policy, today: date) -> Iterator[Check]:
    for ignored in policy.ignore:
        if ignored.expired(today):
            text = f"the ignore of {ignored.id} ended on {ignored.until}: {ignored.reason}"
            yield Check("gate.expired-ignore", "fail", "error", text, reason="renew it with a reason, or remove it")
