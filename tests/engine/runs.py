"""Small runs held in memory, analysed for real with the shipped rules."""

from __future__ import annotations

from functools import cache

from forensics.analyze import analyze_files
from forensics.model import Finding, Report
from forensics.rulebook.load import Rulebook, load

RAISED = """Traceback (most recent call last):
  File "/root/train.py", line 12, in <module>
    main()
{error}
"""
OOM = RAISED.format(
    error="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.00 GiB "
    "of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. Of the allocated "
    "memory 77.00 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated."
)


@cache
def rulebook() -> Rulebook:
    return load()


def analyse(**files: str) -> Report:
    """Analyse files; `train_log="..."` is the file `train.log`."""
    named = {
        name.replace("_log", ".log").replace("_txt", ".txt").replace("_sh", ".sh"): text for name, text in files.items()
    }
    return analyze_files({name: text.encode() for name, text in named.items()}, rulebook())


def steps(first: int, last: int, total: int = 100, prefix: str = "") -> str:
    return "".join(
        f"{prefix}step {i}/{total} | loss {5 - i * 0.01:.4f} | grad_norm 1.0\n" for i in range(first, last + 1)
    )


def finding(report: Report, identity: str) -> Finding:
    return next(f for f in report.findings if f.id == identity)


def root(report: Report) -> str | None:
    return report.root.id if report.root else None
