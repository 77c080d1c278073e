"""A real tmux for each test, and the folder that its run leaves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the test's own, ended with all its panes when the test is over."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, and nothing stands in for it here")
    mine = Server()
    try:
        yield mine
    finally:
        mine.close()


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder that somebody collects of a run."""
    folder = tmp_path / "run"
    folder.mkdir()
    return folder
