"""What a run is asked to do: one frozen record, one command-line option a field."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

TILE = 128
"""Queries and keys that the fused kernel skips or computes together."""


def option(default: Any, text: str, **more: Any) -> Any:
    """Return a field that is a command-line option as well."""
    return field(default=default, metadata={"help": text, **more})


def numbers(text: str) -> tuple[int, ...]:
    """Read `512,2048` as (512, 2048)."""
    return tuple(int(part) for part in text.split(","))


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a run. Lengths are in tokens; the defaults train for seconds on a CPU."""

    steps: int = option(20, "optimizer steps in all, resumed ones included")
    threads: int = option(2, "drafters, each trained by a thread of its own")
    targets: int = option(2, "frozen target models that feed them")
    layers: int = option(2, "layers of a drafter")
    heads: int = option(4, "attention heads")
    head_dim: int = option(16, "size of a head")
    vocab: int = option(64, "token ids")
    ctx: tuple[int, ...] = option((128,), "context lengths, one a step in turn: 2048,4096", type=numbers)
    anchors: int = option(16, "blocks drafted per micro-batch")
    block_size: int = option(8, "tokens of a block; the first is known")
    token_budget: int = option(0, "context and query tokens of a micro-batch at most; 0: any")
    samples: int = option(65536, "documents of an epoch")
    gamma: float = option(10.0, "token k of a block weighs exp(-(k - 1) / gamma)")
    noise: float = option(0.1, "noise on the target's hidden states at first; falls to 0")
    lr: float = option(3e-3, "peak learning rate")
    warmup_ratio: float = option(0.04, "share of the steps in which the learning rate rises")
    weight_decay: float = option(0.01, "of AdamW")
    accumulate: int = option(4, "micro-batches of a step")
    clip: float = option(1.0, "largest gradient norm")
    seed: int = option(0, "of data, weights and noise")
    device: str = option("auto", "where to train", choices=("auto", "cpu", "cuda"))
    attention: str = option(
        "auto",
        "auto: compiled on GPUs, eager on CPUs",
        choices=("auto", "compiled", "eager", "dense"),
    )
    dense: str = option("refuse", "what to do when attention would run dense", choices=("refuse", "allow"))
    first_compile: str = option(
        "serialised",
        "serialised: behind one lock, with gradients, at the run's shapes; the others race as runs in the field do",
        choices=("serialised", "raced", "warm", "warm-no-grad", "warm-other-shapes"),
    )
    allocator: str = option("", "settings of the CUDA allocator, such as expandable_segments:True")
    checkpoints: str = option("", "folder of the checkpoints")
    every: int = option(5, "steps between checkpoints")
    keep: int = option(3, "checkpoints to keep")
    resume: str = option("none", "none, auto (the newest whole one of --checkpoints), or a file")
    json: str = option("", "file for one JSON object a step")
    bad_tokens: str = option(
        "raise", "what to do with samples whose ids the vocabulary lacks", choices=("raise", "skip")
    )
    fail: str = option("none", "fail for real", choices=("none", "nan", "bad-token", "kill", "hang"))
    fail_step: int = option(7, "the step at which to fail")
    fail_drafter: int = option(0, "the drafter that fails")
    fail_once: str = option("", "a file that is made at the failure; while it is there, nothing fails")

    def __post_init__(self) -> None:
        """Refuse what cannot run, in words that name the option."""
        for name in ("steps", "threads", "targets", "accumulate", "block_size", "anchors", "every", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name.replace('_', '-')} must be 1 or more, not {getattr(self, name)}")
        if self.head_dim % 2:
            raise ValueError(f"--head-dim must be even, not {self.head_dim}: positions turn pairs")
        if self.block_size < 2:
            raise ValueError("--block-size must be 2 or more: the first token of a block is known")
        for ctx in self.ctx:
            if ctx < 4 * self.block_size:
                raise ValueError(f"--ctx {ctx} is too short for blocks of {self.block_size}")
            if self.anchors_for(ctx) < 1:
                raise ValueError(f"--token-budget {self.token_budget} leaves no room for a block beside --ctx {ctx}")
        if self.attention == "compiled" or (self.attention == "auto" and self.device == "cuda"):
            self.check_tiles()

    def check_tiles(self) -> None:
        """Refuse shapes that do not fill whole tiles of the fused kernel."""
        for ctx in self.ctx:
            for what, length in (("--ctx", ctx), ("anchors x block size", self.anchors_for(ctx) * self.block_size)):
                if length % TILE:
                    raise ValueError(f"{what} is {length}; the fused kernel wants a multiple of {TILE}")

    @property
    def width(self) -> int:
        """Return the size of a hidden state."""
        return self.heads * self.head_dim

    def context(self, step: int) -> int:
        """Return the context length of a step."""
        return self.ctx[step % len(self.ctx)]

    def anchors_for(self, ctx: int) -> int:
        """Return how many blocks the token budget leaves beside a context, in whole tiles where there are any."""
        if not self.token_budget:
            return self.anchors
        room = min(self.anchors, (self.token_budget - ctx) // self.block_size)
        tile = max(1, TILE // self.block_size)
        return room // tile * tile if room >= tile else max(room, 0)


def parse(arguments: Sequence[str] | None = None) -> Config:
    """Read the command line; a setting that cannot run ends the program with status 2."""
    parser = argparse.ArgumentParser(
        prog="training_core",
        description="Train DFlash-style drafters on the hidden states of frozen targets, and fail on request.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for item in dataclasses.fields(Config):
        more = dict(item.metadata)
        more.setdefault("type", type(item.default))
        parser.add_argument(f"--{item.name.replace('_', '-')}", default=item.default, **more)
    given = parser.parse_args(arguments)
    try:
        return Config(**vars(given))
    except ValueError as error:
        parser.error(str(error))
