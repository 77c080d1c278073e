"""Analyses made by hand: reports with the steps, events and surroundings that a page shows besides."""

from __future__ import annotations

import math

from msgspec.structs import replace

from forensics.analyze import Analysis
from forensics.model import Event, Report, Step, Value
from forensics.render.html.around import Around
from tests.render.reports import ATTACK, FAILED, HOSTILE

START = 1_795_956_606.0


def analysis(report: Report, steps: tuple[Step, ...] = (), events: tuple[Event, ...] = ()) -> Analysis:
    """Return an analysis of which nothing but this is known."""
    return Analysis(report, steps, events, finished=False, reached_total=False)


def steps(count: int, *, rank: int | None = None, first_nan: int | None = None, path: str = "train.log") -> list[Step]:
    """Return so many steps, a second apart, with a falling loss that may become NaN."""
    return [
        Step(
            path, n + 1, 0, n, count, rank=rank, time=START + n, tokens_per_s=41_000.0 + n, step_time_s=0.9,
            loss=math.nan if first_nan is not None and n >= first_nan else 9.0 - 5 * n / count,
        )
        for n in range(count)
    ]  # fmt: skip


def snapshot(at: float, used: tuple[int, ...], busy: tuple[int, ...], total: int = 150_754_820_096) -> Event:
    """Return what nvidia-smi said of some GPUs at a time."""
    fields: dict[str, Value] = {
        "gpus": len(used), "indices": tuple(range(len(used))), "memory_used_bytes": used,
        "memory_total_bytes": (total,) * len(used), "utilization": busy,
    }  # fmt: skip
    return Event(
        "nvidia-smi", "snapshot", "gpu.csv", int(at - START) + 2, "2026/11/29, 0, 100 %", time=at, fields=fields
    )


_SIZES = {"total_bytes": 150_109_106_995, "allocated_bytes": 3_156_800_963, "reserved_unallocated_bytes": 1_921_997_865}
_OOM = replace(FAILED.findings[1], facts={**FAILED.findings[1].facts, **_SIZES})

_ROOT = replace(FAILED.findings[0], time=START + 25)

DIED = analysis(
    replace(
        FAILED,
        run=replace(FAILED.run, ended=START + 45),
        findings=(_ROOT, _OOM, *FAILED.findings[2:]),
    ),
    tuple(steps(6, rank=3)),
    (
        *(snapshot(START + n, (n << 32, 5 << 30), (90 + n % 10, 3)) for n in range(6)),
        Event("warning", "warning", "train.log", 90, "  in math_attention", time=START + 20),
        Event("exception", "exception", "train.log", 97, "torch.OutOfMemoryError: CUDA out of memory.", rank=3),
        Event(
            "c10d", "timeout", "train.log", 99, "Watchdog caught collective operation timeout", rank=0, time=START + 40
        ),
    ),
)
"""A run of which everything is known that the page draws."""

AROUND: Around = {
    "train.log": {
        87: '  File "model.py", line 40, in forward', 88: "  0%|          | 0/24\r 50%|█████     | 12/24",
        89: "<i>", 90: "  in math_attention", 92: "next", 97: FAILED.findings[0].evidence[1].text, 98: "after",
    }
}  # fmt: skip


def hostile(size: int = 1) -> Analysis:
    """Return what a log that means harm leaves; `size` repeats its words."""
    words = ATTACK * size
    bad = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)><svg onload=alert(2)>' + words
    events = tuple(
        Event(
            bad[:200], bad[:80], ATTACK, n, bad, lane=bad if n % 2 else None, rank=None if n % 2 else n, time=START + n
        )
        for n in range(1, 40)
    )
    told = tuple(replace(s, path=bad, lane=bad, line=n + 1) for n, s in enumerate(steps(30, first_nan=20)))
    notes = (*HOSTILE.notes, bad)
    return analysis(replace(HOSTILE, notes=notes, reason=bad), told, events)
