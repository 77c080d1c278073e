"""Names for sets of ids that many rules explain together: `explains = ["@teardown"]`."""

from __future__ import annotations

from collections.abc import Iterable

GROUPS: dict[str, tuple[str, ...]] = {
    # What the rest of a job prints when one of its processes is gone. A fatal error on one
    # rank accounts for all of these on the others (and for the launcher's own traceback).
    "@teardown": (
        "comm.collective-timeout",
        "comm.peer-lost",
        "comm.rendezvous-failure",
        "scheduler.cancelled",
        "host.killed-signal",
        "train.hang",
        "gpu.all-idle",
        "setup.python-exception",
        "capture.torn-line",
        "capture.log-truncated",
        "capture.tmux-session-died",
        "capture.tmux-no-server",
    ),
    # What is left of a job whose partners are gone or silent. Unlike "@teardown" without a
    # traceback or a kill: those come before such a symptom, also where they stand below it.
    "@peers": (
        "comm.collective-timeout",
        "comm.peer-lost",
        "comm.rendezvous-failure",
        "scheduler.cancelled",
        "train.hang",
        "gpu.all-idle",
        "capture.torn-line",
        "capture.log-truncated",
        "capture.tmux-session-died",
        "capture.tmux-no-server",
    ),
    # How a process that failed while it was starting looks to those that wait for it.
    "@unreached": (
        "comm.init-failure",
        "comm.network-interface",
        "comm.rendezvous-failure",
    ),
    # How a broken GPU or a dead process looks from inside CUDA.
    "@cuda": (
        "gpu.launch-failure",
        "gpu.cublas-failure",
        "gpu.illegal-access",
        "gpu.xid-other",
        "gpu.mmu-fault",
    ),
}


FOLLOWED = "@followed"
"""Whatever was found of which every word says that it only follows from something, by the roles of its signals."""


def members(names: Iterable[str], ids: Iterable[str], own: str = "", followed: Iterable[str] = ()) -> frozenset[str]:
    """Return the ids that `names` stand for: an id, a `family.*`, or a group, `@followed` among them; never `own`."""
    known = tuple(ids)
    found: set[str] = set()
    for name in names:
        if name == FOLLOWED:
            found.update(followed)
        elif name in GROUPS:
            found.update(i for i in GROUPS[name] if i in known)
        elif name.endswith(".*"):
            found.update(i for i in known if i.startswith(name[:-1]))
        else:
            found.add(name)
    return frozenset(found - {own})
