"""A run that is read on a Dask cluster has the report that it has when it is read here, also when a worker is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from forensics.analyze import analyze
from forensics.engine.cluster import Cluster, ClusterError
from forensics.render.json_v1 import to_json
from forensics.scan import parts
from tests.cli.program import ROOT, environment, run

pytest.importorskip("distributed")
SAMPLES = sorted(p for p in (ROOT / "samples").glob("0*") if p.is_dir())


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
        print(made.scheduler_address.removeprefix("tcp://"), *(w.pid for w in made.workers.values()), flush=True)
        sys.stdin.read()
"""
"""Two workers, until standard input ends. In a process of its own, so that no thread of Dask outlives the tests."""


class Started(NamedTuple):
    """A cluster: what `--engine` takes, and the processes of its workers."""

    engine: str
    workers: tuple[int, ...]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Two processes on this machine."""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdout is not None
        address, *workers = process.stdout.readline().split()
        yield Started(f"dask://{address}", tuple(map(int, workers)))
        process.communicate()


def both(cluster: Started, folder: Path, around: Callable[[Cluster], Any] = lambda made: made) -> tuple[bytes, bytes]:
    """Return the report as read here and as read there."""
    there = Cluster(cluster.engine, [str(folder)])
    try:
        return to_json(analyze([str(folder)])), to_json(analyze([str(folder)], executor=around(there)))
    finally:
        there.close()


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_report_from_a_cluster_is_the_same_byte_for_byte(cluster: Started, sample: Path) -> None:
    """Whatever the run: logs, dumps, captures."""
    here, there = both(cluster, sample)
    assert here == there


def long_run(folder: Path, lines: int = 60_000) -> None:
    """Write a log that is read in parts, and ranks beside it."""
    step = "2026-11-29 10:00:00 INFO step {n}/{lines} | loss {loss:.4f} | lr 1e-4\n"
    log = "".join(step.format(n=n, lines=lines, loss=5 - n / lines) for n in range(lines))
    (folder / "train.log").write_text(log + "RuntimeError: CUDA error: an illegal memory access was encountered\n")
    for rank in range(8):
        (folder / f"rank_{rank}.log").write_text(log[:200_000])


class Losing:
    """An executor that kills a worker once the first result is there."""

    def __init__(self, inner: Cluster, kill: Callable[[], None]) -> None:
        self._inner = inner
        self._kill = kill

    def map(self, function: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield what the cluster yields."""
        for number, result in enumerate(self._inner.map(function, tasks)):
            if not number:
                self._kill()
            yield result


@pytest.mark.slow
def test_the_work_of_a_lost_worker_is_done_again(
    cluster: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed in the middle: the report is the same."""
    monkeypatch.setattr(parts, "PART", 1 << 20)
    monkeypatch.setattr("forensics.scan.parts.split.__defaults__", (1 << 20,))
    long_run(tmp_path)

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(cluster.workers[0], signal.SIGKILL)

    here, there = both(cluster, tmp_path, lambda made: Losing(made, kill))
    assert here == there


@pytest.mark.slow
def test_the_command_reads_on_a_cluster(cluster: Started) -> None:
    """By the address of the scheduler."""
    sample = str(SAMPLES[0])
    there = run("analyze", sample, "--format", "json", "--engine", cluster.engine)
    assert there.returncode == 0, there.stderr
    assert there.stdout == run("analyze", sample, "--format", "json").stdout


@pytest.mark.slow
def test_files_that_a_worker_does_not_see_are_refused(cluster: Started, tmp_path: Path) -> None:
    """Before anything is read: a report without them would look like one. No client is left behind."""
    before = set(threading.enumerate())
    with pytest.raises(ClusterError, match="does not see"):
        Cluster(cluster.engine, [str(tmp_path / "only-here")])
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("word", "says"),
    [("dask://127.0.0.1:9", b"no Dask scheduler answers at 127.0.0.1:9"), ("spark://x", b"is no engine")],
)
def test_an_engine_that_cannot_be_used_is_wrong_usage(word: str, says: bytes) -> None:
    """One line, exit status 2."""
    done = run("analyze", str(SAMPLES[0]), "--engine", word)
    assert done.returncode == 2
    assert says in done.stderr
    assert b"Traceback" not in done.stderr
