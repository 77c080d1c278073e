"""Frozen stand-ins for the large target model: hidden states and soft labels."""

from __future__ import annotations

import threading

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training_core.config import Config
from training_core.data import SLIP, Batch, language

TAPS = 3
"""Layers whose hidden states are handed on."""


class Target(nn.Module):
    """A model that knows the language, with random hidden states that tell the last two tokens.

    All targets of a run are copies of one model; each serves one drafter at a time.
    """

    table: Tensor
    follower: Tensor

    def __init__(self, config: Config, device: torch.device) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(config.seed + 1)
        order = language(config.vocab, config.seed)
        follower = torch.empty_like(order)
        follower[order] = order.roll(-1)
        table = torch.randn(config.vocab, TAPS * config.width, generator=random)
        self.register_buffer("table", table.to(device))
        self.register_buffer("follower", follower.to(device))
        self.device = device
        self.vocab = config.vocab
        self.busy = threading.Lock()

    @torch.no_grad()
    def features(self, tokens: Tensor) -> Tensor:
        """Return the hidden states of a context: float32 (ctx, TAPS * width)."""
        here = F.embedding(tokens, self.table)
        before = F.embedding(tokens.roll(1), self.table)
        return torch.tanh(here + 0.5 * before)

    @torch.no_grad()
    def labels(self, batch: Batch, block_size: int) -> Tensor:
        """Return the target's distribution for tokens 1.. of each block: float32 (anchors, block_size - 1, vocab)."""
        offsets = torch.arange(block_size - 1, device=batch.tokens.device)
        before = batch.tokens[batch.anchors[:, None] + offsets]
        likely = self.follower[before]
        spread = torch.full((*likely.shape, self.vocab), SLIP / self.vocab, device=likely.device)
        return spread.scatter_(-1, likely[..., None], 1.0 - SLIP + SLIP / self.vocab)

    def serve(self, batch: Batch, block_size: int) -> tuple[Tensor, Tensor]:
        """Return hidden states and labels of a batch, on the batch's device."""
        with self.busy:
            here = batch.to(self.device)
            hidden, labels = self.features(here.tokens), self.labels(here, block_size)
        return hidden.to(batch.tokens.device), labels.to(batch.tokens.device)
