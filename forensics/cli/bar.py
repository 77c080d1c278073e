"""The bar itself: what is being read, how much of it, how fast, how long still."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from forensics.render.excerpt import cut
from forensics.text.ansi import visible

if TYPE_CHECKING:
    from forensics.sources import Watch

NAME = 36
"""Columns for the name of the file that is being read."""


class _Console(Console):
    """A console that leaves the cursor alone: a program killed in the middle of a bar would leave none."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002, FBT001, FBT002 - rich's signature
        return False


class Bar:
    """Draws on stderr while it is open, and wipes itself away. One thread may use it."""

    def __init__(self, doing: str, watch: Watch | None) -> None:
        self._doing = doing
        self._watch = watch
        columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False)]
        if watch is None:
            columns += [TimeElapsedColumn()]
        else:
            columns += [BarColumn(20), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True)]
        self._progress = Progress(
            *columns,
            console=_Console(file=sys.stderr),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(doing, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        self.draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def draw(self) -> None:
        """Show where things stand."""
        watch = self._watch
        if watch is not None:
            total = watch.expected or None
            self._progress.update(self._task, description=self._told(watch), total=total, completed=watch.seen)
        self._progress.refresh()

    def _told(self, watch: Watch) -> str:
        if watch.stopped:
            return "stopping; Ctrl-C again leaves without a report"
        if not watch.expected:
            return f"finding files ({watch.files})"
        if watch.seen >= watch.expected:
            return "concluding"
        return f"{self._doing} {cut(visible(watch.name, keep=''), NAME)}"
