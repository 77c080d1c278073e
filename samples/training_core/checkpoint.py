"""Checkpoints: written whole or not at all, read back exactly, judged without reading tensors."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import Any

import torch

_NAME = re.compile(r"step-(\d+)\.pt")


def path_of(folder: Path, step: int) -> Path:
    """Return where the checkpoint after so many steps lies."""
    return folder / f"step-{step:06d}.pt"


def save(state: dict[str, Any], path: Path) -> None:
    """Write a state: to a file beside, onto the disk, then under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".pt.tmp")
    with beside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    # The new name is in the folder, which has to reach the disk as well.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(path: Path) -> dict[str, Any]:
    """Read a state onto the CPU; nothing in the file is run.

    Raises:
        zipfile.BadZipFile: if the file is cut or damaged.
    """
    test(path)
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def test(path: Path) -> None:
    """Read a whole file and check it: its archive ends, and every checksum fits.

    Raises:
        zipfile.BadZipFile: if not. torch.load says so in as many ways as there are places to cut.
    """
    with zipfile.ZipFile(path) as archive:
        if bad := archive.testzip():
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {bad!r}")


def fault(path: Path) -> str:
    """Return why a file is no whole checkpoint, or nothing."""
    try:
        test(path)
    except (OSError, zipfile.BadZipFile) as error:
        return str(error) or type(error).__name__
    return ""


def listed(folder: Path) -> list[tuple[int, Path]]:
    """Return the checkpoints of a folder with their steps, the newest first."""
    if not folder.is_dir():
        return []
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(found, reverse=True)


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest checkpoints."""
    for _, path in listed(folder)[keep:]:
        path.unlink(missing_ok=True)
