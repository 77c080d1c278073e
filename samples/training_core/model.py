"""The drafter: a few layers that fill a block at once, from the target's hidden states."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training_core.attention import Kernel, Mask
from training_core.config import Config
from training_core.data import Batch
from training_core.target import TAPS

ROTARY_BASE = 10000.0


def rotated(x: Tensor, positions: Tensor) -> Tensor:
    """Turn pairs of (1, heads, n, d) by the positions (n,), so that scores tell distances."""
    half = x.shape[-1] // 2
    rates = ROTARY_BASE ** (-torch.arange(half, device=x.device) / half)
    angles = positions[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x[..., :half], x[..., half:]
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class Norm(nn.RMSNorm):
    """RMSNorm in float32, whatever comes in: under autocast that is bfloat16, which its squares do not fit."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised states in float32."""
        found: Tensor = super().forward(x.float())
        return found


class Layer(nn.Module):
    """Attention over context and block, then a gated two-layer network."""

    def __init__(self, config: Config, attend: Kernel) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.attend = attend
        self.before = Norm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.between = Norm(width)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor, context: Tensor, positions: Tensor, mask: Mask) -> Tensor:
        """Return the block states: x is (queries, width), context (ctx, width), positions (ctx + queries,)."""
        inner = self.before(x)
        both = torch.cat([context, inner])
        query = rotated(self._split(self.query(inner)), positions[len(context) :])
        key = rotated(self._split(self.key(both)), positions)
        found = self.attend(query, key, self._split(self.value(both)), mask)
        x = x + self.out(found[0].transpose(0, 1).flatten(1))
        inner = self.between(x)
        gated: Tensor = self.down(F.silu(self.gate(inner)) * self.up(inner))
        return x + gated

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(len(x), self.heads, -1).transpose(0, 1)[None]


class Drafter(nn.Module):
    """Predicts tokens 1.. of each block from its first one and the context before it."""

    def __init__(self, config: Config, attend: Kernel) -> None:
        super().__init__()
        self.block_size = config.block_size
        self.join = nn.Linear(TAPS * config.width, config.width, bias=False)
        self.joined = Norm(config.width)
        self.embedding = nn.Embedding(config.vocab, config.width)
        self.masked = nn.Parameter(torch.zeros(config.block_size, config.width))
        self.layers = nn.ModuleList(Layer(config, attend) for _ in range(config.layers))
        self.last = Norm(config.width)
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        nn.init.normal_(self.masked, std=0.02)
        nn.init.zeros_(self.head.weight)

    def forward(self, batch: Batch, hidden: Tensor, mask: Mask) -> Tensor:
        """Return logits (anchors, block_size - 1, vocab) of a batch, given hidden states (ctx, TAPS * width)."""
        context = self.joined(self.join(hidden))
        first = self.embedding(batch.tokens[batch.anchors])
        x = self.masked.expand(len(batch.anchors), -1, -1)
        x = torch.cat([x[:, :1] + first[:, None], x[:, 1:]], 1).flatten(0, 1)
        inside = torch.arange(self.block_size, device=x.device)
        positions = torch.cat([torch.arange(batch.ctx, device=x.device), (batch.anchors[:, None] + inside).flatten()])
        for layer in self.layers:
            x = layer(x, context, positions, mask)
        blocks = self.last(x).reshape(len(batch.anchors), self.block_size, -1)
        logits: Tensor = self.head(blocks[:, 1:])
        return logits


def loss_of(logits: Tensor, labels: Tensor, gamma: float) -> Tensor:
    """Return the mean KL divergence from the target's distribution, early tokens of a block weighing more.

    Args:
        logits: (anchors, n, vocab) of a drafter.
        labels: float32 (anchors, n, vocab), the target's probabilities.
        gamma: token k weighs exp(-(k - 1) / gamma): a draft is used up to its first mistake.
    """
    divergence = F.kl_div(F.log_softmax(logits.float(), -1), labels, reduction="none").sum(-1)
    weights = torch.exp(-torch.arange(logits.shape[1], device=logits.device) / gamma)
    return (divergence * weights).mean(0).sum() / weights.sum()
