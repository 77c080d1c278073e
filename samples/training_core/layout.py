"""Who sees whom: blocks of queries over the context before their anchor, and over themselves.

Keys are the context followed by the queries. A query of block b sees context tokens of its own
document before its anchor, and every token of its own block. The tiles that the fused kernel
visits follow from the anchors alone, so no queries x keys mask is ever built for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from training_core.config import TILE
from training_core.data import Batch

Sees = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of one attention, and which key each query sees."""

    ctx: int
    anchors: int
    block_size: int
    sees: Sees

    @property
    def queries(self) -> int:
        """Return the number of queries."""
        return self.anchors * self.block_size

    @property
    def keys(self) -> int:
        """Return the number of keys."""
        return self.ctx + self.queries

    def mask(self, device: torch.device) -> Tensor:
        """Return the whole mask, for attention that is not fused: bool (queries, keys)."""
        queries = torch.arange(self.queries, device=device)[:, None]
        keys = torch.arange(self.keys, device=device)[None, :]
        nothing = torch.zeros((), dtype=torch.int64, device=device)
        return self.sees(nothing, nothing, queries, keys)


def layout(batch: Batch, block_size: int) -> Layout:
    """Return the layout of a batch; its tensors stay on the batch's device."""
    ctx, first, anchors = batch.ctx, batch.first, batch.anchors

    def sees(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        block = query // block_size
        before = (key >= first[block]) & (key < anchors[block])
        return before | ((key >= ctx) & ((key - ctx) // block_size == block))

    return Layout(ctx, len(anchors), block_size, sees)


def tiles(batch: Batch, wanted: Layout) -> BlockMask:
    """Return the tiles of a layout, from the spans of its blocks: about (queries / 128) x (keys / 128) work."""
    device = batch.tokens.device
    edges = torch.arange(0, wanted.keys, TILE, device=device)
    first, anchors = batch.first[:, None], batch.anchors[:, None]
    some = (edges < anchors) & (edges + TILE > first) & (edges < wanted.ctx)
    whole = (edges >= first) & (edges + TILE <= anchors)
    starts = wanted.ctx + torch.arange(wanted.anchors, device=device)[:, None] * wanted.block_size
    own = (edges < starts + wanted.block_size) & (edges + TILE > starts)
    some, whole = some | own, whole | ((edges >= starts) & (edges + TILE <= starts + wanted.block_size))
    some, whole = _per_tile(some, wanted).any(1), _per_tile(whole, wanted).all(1)
    return BlockMask.from_kv_blocks(
        *_listed(some & ~whole),
        *_listed(whole),
        BLOCK_SIZE=(TILE, TILE),
        mask_mod=wanted.sees,
        seq_lengths=(wanted.queries, wanted.keys),
    )


def _per_tile(blocks: Tensor, wanted: Layout) -> Tensor:
    """Group rows of blocks into rows of tiles: (blocks, n) to (tiles, blocks of a tile, n)."""
    if wanted.block_size > TILE:
        return blocks.repeat_interleave(wanted.block_size // TILE, 0)[:, None]
    return blocks.reshape(-1, TILE // wanted.block_size, blocks.shape[1])


def _listed(tiles: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many tiles each row visits and which, as the kernel reads them: int32 (1, 1, rows[, columns])."""
    order = torch.argsort(tiles.to(torch.int8), dim=1, descending=True, stable=True)
    return tiles.sum(1).to(torch.int32)[None, None], order.to(torch.int32)[None, None].contiguous()
