"""What an analysis may cost: which modules it loads, and how much memory a large log takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.program import ROOT, environment

PROBE = """
import re, sys
from forensics.cli import main
try:
    main()
except SystemExit:
    pass
loaded = {name.partition(".")[0] for name in sys.modules}
# Not ru_maxrss: it begins with what the process that started this one took.
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
print(int(peak[1]) // 1024, *sorted(loaded), file=sys.stderr)
"""


def probe(*arguments: str) -> tuple[int, set[str]]:
    """Run the program in a process of its own; return its peak memory in MiB and the packages it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True, env=environment()
    )
    peak, *loaded = done.stderr.strip().split("\n")[-1].split()
    return int(peak), set(loaded)


def test_an_analysis_loads_nothing_heavy() -> None:
    """A report on a small run must be there before its reader wonders."""
    for sample in ("001-story", "002-dense-276", "009-rank-raises", "011-tmux-wrapped"):
        _, loaded = probe("analyze", str(ROOT / "samples" / sample / "run"), "--no-color")
        assert not loaded & {"textual", "torch", "polars", "numpy", "hyperscan", "regex", "jinja2", "asyncio"}, sample


def log_of(path: Path, megabytes: int) -> Path:
    """Write a log of that size: progress of eight ranks, noise, and a failure at the end."""
    with path.open("w") as file:
        step = 0
        while file.tell() < megabytes << 20:
            step += 1
            for rank in range(8):
                file.write(
                    f"2026-11-29 12:{step // 60 % 60:02d}:{step % 60:02d},817 [rank{rank}] INFO train: iteration {step:8d}/  "
                    f"900000 | elapsed time per iteration (ms): 51.2 | lm loss: {9 - step * 1e-5:.6E} | grad norm: 1.300 |\n"
                )
            file.write(f"vm:691:691 [0] NCCL INFO Channel {step % 24:02d}/0 : 0[0] -> 1[1] via P2P/CUMEM\n")
        file.write('Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n')
        file.write(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 139.80 GiB\n"
        )
    return path


def test_memory_stays_bounded_on_a_large_log(tmp_path: Path) -> None:
    """A log of 60 MiB takes little more memory than one of 4 MiB, and its last line is still found."""
    small, _ = probe("analyze", str(log_of(tmp_path / "small.log", 4)), "-o", str(tmp_path / "small.json"))
    large, _ = probe(
        "analyze", str(log_of(tmp_path / "large.log", 60)), "--format", "json", "-o", str(tmp_path / "large.json")
    )
    assert large < 200
    assert large < small + 80
    report = (tmp_path / "large.json").read_text()
    assert '"memory.gpu-oom"' in report
    assert "evenly thinned" in report


def test_memory_stays_bounded_where_every_record_is_written(tmp_path: Path) -> None:
    """Rows go to the disk some thousands at a time, however many there are."""
    peaks = [
        probe(
            "timeline", str(log_of(tmp_path / f"{size}.log", size)), "--format", "parquet", "-o", str(tmp_path / "out")
        )[0]
        for size in (5, 15)
    ]
    assert peaks[1] < min(250, peaks[0] + 40)
