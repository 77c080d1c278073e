"""What a note beside the logs quotes, `notes.md`: an error of another day, or of somebody else's report.

A note is believed where nothing else tells anything: no log of ours, or one whose run failed without
a word. What it says of the machine and the shell is as good as any other record.
"""

from __future__ import annotations

from collections.abc import Sequence

from forensics.engine.causes import Candidate
from forensics.engine.outcome import Outcome
from forensics.engine.seen import Seen
from forensics.sources.names import is_note

_RECORDS = frozenset({"shell", "tmux", "ssh", "slurm", "scheduler", "host", "launch", "nvidia-smi"})
"""Speakers whose words in a note show what somebody did and saw; those of a program are quoted."""
_LOGS = frozenset({"training-log", "slurm-log"})


def set_aside(found: Sequence[Candidate], seen: Seen, end: Outcome) -> None:
    """Mark the causes of which only a note speaks as quoted, where the files tell more of the run themselves."""
    notes = {s.path for s in seen.sources if is_note(s.path)}
    if not notes:
        return
    quoted = {
        c.id
        for c in found
        if c.active and all(m.event.path in notes and m.event.speaker not in _RECORDS for m in c.matches)
    }
    others = [c for c in found if c.active and c.id not in quoted]
    known = any(c.severity == "error" or c.id.startswith("capture.") for c in others)
    logs = any(s.kind in _LOGS and s.path not in notes for s in seen.logs())
    if known or end.good or (logs and not end.bad):
        for candidate in found:
            candidate.quoted = candidate.id in quoted
