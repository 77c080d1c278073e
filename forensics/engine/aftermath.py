"""What went wrong when training was over: the weights are there, and only handing them on failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.engine.causes import Candidate
from forensics.engine.outcome import Outcome
from forensics.engine.recovery import of_a_helper
from forensics.engine.seen import Seen
from forensics.model import Event, Verdict
from forensics.text.lazy import lazy

_RAISED = frozenset({"exception", "wrapper"})
_SERVICES = frozenset({"setup.tracker", "setup.hub-download", "setup.auth"})
_HANDS_ON = lazy(
    r"push_to_hub|upload|huggingface_hub|hf_api|\bwandb\b|mlflow|comet_ml|neptune|clearml|tracker|log_artifact|boto3?\b"
    r"|s3fs|gcsfs|google/cloud/storage|notify|webhook|smtplib",
)


def handed_on(found: Sequence[Candidate], end: Outcome, seen: Seen) -> Mapping[str, Verdict]:
    """Return `degraded` for the root, where it is an upload that raised after training had ended.

    Such a fault is set aside as outlived by the work it followed. Where nothing else is the
    root and the program said nothing more of an end, it is the one thing left to do again.
    """
    root = next((c for c in found if c.role == "root"), None)
    if root is not None:
        return {root.id: "degraded"} if _late(root, end, seen) else {}
    late = next(
        (c for c in found if c.recovered and _late(c, end, seen) and not _said_more(c.matches[-1].event, seen)), None
    )
    if late is None:
        return {}
    late.recovered = False
    late.role = "root"
    return {late.id: "degraded"}


def _late(candidate: Candidate, end: Outcome, seen: Seen) -> bool:
    """Tell whether it raised while the results of a finished training were handed on."""
    event = candidate.matches[0].event
    if candidate.hint != "cause" or candidate.severity != "error" or event.kind not in _RAISED:
        return False
    if end.finished is not None:
        over = event.path == end.finished.path and event.line > end.finished.line
    else:
        over = end.reached_total and not any(
            s.path == event.path and s.line > event.end_line for s in seen.current_steps()
        )
    said = f"{event.fields.get('frames') or ''}\n{event.message}"
    if of_a_helper(event):
        return False  # a tracker's thread that lost its partner hands nothing on
    return over and (candidate.id in _SERVICES or _HANDS_ON.search(said) is not None)


def _said_more(event: Event, seen: Seen) -> bool:
    return any(e.path == event.path and e.line > event.end_line for e in seen.said("progress", "complete"))
