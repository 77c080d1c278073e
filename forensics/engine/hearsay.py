"""What is only quoted: by a note beside the logs, `notes.md`, or behind `> ` in a log whose model talks about errors.

A quotation is believed where nothing else tells anything: no log of ours, or one whose run failed without
a word. What a note says of the machine and the shell is as good as any other record.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from forensics.engine.causes import Candidate
from forensics.engine.outcome import Outcome
from forensics.engine.seen import Seen
from forensics.model import Event
from forensics.sources.names import is_note
from forensics.text.leads import QUOTATION

_RECORDS = frozenset({"shell", "tmux", "ssh", "slurm", "scheduler", "host", "launch", "nvidia-smi"})
"""Speakers whose words in a note show what somebody did and saw; those of a program are quoted."""
_LOGS = frozenset({"training-log", "slurm-log"})


def set_aside(found: Sequence[Candidate], seen: Seen, end: Outcome) -> None:
    """Mark the causes of which only quotations speak as quoted, where the files tell more of the run themselves.

    Where the run itself says the same, it is the one to be cited.
    """
    notes = {s.path for s in seen.sources if is_note(s.path)}
    quoted = set()
    for candidate in found:
        if own := [m for m in candidate.matches if not _quoted(m.event, notes)]:
            candidate.matches = own
        elif candidate.active:
            quoted.add(candidate.id)
    if not quoted:
        return
    others = [c for c in found if c.active and c.id not in quoted]
    known = any(c.severity == "error" or c.id.startswith("capture.") for c in others)
    logs = any(s.kind in _LOGS and s.path not in notes for s in seen.logs())
    if known or end.good or (logs and not end.bad):
        for candidate in found:
            candidate.quoted = candidate.id in quoted


def _quoted(event: Event, notes: AbstractSet[str]) -> bool:
    noted = event.path in notes and event.speaker not in _RECORDS
    return noted or (event.speaker != "observed" and QUOTATION.match(event.text) is not None)
