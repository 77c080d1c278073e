"""What stands before the lines of a log in no form that anybody knows: the name of a node, the tag of a job.

    x1000c0s0b0n0: step 100 | loss 2.31
    x1000c0s2b1n0: Traceback (most recent call last):

Only the log itself can tell that this is no part of the message: nearly all lines begin with one of a
few such words, whatever they go on with. What could be a counter, a metric or a level is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from forensics.text.lazy import lazy

QUOTATION = lazy(r"\s{0,16}> ")
"""What stands before a line that somebody else said: in a mail, a report, the prompt of a model."""
_LEAD = lazy(r"(?=\S{0,60}[A-Za-z])(?=\S{0,60}[\d@|<>{}()\[\]])\S{1,60}[:|\]>)}](?: |$)")
_NO_LEAD = lazy(
    r"epoch|step|iter|batch|loss|acc|eval|valid|train\b(?!@)|test|warn|err|info|debug|fatal|critical|layer|block|fold|seed"
    r"|time|progress|model|param|\d/\d|%|=|['\"]|https?:|^(?:systemd|kernel|sshd|sudo|cron|slurm\w*|docker\w*|containerd|kubelet)\b",
)
_NUMBER = lazy(r"[-+\d.][\d.e+-]*[,;%]?(?:\s|$)")
_FEWEST_LINES = 8
_FEWEST_EACH = 3
_MOST = 64
_NEARLY_ALL = 0.8


def learned(texts: Sequence[str]) -> tuple[str, ...]:
    """Return what stands before nearly all of these lines, longest first; nothing where the lines begin by themselves.

    Args:
        texts: the first lines of a log, what is known to stand before a message taken off.
    """
    full = [text for text in texts if text.strip()]
    counts = Counter(found[0].rstrip() for text in full if (found := _LEAD.match(text)))
    leads = {lead for lead, count in counts.items() if count >= _FEWEST_EACH and not _NO_LEAD.search(lead.lower())}
    if len(full) < _FEWEST_LINES or not 0 < len(leads) <= _MOST:
        return ()
    rests = [text[len(lead) :].strip() for text in full for lead in [text.split(" ", 1)[0]] if lead in leads]
    said = [rest for rest in rests if rest]
    numbers = sum(_NUMBER.match(rest) is not None for rest in said)
    if 2 * numbers >= len(said) or len(rests) < _NEARLY_ALL * len(full):
        return ()
    return longest_first(leads)


def longest_first(leads: Iterable[str]) -> tuple[str, ...]:
    """Put leads in the order in which they are tried: none hides a longer one."""
    return tuple(sorted(leads, key=lambda lead: (-len(lead), lead)))


def lead_of(text: str, at: int, leads: Sequence[str]) -> int:
    """Return where a text goes on behind the lead that stands there, `at` where none does: one blank belongs to it."""
    for lead in leads:
        if text.startswith(lead, at):
            end = at + len(lead)
            if end == len(text):
                return end
            return end + 1 if text[end] == " " else at
    return at
