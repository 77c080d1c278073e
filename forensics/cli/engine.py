"""`--engine`: where a run is read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from forensics.engine.executor import Executor

LOCAL = "local"

engine_option = click.option(
    "--engine", metavar="ENGINE", default=LOCAL, help="Read on a Dask cluster: dask://HOST:PORT."
)


@contextlib.contextmanager
def executor_of(engine: str, paths: Sequence[str]) -> Iterator[Executor | None]:
    """Lend the executor that `--engine` names; none stands for this machine.

    Raises:
        click.UsageError: it cannot be used; the message says why.
    """
    if engine == LOCAL:
        yield None
        return
    from forensics.engine.cluster import Cluster, ClusterError

    cluster: Cluster | None = None
    try:
        cluster = Cluster(engine, paths)
        yield cluster
    except ClusterError as wrong:
        raise click.UsageError(str(wrong)) from wrong
    finally:
        if cluster is not None:
            cluster.close()
