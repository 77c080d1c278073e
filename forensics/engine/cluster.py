"""Reading on a cluster: the tasks of a run, mapped over the workers of a Dask scheduler.

Dask starts workers wherever people have machines (Slurm, Kubernetes, ssh), and repeats what a lost
worker had. All that this module adds is to ask first whether the workers can do the work: they need
this package in this version, and they must see the files under the same paths.
"""

from __future__ import annotations

import importlib
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from forensics import __version__

Task = TypeVar("Task")
Result = TypeVar("Result")

PREFIX = "dask://"
CONNECT_S = 10
RETRIES = 3
"""How often a task is tried again whose worker was lost."""
AHEAD = 4
"""Tasks for each worker that are under way at once: results wait in memory until their turn comes."""


class ClusterError(Exception):
    """The cluster cannot be used; the message says why, and what to do."""


class Cluster:
    """An executor whose tasks run on the workers of a Dask scheduler."""

    def __init__(self, engine: str, paths: Sequence[str]) -> None:
        """Connect, and ask the workers.

        Args:
            engine: `dask://HOST:PORT`.
            paths: the files and folders that every worker must see.

        Raises:
            ClusterError: the extra is missing, nobody answers, or a worker cannot do the work.
        """
        self._client = _connect(engine)
        self._future = importlib.import_module("distributed").Future
        try:
            self._check([str(Path(path).absolute()) for path in paths if path != "-" and "://" not in path])
        except ClusterError:
            self.close()  # a client that is left open looks for its scheduler for ever, in a thread of its own
            raise

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks; a few per worker are under way at a time.

        Only plain files are sent for: what is packed, or came through a pipe, is read here.
        """
        waiting = iter(tasks)
        running: deque[Any] = deque()
        most = AHEAD * max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        try:
            while True:
                while len(running) < most and (task := next(waiting, None)) is not None:
                    far = getattr(getattr(task, "item", None), "plain_path", None) is not None
                    running.append(self._sent(function, task) if far else task)
                if not running:
                    return
                first = running.popleft()
                yield self._result(first) if isinstance(first, self._future) else function(first)
        finally:
            self._client.cancel([each for each in running if isinstance(each, self._future)])

    def _sent(self, function: Callable[[Task], Result], task: Task) -> Any:
        """Start a task. The scheduler, which need not have this package, sees bytes alone."""
        payload = importlib.import_module("cloudpickle").dumps(_Call(function, task))
        return self._client.submit(pickle.loads, payload, pure=False, retries=RETRIES)

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except Exception as wrong:  # whatever Dask raises where workers are lost again and again
            raise ClusterError(f"the cluster gave the work up: {str(wrong).partition(chr(10))[0][:200]}") from wrong

    def close(self) -> None:
        """Leave the scheduler; its workers stay."""
        self._client.close()

    def _check(self, paths: Sequence[str]) -> None:
        try:
            told = self._client.run(_look, paths)
        except Exception as wrong:  # whatever a worker raises comes back as it is
            raise ClusterError(
                f"a worker cannot import dflash-forensics ({wrong}); install the same version there"
            ) from wrong
        if not told:
            raise ClusterError("the scheduler has no workers; start some, or leave --engine out")
        for worker, (version, unseen) in told.items():
            if version != __version__:
                raise ClusterError(f"worker {worker} has version {version}, and this is {__version__}")
            if unseen:
                raise ClusterError(
                    f"worker {worker} does not see {unseen[0]}; the files must be on a file system of all"
                )


def _connect(engine: str) -> Any:
    address = engine.removeprefix(PREFIX)
    if not engine.startswith(PREFIX) or not address:
        raise ClusterError(f"{engine!r} is no engine; give local, or {PREFIX}HOST:PORT")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ClusterError("a Dask cluster needs the extra: pip install 'dflash-forensics[dask]'") from None
    try:
        return distributed.Client(f"tcp://{address}", timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as wrong:
        raise ClusterError(f"no Dask scheduler answers at {address} within {CONNECT_S} s") from wrong


class _Call:
    """A call that is made where it is unpickled."""

    def __init__(self, function: Callable[[Any], Any], task: Any) -> None:
        self._call = function, task

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        function, task = self._call
        return function, (task,)


def _look(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return, on a worker, its version and the paths that it does not see."""
    return __version__, [path for path in paths if not Path(path).exists()]
