"""Measure the program beside ripgrep: `python -m tests.benchmarks [--megabytes N] [--files N] [--pairs N]`.

Each pair runs the program and ripgrep in turn, as whole processes with files in the page
cache, and what counts is the median of the ratios: the machine's speed may drift, the ratio
hardly does. ripgrep looks for the same literals (`patterns.py`).
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.data import write
from tests.benchmarks.patterns import exported, ripgrep
from tests.packing import zstd

PROGRAM = (sys.executable, "-m", "forensics", "analyze")
EVENTS = (sys.executable, "-m", "tests.benchmarks.events")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process and its children took."""

    wall_s: float
    cpu_s: float


def run(command: Sequence[str], processors: int) -> Cost:
    """Run a command on so many processors; what it prints is thrown away."""
    allowed = sorted(os.sched_getaffinity(0))[:processors]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compare(name: str, ours: Sequence[str], theirs: Sequence[str], *, processors: int, pairs: int) -> None:
    """Print the medians of some pairs, and that of their ratios."""
    run(ours, processors)
    run(theirs, processors)
    costs = [(run(ours, processors), run(theirs, processors)) for _ in range(pairs)]
    mine, rg = (statistics.median(pair[i].wall_s for pair in costs) for i in (0, 1))
    ratio = statistics.median(a.wall_s / b.wall_s for a, b in costs)
    cpu = statistics.median(a.cpu_s / b.cpu_s for a, b in costs)
    print(f"| {name} | {processors} | {mine:.2f} | {rg:.2f} | {ratio:.2f} | {cpu:.2f} |", flush=True)


def pack(single: Path, folder: Path) -> list[Path]:
    """Return a log as gzip and as Zstandard pack it, each made unless it is there."""
    folder.mkdir(exist_ok=True)
    packed = [folder / f"{single.name}{suffix}" for suffix in (".gz", ".zst")]
    for path in packed:
        if path.exists():
            continue
        opener = partial(gzip.open, compresslevel=6) if path.suffix == ".gz" else partial(zstd.open, level=3)
        with single.open("rb") as source, opener(path, "wb") as target:
            shutil.copyfileobj(source, target)
    return packed


def ranks(folder: Path, files: int) -> Path:
    """Return a folder with the logs of so many ranks, 2 MB each."""
    (made := folder / f"ranks{files}").mkdir(exist_ok=True)
    for rank in range(files):
        write(made / f"rank{rank:04d}.log", 2_000_000, seed=rank, rank=rank)
    return made


def main() -> None:
    """Make the data, run the pairs, print a table in Markdown."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--megabytes", type=int, default=256)
    options.add_argument("--files", type=int, nargs="+", default=[128], help="ranks; several numbers for several runs")
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--data", type=Path, default=Path(tempfile.gettempdir(), "dflash-forensics-bench"))
    asked = options.parse_args()
    rg = ripgrep()
    if rg is None:
        raise SystemExit("ripgrep is not installed: pip install ripgrep==14.1.0")
    (folder := asked.data).mkdir(parents=True, exist_ok=True)
    single, patterns = folder / f"train{asked.megabytes}.log", folder / "patterns.txt"
    write(single, asked.megabytes * 1_000_000)
    patterns.write_text(exported())
    search = (rg, "--no-config", "-a", "-n", "-b", "-f", str(patterns))
    print("| what | cores | seconds | ripgrep | ratio | CPU ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    of = f"{asked.megabytes} MB"
    compare(f"events of {of}", (*EVENTS, str(single)), (*search, str(single)), processors=1, pairs=asked.pairs)
    compare(f"analyze {of}", (*PROGRAM, str(single)), (*search, str(single)), processors=2, pairs=asked.pairs)
    for files in asked.files:
        many = str(ranks(folder, files))
        theirs = (*search, "-j2", many)
        compare(f"analyze {files} ranks of 2 MB", (*PROGRAM, many), theirs, processors=2, pairs=asked.pairs)
    for path in pack(single, folder / "packed"):
        theirs = (*search, "-z", str(path))
        compare(f"events of {of}, {path.suffix}", (*EVENTS, str(path)), theirs, processors=2, pairs=asked.pairs)
        compare(f"analyze {of}, {path.suffix}", (*PROGRAM, str(path)), theirs, processors=2, pairs=asked.pairs)


if __name__ == "__main__":
    main()
