"""Over random models and random byte counts: what is true is among the first three, and chance is not believed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import pytest

from forensics.memory import Hypothesis, Numbers, Request, collect, explain

RUNS = 150
MIB, GIB = 1 << 20, 1 << 30
FIT = 0.05
"""Share of unrelated byte counts that may be given a confident story."""


@dataclass(frozen=True)
class Model:
    """A transformer and a batch, with sizes as real ones have them."""

    batch: int
    seq: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    layers: int

    @property
    def hidden(self) -> int:
        """Return the width of the residual stream."""
        return self.heads * self.head_dim

    def numbers(self) -> Numbers:
        """What the run prints of it, under the names of transformers."""
        config = {
            "hidden_size": self.hidden, "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim, "intermediate_size": self.intermediate, "vocab_size": self.vocab,
            "num_hidden_layers": self.layers, "torch_dtype": "bfloat16",
        }  # fmt: skip
        return collect({**config, "per_device_train_batch_size": self.batch, "seq_len": self.seq}, {}, ())


def drawn(chance: random.Random) -> Model:
    heads, head_dim = chance.choice([8, 12, 14, 16, 20, 24, 32, 40, 48, 64]), chance.choice([64, 80, 96, 128])
    return Model(
        batch=chance.choice([1, 2, 3, 4, 6, 8, 12, 16, 32, 64]),
        seq=chance.choice([1024, 1536, 2048, 3072, 4096, 6144, 8192, 10_000, 16_384, 32_768, 37_888]),
        heads=heads,
        kv_heads=chance.choice([n for n in (1, 2, 4, 8, heads) if heads % n == 0]),
        head_dim=head_dim,
        intermediate=chance.choice([4 * heads * head_dim, 5632, 8192, 11_008, 13_824, 14_336, 18_944]),
        vocab=chance.choice([32_000, 50_257, 50_304, 64_000, 100_352, 128_256, 151_936, 256_000]),
        layers=chance.choice([12, 16, 22, 24, 32, 40]),
    )


KINDS: dict[str, tuple[str, Callable[[Model], tuple[tuple[int, ...], int]]]] = {
    "attention scores": (
        "attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling",
        lambda m: ((m.batch, m.heads, m.seq, m.seq), 2),
    ),
    "attention scores in float32": (
        "attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32)",
        lambda m: ((m.batch, m.heads, m.seq, m.seq), 4),
    ),
    "attention mask": ("mask = torch.tril(torch.ones(s, s))", lambda m: ((m.batch, 1, m.seq, m.seq), 4)),
    "logits": ("logits = self.lm_head(hidden_states)", lambda m: ((m.batch, m.seq, m.vocab), 2)),
    "logits in float32": ("logits = logits.float()", lambda m: ((m.batch, m.seq, m.vocab), 4)),
    "one-hot labels": ("y = F.one_hot(labels, vocab)", lambda m: ((m.batch, m.seq, m.vocab), 8)),
    "optimizer state": ("state['exp_avg'] = torch.zeros_like(p)", lambda m: ((m.vocab, m.hidden), 2)),
    "activation": ("h = self.gate_proj(x)", lambda m: ((m.batch, m.seq, m.intermediate), 2)),
    "parameter": (
        '  File "/e/torch/nn/modules/module.py", line 1, in convert\n    return t.to(device)',
        lambda m: ((m.intermediate, m.hidden), 2),
    ),
    "kv cache": (
        "self.key_cache.append(key_states)",
        lambda m: ((m.batch, m.kv_heads, m.seq, m.head_dim), 2),
    ),
}  # fmt: skip


def asked(size: int) -> Request:
    """What the allocator prints: two decimals of a unit, rounded up to its segment."""
    segment = -(-size // (2 * MIB)) * 2 * MIB if size >= 10 * MIB else 20 * MIB if size > MIB else 2 * MIB
    unit = GIB if segment > GIB else MIB
    return Request(round(round(segment / unit, 2) * unit), unit_bytes=unit, total_bytes=80 * GIB)


def is_it(found: Hypothesis, tensor: str, shape: tuple[int, ...], itemsize: int) -> bool:
    return found.tensor == tensor and found.itemsize == itemsize and prod(found.shape) == prod(shape)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_among_the_first_three(kind: str) -> None:
    """Whatever the shapes, as long as the code tells what it was doing and the request is no bucket of small ones."""
    chance = random.Random(kind)  # noqa: S311 - shapes, not secrets
    code, made = KINDS[kind]
    missed = []
    for _ in range(RUNS):
        model = drawn(chance)
        shape, itemsize = made(model)
        size = prod(shape) * itemsize
        if size < 64 * MIB:
            continue
        found = explain(asked(size), model.numbers(), code)[:3]
        if not any(is_it(f, kind.removesuffix(" in float32"), shape, itemsize) for f in found):
            missed.append((model, [f.sentence for f in found]))
    assert not missed


@pytest.mark.parametrize("frames", ["", *{code for code, _ in KINDS.values()}])
def test_chance_is_seldom_given_a_confident_story(frames: str) -> None:
    """Byte counts that have nothing to do with the shapes: at most one in twenty fits by accident."""
    chance = random.Random(frames)  # noqa: S311 - sizes, not secrets
    told = 0
    for _ in range(RUNS):
        size = round(2 ** chance.uniform(28, 38))
        found = explain(asked(size), drawn(chance).numbers(), frames)
        told += any(f.confidence != "low" for f in found)
    assert told <= FIT * RUNS
