"""Several runs in one folder: a report is about one, so the others are set aside and named.

A subfolder with an exit status or a launch script of its own is a run; so `runs/monday/`
and `runs/tuesday/` are two. Folders of ranks, nodes and attempts belong to one run, and so
do runs whose logs overlap in time, since they may have worked together.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from msgspec.structs import replace

from forensics.sources.input import Input
from forensics.sources.sniff import LOG_KINDS
from forensics.sources.span import span
from forensics.text.lazy import lazy

_OWN = frozenset({"exit-code", "launch-script"})
_PART = lazy(
    r"(?:global|local)?_?(?:rank|node|host|worker|gpu|proc|task|pod|machine|attempt|try|retry|restart)s?[_.-]?\d*"
    r"|\d{1,4}|scripts?|bin|configs?|launch(?:er)?|tools?|src|logs?|outputs?"
)
_LISTED = 8


def set_aside(inputs: Sequence[Input]) -> list[str]:
    """Mark the inputs of all runs but the newest as skipped; return what to say of it, if anything.

    What stands outside the runs' folders (a kernel log beside them) is kept.
    """
    folders = _folders(inputs)
    if len(folders) < 2:
        return []
    folders += _further(folders, inputs)
    members = _members(folders, inputs)
    spans = {folder: _span(members[folder]) for folder in folders}
    known = sorted(s for s in spans.values() if s is not None)
    if any(later[0] < earlier[1] for earlier, later in pairwise(known)):
        return []
    newest = max(folders, key=lambda f: (spans[f] or (0.0, 0.0), _touched(members[f]), f))
    known_folders = set(folders)
    for made in inputs:
        of = _of(made.source.path, known_folders)
        if of not in {None, newest}:
            made.source = replace(made.source, read="skipped", why=f"another run in this folder: {of}")
    others = [f for f in folders if f != newest]
    named = ", ".join(others[:_LISTED]) + (f" and {len(others) - _LISTED} more" if len(others) > _LISTED else "")
    return [
        f"this folder holds {len(folders)} runs; only the newest was read, {newest}. Analyze the others alone: {named}"
    ]


def _folders(inputs: Sequence[Input]) -> list[str]:
    """Return the folders of runs, none inside another; a run at the top makes all of it one run."""
    own = {made.source.path.rpartition("/")[0] for made in inputs if made.source.kind in _OWN}
    own = {_run_folder(folder) for folder in own}
    if "" in own:
        return []
    outer = {f for f in own if _of(f, own) is None}
    logs = (made.source.path for made in inputs if made.source.kind in LOG_KINDS)
    return sorted({folder for path in logs if (folder := _of(path, outer)) is not None})


def _of(path: str, folders: AbstractSet[str]) -> str | None:
    """Return the outermost of some folders that a path lies in; a search through all of them would be quadratic."""
    at = path.find("/")
    while at >= 0:
        if path[:at] in folders:
            return path[:at]
        at = path.find("/", at + 1)
    return None


def _members(folders: Sequence[str], inputs: Sequence[Input]) -> dict[str, list[Input]]:
    members: dict[str, list[Input]] = {folder: [] for folder in folders}
    for made in inputs:
        if (folder := _of(made.source.path, members.keys())) is not None:
            members[folder].append(made)
    return members


def _further(folders: Sequence[str], inputs: Sequence[Input]) -> list[str]:
    """Return the subfolders beside the runs that hold logs: runs of which only the logs were kept."""
    tops = {folder.partition("/")[0] for folder in folders}
    logs = [made.source.path for made in inputs if made.source.kind in LOG_KINDS]
    beside = {path.partition("/")[0] for path in logs if "/" in path}
    return sorted(beside - tops)


def _run_folder(folder: str) -> str:
    """Go up from a folder that is only a part of a run: of a rank, an attempt, or of scripts."""
    while folder and _PART.fullmatch(folder.rpartition("/")[2]):
        folder = folder.rpartition("/")[0]
    return folder


def _span(members: Sequence[Input]) -> tuple[float, float] | None:
    found = [s for made in members if made.source.kind in LOG_KINDS and (s := span(made, None))]
    return (min(s.first for s in found), max(s.last for s in found)) if found else None


def _touched(members: Sequence[Input]) -> float:
    return max((made.source.mtime or 0.0 for made in members), default=0.0)
