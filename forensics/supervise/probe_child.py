"""The child of the probe: threads that compile attention at once. Run by file name, never imported.

It stands alone, on the standard library and torch, because the interpreter that runs it is the
training's, which need not have this package. Usage: `python probe_child.py '{"threads": 4, ...}'`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
import time
import traceback
from typing import Any

TILE = 128
INNERMOST = 6
"""Calls of a hung thread that the answer names."""
ROUNDS = 2
"""Losses a thread computes: one that compiles, one that finds it compiled."""


def main(order: dict[str, Any]) -> dict[str, Any]:
    """Do what was ordered; return the answer."""
    try:
        # By name: the package asks for no torch, and a machine without one is an answer.
        torch = importlib.import_module("torch")
    except ImportError as error:
        return {"state": "no-torch", "why": f"no torch for {sys.executable}: {error}"}
    version = str(torch.__version__)
    gpu = torch.cuda.is_available()
    if not gpu and not order["cpu"]:
        return {"state": "no-gpu", "why": f"torch {version} sees no GPU", "torch": version}
    race = Race(torch, order, gpu=gpu)
    device = torch.cuda.get_device_name(0) if gpu else "cpu"
    return {"state": "ran", "torch": version, "device": device, **race.run()}


class Race:
    """Threads that each compute a loss over compiled attention, as drafters do."""

    def __init__(self, torch: Any, order: dict[str, Any], *, gpu: bool) -> None:
        self._torch = torch
        self._order = order
        self._gpu = gpu
        self._lock = threading.Lock()
        self._failures: list[BaseException] = []
        self._dense = False
        self._compiled = torch.compile(self._attention(), dynamic=False, backend="inductor" if gpu else "aot_eager")

    def run(self) -> dict[str, Any]:
        """Start all threads, wait for them until the time is up, and count."""
        began = time.perf_counter()
        until = began + self._order["limit_s"]
        threads = [threading.Thread(target=self._thread, args=(n,), daemon=True) for n in range(self._order["threads"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.perf_counter()))
        first = self._failures[0] if self._failures else None
        hung = [thread for thread in threads if thread.is_alive()]
        return {
            "failed": len(self._failures),
            "hung": len(hung),
            "exception": type(first).__name__ if first else "",
            "message": str(first) if first else _waiting(hung),
            "dense": self._dense,
            "seconds": round(time.perf_counter() - began, 2),
            "peak_bytes": self._torch.cuda.max_memory_allocated() if self._gpu else 0,
        }

    def _attention(self) -> Any:
        """Return what is compiled; it notices when it runs uncompiled."""
        torch = self._torch
        if self._gpu:
            inner = importlib.import_module("torch.nn.attention.flex_attention").flex_attention
        else:

            def inner(query: Any, key: Any, value: Any, *, block_mask: Any) -> Any:
                return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=block_mask)

        def attention(query: Any, key: Any, value: Any, mask: Any) -> Any:
            if not torch.compiler.is_compiling():
                self._dense = True
            return inner(query, key, value, block_mask=mask)

        return attention

    def _thread(self, number: int) -> None:
        try:
            self._allow_compiles()
            device = self._torch.device("cpu")
            if self._gpu:
                device = self._torch.device("cuda", number % self._torch.cuda.device_count())
            mask = self._mask(device, number)
            for _ in range(ROUNDS):
                with self._alone():
                    self._loss(device, mask)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            self._failures.append(error)

    def _allow_compiles(self) -> None:
        """Let the compiler keep a kernel for each GPU; torch keeps this setting per thread."""
        config = importlib.import_module("torch._dynamo.config")
        name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
        setattr(config, name, 64)

    @contextlib.contextmanager
    def _alone(self) -> Any:
        """Hold the lock for the whole of a loss, forward and backward, if the order is to lock."""
        with self._lock if self._order["locked"] else contextlib.nullcontext():
            yield

    def _loss(self, device: Any, mask: Any) -> None:
        torch, order = self._torch, self._order
        queries = order["anchors"] * order["block_size"]
        keys = order["ctx"] + queries
        dtype = getattr(torch, order["dtype"]) if self._gpu else torch.float32
        size = (1, order["heads"], keys, order["head_dim"])
        query = torch.randn(*size[:2], queries, size[3], device=device, dtype=dtype, requires_grad=True)
        key = torch.randn(size, device=device, dtype=dtype, requires_grad=True)
        value = torch.randn(size, device=device, dtype=dtype, requires_grad=True)
        found = query
        for _ in range(order["layers"]):
            found = self._compiled(found, key, value, mask)
        found.float().square().mean().backward()

    def _mask(self, device: Any, number: int) -> Any:
        """Return the mask of a block drafter: the context before an anchor, and the block itself."""
        torch, order = self._torch, self._order
        ctx, size, anchors = order["ctx"], order["block_size"], order["anchors"]
        random = torch.Generator().manual_seed(number)
        at = torch.randint(1, ctx, (anchors,), generator=random).sort().values.to(device)

        def sees(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
            block = query // size
            return (key < at[block]) & (key < ctx) | (key >= ctx) & ((key - ctx) // size == block)

        queries, keys = anchors * size, ctx + anchors * size
        if not self._gpu:
            return sees(0, 0, torch.arange(queries)[:, None], torch.arange(keys)[None])
        edges = torch.arange(0, keys, TILE, device=device)
        rows = torch.arange(0, queries, TILE, device=device)
        # The tiles that any block of a row of tiles needs; edges of the mask are the kernel's to cut.
        last = at[torch.clamp((rows + TILE - 1) // size, max=anchors - 1)][:, None]
        here = (edges >= ctx - TILE) & (edges + TILE > ctx + rows[:, None]) & (edges < ctx + rows[:, None] + TILE)
        some = (edges < last) & (edges < ctx) | here
        order_of = torch.argsort(some.to(torch.int8), dim=1, descending=True, stable=True).to(torch.int32)
        flex = importlib.import_module("torch.nn.attention.flex_attention")
        counts = some.sum(1).to(torch.int32)
        return flex.BlockMask.from_kv_blocks(
            counts[None, None], order_of[None, None].contiguous(), BLOCK_SIZE=TILE, mask_mod=sees,
            seq_lengths=(queries, keys),
        )  # fmt: skip


def _waiting(threads: list[threading.Thread]) -> str:
    """Say where threads are that have not finished: the innermost calls of each."""
    frames = sys._current_frames()  # noqa: SLF001 - what faulthandler prints, as text
    found = []
    for thread in threads:
        calls = traceback.extract_stack(frames.get(thread.ident or 0))[-INNERMOST:]
        found.append(
            " < ".join(f"{call.name} ({call.filename.rpartition('/')[2]}:{call.lineno})" for call in calls[::-1])
        )
    return f"not finished at the time limit: {'; '.join(found)}" if found else ""


if __name__ == "__main__":
    # This file's own folder is no place to find modules in.
    del sys.path[0]
    answer = main(json.loads(sys.argv[1]))
    print("PROBE-RESULT " + json.dumps(answer), flush=True)  # noqa: T201
    # Threads that hang, and the compiler's helpers, must not keep the answer waiting.
    os._exit(0)
