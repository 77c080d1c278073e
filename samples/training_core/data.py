"""Documents and the blocks drafted in them: a pure function of a seed and a number.

The language is a cycle through all token ids, in an order the seed draws, with a slip now and
then. Any micro-batch can be made anew from its number, which is what makes a resumed run exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from training_core.config import Config

SLIP = 0.05
"""How often a token is not the one that follows."""
DOCUMENTS = 4
"""Documents in a context at most."""
_OTHER = 1 << 40


class BadTokenError(ValueError):
    """A sample holds a token id that the vocabulary lacks."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One packed context and the blocks drafted in it.

    Attributes:
        tokens: int64 (ctx,), on the CPU until a drafter takes it.
        first: int64 (anchors,): where the document of each anchor begins.
        anchors: int64 (anchors,), sorted: the position of the first token of each block.
    """

    tokens: Tensor
    first: Tensor
    anchors: Tensor

    @property
    def ctx(self) -> int:
        """Return the context length in tokens."""
        return self.tokens.numel()

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        return Batch(self.tokens.to(device), self.first.to(device), self.anchors.to(device))


def language(vocab: int, seed: int) -> Tensor:
    """Return the order in which tokens follow each other: int64 (vocab,)."""
    return torch.randperm(vocab, generator=torch.Generator().manual_seed(seed))


def batch(config: Config, number: int, ctx: int) -> Batch:
    """Make a micro-batch from its number."""
    random = torch.Generator().manual_seed((config.seed << 20) ^ (number * 2654435761 % (1 << 61)))
    order = language(config.vocab, config.seed)
    shortest = 2 * config.block_size
    cuts = torch.randint(0, ctx // shortest, (DOCUMENTS - 1,), generator=random)
    starts = torch.unique(torch.cat([torch.zeros(1, dtype=torch.int64), cuts * shortest]))
    document = torch.bucketize(torch.arange(ctx), starts, right=True) - 1
    offsets = torch.randint(0, config.vocab, (len(starts),), generator=random)
    tokens = order[(torch.arange(ctx) + offsets[document]) % config.vocab]
    slips = torch.rand(ctx, generator=random) < SLIP
    tokens = torch.where(slips, torch.randint(0, config.vocab, (ctx,), generator=random), tokens)
    ends = torch.cat([starts[1:], torch.tensor([ctx])])
    whole = (torch.arange(ctx) + config.block_size <= ends[document]).nonzero().squeeze(1)
    chosen = whole[torch.randint(0, len(whole), (config.anchors_for(ctx),), generator=random)].sort().values
    return Batch(tokens, starts[document[chosen]], chosen)


def spoiled(good: Batch, vocab: int) -> Batch:
    """Return the batch with a token id that the vocabulary lacks, as a tokenizer of another model leaves it."""
    tokens = good.tokens.clone()
    tokens[good.anchors[0]] = vocab + 7
    return replace(good, tokens=tokens)


def checked(config: Config, number: int, found: Batch) -> tuple[Batch, int | None]:
    """Return the batch, or another one and the bad token id if ids are checked and one is bad."""
    if config.bad_tokens == "raise":
        return found, None
    worst = int(found.tokens.max())
    if worst < config.vocab:
        return found, None
    return batch(config, number + _OTHER, found.ctx), worst
