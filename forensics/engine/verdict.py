"""The judgement: healthy needs evidence, and what cannot be told is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from forensics.engine.outcome import Outcome
from forensics.engine.running import WORKING
from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Finding, Verdict

NOTHING: Mapping[str, str] = MappingProxyType({})


def judge(made: Sequence[Finding], end: Outcome, seen: Seen, known: Mapping[str, str] = NOTHING) -> tuple[Verdict, str]:
    """Return the verdict and the reason for it, in words; `known` is what causes say of the run by themselves."""
    root = next((f for f in made if f.role == "root"), None)
    if root is not None:
        return _with_root(root, made, end, known.get(root.id, ""))
    if end.good:
        return "healthy", _good(end)
    if end.running and any(s.kind in LOG_KINDS and s.bytes for s in seen.sources):
        step = f", and step {end.last_step} was reached" if end.last_step is not None else ""
        return "healthy", f"it is still running: {_good(end)}{step}"
    if end.bad:
        return "failed", f"the exit status is {end.exit_code}, and nothing in the files says why"
    return "unknown", _why_unknown(seen, end)


def _with_root(root: Finding, made: Sequence[Finding], end: Outcome, known: str) -> tuple[Verdict, str]:
    if known == "failed" and root.severity == "error":
        return "failed", root.title
    if known == "failed" and end.running:
        return "degraded", f"it is still running: {_good(end)}, but {_lower(root.title)}"
    if known == "degraded":
        return "degraded", f"{_good(end)}, but afterwards: {_lower(root.title)}"
    if root.id.startswith("capture.") and end.scheduler_state == "FAILED":
        return "failed", f"the scheduler says FAILED, and nothing the program said is left: {_lower(root.title)}"
    if root.id.startswith("capture.") and end.failed is not None:
        word = end.failed
        return "failed", f"{word.path}:{word.line} says that the run failed, with status {end.exit_code}"
    if root.id.startswith("capture.") and any(f.severity == "error" and _of_a_program(f, root) for f in made):
        return "failed", root.title
    if root.id.startswith("capture."):
        return "unknown", _with_broken_capture(root, end)
    if any(f.severity == "error" and f.role != "note" for f in made):
        # A root that is only a warning may have led to what ended the run.
        return "failed", root.title
    if end.good:
        return "degraded", f"{_good(end)}, but {_lower(root.title)}"
    if end.running:
        return "degraded", f"it is still running: {_good(end)}, but {_lower(root.title)}"
    if end.bad:
        return "failed", f"the exit status is {end.exit_code}; the only thing found is: {_lower(root.title)}"
    return "unknown", f"no end of the run was seen; found: {_lower(root.title)}"


def _of_a_program(finding: Finding, root: Finding) -> bool:
    """Tell whether a program raised because of what the capture hid: so one thing at least is known to have failed."""
    return root.id in finding.because and "exception" in finding.facts


def _with_broken_capture(root: Finding, end: Outcome) -> str:
    """Return what can still be known, what cannot, and where the one command stands that would settle it."""
    said = []
    if end.exit_code is not None:
        whose = ", which may be that of the last command of a pipeline" if end.masked else ""
        said.append(f"the exit status is {end.exit_code}{whose}")
    if end.last_step is not None:
        total = f" of {end.total_steps}" if end.total_steps else ""
        said.append(f"step {end.last_step}{total} was reached")
    known = " and ".join(said) or "no progress of the run was recorded"
    settled = "; the first fix would settle it" if root.fixes else ""
    return (
        f"{known}, and the capture itself is broken: the files cannot tell how the run ended, "
        f"nor whether the program or only its capture failed{settled}"
    )


def _good(end: Outcome) -> str:
    said = []
    if (word := end.finished or end.hinted) is not None:
        said.append(f"{word.path}:{word.line} says that the run finished")
    if end.exit_code == 0:
        said.append("the exit status is 0")
    if end.reached_total:
        said.append(f"step {end.last_step} of {end.total_steps} was reached")
    if end.last_epoch is not None and not said:
        said.append(f"epoch {end.last_epoch} of {end.last_epoch} was reached and saved")
    if end.scheduler_state:
        who = WORKING.get(end.scheduler_state, "the scheduler")
        said.append(f"{who} says {end.scheduler_state}")
    return ", ".join(said) or "nothing failed"


def _why_unknown(seen: Seen, end: Outcome) -> str:
    logs = [s for s in seen.sources if s.kind in LOG_KINDS and s.bytes and s.read != "skipped"]
    if not seen.sources:
        return "there is no file to read here"
    if not logs:
        return "none of the files is a log of the run; give the training log as well"
    where = f" after step {end.last_step}" if end.last_step is not None else ""
    masked = " (the exit status 0 may be that of the last command of a pipeline)" if end.masked else ""
    return (
        f"the log ends{where} without an error and without the end of the run{masked}; "
        "the exit status, or `ps`/`nvidia-smi` on the machine, would settle whether it is still running"
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
