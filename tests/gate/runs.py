"""Runs to judge, each small enough to read, and the analysis of them."""

from __future__ import annotations

from collections.abc import Mapping

from forensics.analyze import Analysis, conclude
from forensics.rulebook.load import load
from forensics.sources import find_in_memory

START = 1795957200


def steps(last: int, total: int, *, loss: float = 3.0, seconds: float = 1.0, first: int = 1) -> str:
    """Return a log of steps in which the loss falls by a hundredth a step."""
    lines = []
    for number in range(first, last + 1):
        moment = int((number - first) * seconds)
        clock = f"{13 + moment // 3600:02d}:{moment // 60 % 60:02d}:{moment % 60:02d}"
        lines.append(f"2026-11-29 {clock},000 INFO train: step {number}/{total} loss {loss - number / 100:.3f}")
    return "\n".join(lines) + "\n"


DONE = "2026-11-29 14:00:00,000 INFO train: training finished\n"
RAISED = """\
Traceback (most recent call last):
  File "/root/train.py", line 10, in <module>
    main()
  File "/root/train.py", line 7, in main
    batch = rows["labels"]
KeyError: 'labels'
"""
LIMIT = """\
W1129 13:00:09.835000 490 torch/_dynamo/convert_frame.py:1743] [0/8] torch._dynamo hit config.recompile_limit (8)
W1129 13:00:09.835000 490 torch/_dynamo/convert_frame.py:1743] [0/8]    function: 'forward' (/w/model.py:72)
"""
NANS = "".join(f"2026-11-29 13:10:{n:02d},000 INFO train: step {n + 20}/40 loss nan\n" for n in range(1, 21))

RUNS: dict[str, dict[str, bytes]] = {
    "healthy": {"train.log": (steps(20, 20) + DONE).encode(), "exit_code": b"0\n"},
    "raised": {"train.log": (steps(5, 20) + RAISED).encode(), "exit_code": b"1\n"},
    "degraded": {"train.log": (steps(8, 16) + LIMIT + steps(16, 16, first=9) + DONE).encode(), "exit_code": b"0\n"},
    "broken": {"train.log": steps(9, 20).encode() + b"\0" * 3000},
    "open": {"train.log": steps(9, 20).encode()},
    "half": {"train.log": steps(10, 20).encode(), "exit_code": b"0\n"},
    "early": {"train.log": (steps(10, 20) + "Early stopping: no improvement in 3 epochs\n" + DONE).encode()},
    "nan": {"train.log": (steps(20, 40) + NANS + DONE).encode(), "exit_code": b"0\n"},
    "masked": {
        "launch.sh": b"#!/bin/bash\npython train.py 2>&1 | tee train.log\necho $? > exit_code\n",
        "train.log": (steps(5, 20) + RAISED).encode(),
        "exit_code": b"0\n",
    },
    "died": {"train.log": steps(5, 20).encode(), "exit_code": b"1\n"},
}


def examined(files: Mapping[str, bytes]) -> Analysis:
    """Return the analysis of a run held in memory."""
    return conclude(find_in_memory(files), load())
