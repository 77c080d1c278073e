"""Attention over a layout: fused and compiled on GPUs, eager on CPUs, never dense unasked.

`compiled` is `torch.compile(flex_attention)`. What is compiled asks whether it is being compiled:
whatever makes the compiler step aside (a limit on recompiles, TORCHDYNAMO_DISABLE=1, a nested trace
that is let through), the call that would then materialise all scores is refused instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo import config as dynamo
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from training_core.config import Config
from training_core.data import Batch
from training_core.layout import layout, tiles

Mask = Tensor | BlockMask
Kernel = Callable[[Tensor, Tensor, Tensor, Mask], Tensor]


class DenseAttentionWarning(UserWarning):
    """Attention was about to materialise all scores. Raised, as `python -W error` would raise torch's own warning."""


def kernel(config: Config, device: torch.device) -> Kernel:
    """Return the attention of a run: (1, heads, queries, d), twice (1, heads, keys, d), mask to (1, heads, queries, d).

    One kernel serves all drafters, as a module-level `torch.compile` does.
    """
    how = chosen(config, device)
    inner = _flex if device.type == "cuda" else _eager
    if how == "eager":
        return _eager
    fused = _guarded(inner) if config.dense == "refuse" else inner
    if how == "dense":
        return fused
    # FlexAttention has no gradients on CPUs: there the eager attention is traced, forward and backward, instead.
    backend = "inductor" if device.type == "cuda" else "aot_eager"
    return torch.compile(fused, dynamic=False, backend=backend)


def chosen(config: Config, device: torch.device) -> str:
    """Return the way attention runs: compiled, eager or dense."""
    if config.attention != "auto":
        return config.attention
    return "compiled" if device.type == "cuda" else "eager"


def mask(config: Config, batch: Batch) -> Mask:
    """Return the mask of a batch in the form its kernel reads."""
    wanted = layout(batch, config.block_size)
    device = batch.tokens.device
    if device.type == "cpu" or chosen(config, device) == "eager":
        return wanted.mask(device)
    return tiles(batch, wanted)


def allow_compiles(config: Config, devices: int) -> None:
    """Let the compiler keep a kernel for each shape and device; it gives up at 8 otherwise.

    Torch keeps this setting per thread, so every thread that trains says it.
    """
    limit = 8 + 2 * len(set(config.ctx)) * devices
    # torch 2.6 renamed it.
    name = "recompile_limit" if hasattr(dynamo, "recompile_limit") else "cache_size_limit"
    setattr(dynamo, name, limit)


def _flex(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Tensor:
    found: Tensor = flex_attention(query, key, value, block_mask=mask)  # a plain tensor, since no more was asked for
    return found


def _eager(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def _guarded(inner: Kernel) -> Kernel:
    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Tensor:
        if not torch.compiler.is_compiling():
            _refuse(query, key)
        return inner(query, key, value, mask)

    return attention


def _refuse(query: Tensor, key: Tensor) -> None:
    """Say which attention would run dense and what it would take, and stop."""
    _, heads, queries, _ = query.shape
    size = heads * queries * key.shape[2] * 4 / 2**30
    raise DenseAttentionWarning(
        "flex_attention called without torch.compile() - this would materialize the full scores matrix:"
        f" {heads} heads x {queries} queries x {key.shape[2]} keys x 4 bytes = {size:.2f} GiB."
        " Compile it, or say --dense allow"
    )
