"""A folder's files, without ever leaving it, and in bounded memory however many there are."""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from forensics.sources.gather import MOST_FILES, Gathering
from forensics.sources.names import is_ignored

MOST_FOLDERS = 20_000


def walk(gathering: Gathering, root: Path, label: str) -> None:
    """Take in a folder's files, its own before those of its folders.

    Args:
        gathering: what the files are added to.
        root: the folder.
        label: what is put before the names that are shown.
    """
    real = os.path.realpath(root)
    folders = deque([root])
    seen = 1
    while folders and not (gathering.watch.stopped and gathering.is_full(str(root))):
        folder = folders.popleft()
        try:
            entries = _listed(gathering, folder, root)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            gathering.leave_out(_shown(folder, root), f"not read ({why})")
            continue
        for entry in entries:
            shown = _shown(Path(entry.path), root)
            if is_ignored(shown):
                continue
            if entry.is_symlink():
                _note_link(gathering, entry.path, shown, real)
            elif entry.is_dir(follow_symlinks=False):
                if is_ignored(f"{shown}/file"):
                    continue
                if seen >= MOST_FOLDERS:
                    gathering.note_once(f"{root}: more than {MOST_FOLDERS} folders, the rest was not read")
                    continue
                folders.append(Path(entry.path))
                seen += 1
            elif not entry.is_file(follow_symlinks=False):
                gathering.leave_out(shown, "a pipe, socket or device, not read")
            elif gathering.is_full(str(root)):
                return
            else:
                name = f"{label}/{shown}" if label else shown
                try:
                    gathering.add_file(Path(entry.path), name, entry.stat(follow_symlinks=False))
                except OSError as error:
                    gathering.add_unreadable(name, error)


def _listed(gathering: Gathering, folder: Path, root: Path) -> list[os.DirEntry[str]]:
    """Return a folder's entries by name: the first ones, where it has more than are read of a run anyway."""
    with os.scandir(folder) as listing:
        # Not `sorted`: a million entries take more memory than their files are worth.
        entries = heapq.nsmallest(MOST_FILES + 1, _counted(gathering, listing), key=lambda entry: entry.name)
    if len(entries) > MOST_FILES:
        shown = root if folder == root else _shown(folder, root)
        gathering.notes.append(f"{shown}: a folder of more than {MOST_FILES} entries, the rest was not looked at")
        entries.pop()
    return entries


def _counted(gathering: Gathering, listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for entry in listing:
        if gathering.watch.stopped:
            return
        yield entry


def _shown(path: Path, root: Path) -> str:
    """A path relative to the run, as valid text even where the file's name is none."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace")


def _note_link(gathering: Gathering, path: str, shown: str, root: str) -> None:
    """A link inside the run leads to what is read anyway; one that leaves it is not followed."""
    target = Path(os.path.realpath(path))
    if not target.exists():
        gathering.leave_out(shown, "a link to nothing")
    elif target != Path(root) and Path(root) not in target.parents:
        gathering.leave_out(shown, "a link out of the folder, not followed")
