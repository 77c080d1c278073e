"""Logs of other people's jobs that lie in the folder: what ended them tells nothing of the run in question.

    JobID             User                JobName      State ExitCode
    48205           mlopez          diffusion-vae OUT_OF_ME+    0:125
    48211           rkumar        qwen3-8b-sft-v4  COMPLETED      0:0

`slurm-48205_mlopez.out` is not of the run whose log is `slurm-48211.out`. Where no table tells,
the name of a folder may: `neighbours/`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from forensics.engine.seen import LOG_KINDS, Seen
from forensics.model import Event
from forensics.text.lazy import lazy

_NUMBER = lazy(r"(?<!\d)\d{3,18}(?!\d)")
_OTHERS = lazy(
    r"(?:^|/)(?:neighbou?rs?|neighbou?ring[-_]\w{1,20}|strangers?|foreign|unrelated|others?[-_](?:jobs?|users?|people|teams?)"
    r"|not[-_](?:ours|mine|my[-_]jobs?))(?:[-_]\w{1,20})?/",
    re.IGNORECASE,
)


def observe(seen: Seen) -> Iterator[Event]:
    """Count the logs of others as none of the run in question, where a log of ours is left; yield nothing."""
    logs = [s.path for s in seen.sources if s.kind in LOG_KINDS and s.bytes and seen.is_current(s.path)]
    theirs = {path for path in logs if _OTHERS.search(path)} or _of_other_users(seen, logs)
    if theirs < set(logs):
        seen.older |= theirs
    yield from ()


def _of_other_users(seen: Seen, logs: list[str]) -> set[str]:
    """Return the logs of jobs of all users but one: the one whose logs show most of training, or are most."""
    told = seen.ever_said("scheduler", "job-state", "earlier-state")
    users = {str(e.fields["job_id"]): str(user) for e in told if (user := e.fields.get("user"))}
    owner = {path: user for path in logs if (user := _owner(path, users))}
    if len(set(owner.values())) < 2:
        return set()
    trained = Counter(owner[s.path] for s in seen.steps if s.path in owner)
    ranked = (trained or Counter(owner.values())).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return set()
    return {path for path, user in owner.items() if user != ranked[0][0]}


def _owner(path: str, users: dict[str, str]) -> str | None:
    """Return the user of the job that a log names; its own name is nearer than that of its folder."""
    named = [users[number] for number in _NUMBER.findall(path) if number in users]
    return named[-1] if named else None
