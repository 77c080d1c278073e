"""Logs to measure with: four formats of progress, noise, and a failure every few megabytes, always the same bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from time import gmtime, strftime

FAILURES = (
    "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 512.44 MiB is free.\n",
    "[rank{rank}]:[E301 12:00:01.123456789 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={step}, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n",
    "[12345.678] NVRM: Xid (PCI:0000:1a:00): 79, pid=12345, name=python, GPU has fallen off the bus.\n",
    "[rank{rank}]:[titan] 2026-03-01 12:00:00,123 - root - INFO - step: {step}  loss:     nan  grad_norm:     inf\n",
    "node003:12345:12400 [{gpu}] misc/ibvwrap.cc:123 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n",
    'Traceback (most recent call last):\n  File "/app/train.py", line 321, in main\n    loss.backward()\nRuntimeError: CUDA error: an illegal memory access was encountered\n',
    "slurmstepd: error: *** STEP {step}.0 ON node001 CANCELLED AT 2026-03-01T12:00:00 DUE TO TIME LIMIT ***\n",
)  # fmt: skip
FAILURE_EVERY = 5_000_000
"""Bytes between two failures."""


def lines(seed: int, rank: int | None = None) -> Iterator[str]:
    """Yield lines without end; of one rank, or of 64 that write into one log."""
    chance = random.Random(seed)  # noqa: S311 - a log, not a key
    written, failure_at, step = 0, FAILURE_EVERY // 2, 0
    while True:
        step += 1
        who = chance.randrange(64) if rank is None else rank
        seconds, loss = 1_772_323_200 + step * 1.234, 2 + 8 / (1 + step / 50_000) + chance.random() * 0.05
        line = _line(chance, step, who, strftime("%Y-%m-%d %H:%M:%S", gmtime(seconds)), loss)
        written += len(line)
        yield line
        if written >= failure_at:
            failure_at += FAILURE_EVERY
            yield chance.choice(FAILURES).format(rank=who, step=step, gpu=who % 8)


def _line(chance: random.Random, step: int, rank: int, time: str, loss: float) -> str:
    kind = chance.random()
    if kind < 0.25:
        return (
            f" [{time}.{step % 1000:03d}000] iteration {step:8d}/  500000 | consumed samples: {step * 256:12d} | elapsed "
            f"time per iteration (ms): {1200 + kind * 60:.1f} | throughput per GPU (TFLOP/s/GPU): {400 + kind:.1f} | "
            f"learning rate: {3e-4 * kind:.6E} | global batch size:   256 | lm loss: {loss:.6E} | loss scale: 1.0 | "
            f"grad norm: {kind * 2:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
    if kind < 0.5:
        return (
            f"[rank{rank}]:[titan] {time},{step % 1000:03d} - root - INFO - step: {step:5d}  loss: {loss:7.4f}  grad_norm: "
            f"{kind * 2:7.4f}  memory: 40.45GiB(50.12%)  tps: {3000 + step % 900:,}  tflops: 127.10  mfu: 12.09%\n"
        )
    if kind < 0.65:
        return f"{{'loss': {loss:.4f}, 'grad_norm': {kind:.6f}, 'learning_rate': {5e-5 * kind:.8e}, 'epoch': {step / 1e5:.2f}}}\n"
    if kind < 0.8:
        done = step % 10_000
        bar = ("\u2588" * (done // 1000)).ljust(10)
        return f"{done // 100:3d}%|{bar}| {done}/10000 [{step // 60:02d}:{step % 60:02d}<16:40,  {9 + kind:.2f}it/s, loss={loss:.3f}]\r"
    if kind < 0.9:
        return f"node{rank // 8:03d}:12345:12400 [{rank % 8}] NCCL INFO Channel {step % 32:02d}/0 : {rank}[0] -> 7[1] via P2P/CUMEM\n"
    if kind < 0.97:
        return f"{time},{step % 1000:03d} - INFO - trainer.data - worker {rank} fetched shard-{step:06d}.tar in {kind:.3f}s; timeouts: 0\n"
    return f"[rank{rank}]:[W301 12:00:00.{step:09d} TensorAdvanced.cpp:{step % 4000}] Warning: The operator is deprecated\n"


def write(path: Path, size: int, seed: int = 1, rank: int | None = None) -> None:
    """Write a log of about so many bytes, unless there is one."""
    if path.exists() and path.stat().st_size >= size:
        return
    written = 0
    source = lines(seed, rank)
    with path.open("wb") as file:
        while written < size:
            written += file.write("".join(next(source) for _ in range(2000)).encode())
