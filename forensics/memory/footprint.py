"""The memory that one training step needs at its peak, worked out from the model's shapes.

    weights + gradients + optimizer state + what each layer keeps + what the loss is made of

Three moments compete for the peak: the backward pass of the loss (all activations are still
there, and the logits three times), the end of the backward pass (all gradients are there), and
the optimizer's step (its temporaries). Held against torch.cuda.max_memory_allocated on an H200,
the figures for transformers' models lie within a few percent; the CUDA context, the allocator's
rounding and other libraries come on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from forensics.memory.families import FAMILIES, Family, Kept, Width

Optimizer: TypeAlias = Literal["adamw", "adamw_fused", "adamw_8bit", "sgd", "momentum"]
Attention: TypeAlias = Literal["fused", "eager"]

_STATES: Mapping[Optimizer, float] = {"adamw": 2, "adamw_fused": 2, "adamw_8bit": 0, "sgd": 0, "momentum": 1}
"""Elements of state for each parameter, in the dtype of the weights."""
_EIGHT_BIT_STATES = 2
"""Bytes of state for each parameter where an optimizer keeps two moments of one byte."""
_TEMPORARIES: Mapping[Optimizer, float] = {"adamw": 1}
"""Elements for each parameter that a step holds besides: torch's foreach form takes the root of a moment."""

_FALLEN_BACK = Kept(full=1)
"""What the math kernel of scaled_dot_product_attention keeps of a score: the softmax."""


class Architecture(Struct, frozen=True):
    """A decoder or an encoder: its family and sizes. `head_dim` x `heads` need not be `hidden`."""

    family: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool = False
    positions: int = 0

    @property
    def made(self) -> Family:
        """Return how its layers are written."""
        return FAMILIES[self.family]

    @property
    def widths(self) -> Mapping[Width, int]:
        """Return the widths that the family's figures are multiples of."""
        return {
            "hidden": self.hidden, "queries": self.heads * self.head_dim, "keys": self.kv_heads * self.head_dim,
            "intermediate": self.intermediate, "heads": self.heads,
        }  # fmt: skip

    @property
    def matrices(self) -> int:
        """Return the parameters of the matrix products of all layers."""
        width = self.widths
        projections = 2 * self.hidden * (width["queries"] + width["keys"])
        return self.layers * (projections + self.made.matrices * self.hidden * self.intermediate)

    @property
    def parameters(self) -> int:
        """Return how many parameters the model has, biases left out (less than a thousandth)."""
        ends = (1 if self.tied else 2) * self.vocab * self.hidden
        positions = self.positions * self.hidden if self.made.positions else 0
        return self.matrices + ends + positions + (2 * self.layers + 1) * self.hidden


class Setup(Struct, frozen=True):
    """How a step is run. `weights` is the itemsize of the weights; under `autocast` products run in two bytes.

    `accumulated` tells whether gradients of an earlier micro-batch are there already, `replicated`
    whether DDP keeps a second copy of them in its buckets. `shards` is over how many ranks weights,
    gradients and states are spread (FSDP, ZeRO 3).
    """

    batch: int
    seq: int
    weights: int = 2
    autocast: bool = False
    optimizer: Optimizer = "adamw"
    attention: Attention = "fused"
    checkpointing: bool = False
    accumulated: bool = False
    replicated: bool = False
    shards: int = 1

    @property
    def compute(self) -> int:
        """Return the itemsize of the matrix products."""
        return 2 if self.autocast else self.weights

    @property
    def tokens(self) -> int:
        """Return the tokens of a micro-batch."""
        return self.batch * self.seq


class Footprint(Struct, frozen=True):
    """Bytes at the peak of a step: what they are, largest first, when the peak is, and all of them together."""

    parts: Mapping[str, int]
    moment: Literal["loss", "backward", "step"]

    @property
    def peak(self) -> int:
        """Return the bytes at the peak."""
        return sum(self.parts.values())


def footprint(model: Architecture, setup: Setup) -> Footprint:
    """Work out the peak of a step of training.

    Raises:
        KeyError: the model's family is not one of `FAMILIES`.
    """
    held = _held(model, setup)
    gradients = setup.weights * model.parameters // setup.shards
    buckets = gradients if setup.replicated else 0
    layer = _layer(model, setup)
    kept = model.layers * (_inputs(model, setup) if setup.checkpointing else layer)
    kept += model.made.norm.bytes(setup.compute) * model.hidden * setup.tokens
    loss = {
        **held,
        "gradients": (gradients if setup.accumulated else 0) + buckets,
        "activations": int(kept),
        "casts of the weights": _casts(model, setup),
        "logits and loss": _loss(model, setup),
    }
    backward = {**held, "gradients": gradients + buckets, "activations": int(layer)}
    copies = int(_TEMPORARIES.get(setup.optimizer, 0) * gradients)
    step = {**held, "gradients": gradients + buckets, "temporaries of the step": copies}
    moments: Mapping[Literal["loss", "backward", "step"], dict[str, int]] = {
        "loss": loss, "backward": backward, "step": step,
    }  # fmt: skip
    moment = max(moments, key=lambda name: sum(moments[name].values()))
    ranked = sorted(moments[moment].items(), key=lambda part: -part[1])
    return Footprint({name: size for name, size in ranked if size}, moment)


def _held(model: Architecture, setup: Setup) -> dict[str, int]:
    weights = setup.weights * model.parameters // setup.shards
    states = int(_STATES[setup.optimizer] * weights)
    if setup.optimizer == "adamw_8bit":
        states = _EIGHT_BIT_STATES * model.parameters // setup.shards
    return {"weights": weights, "optimizer state": states}


def _layer(model: Architecture, setup: Setup) -> float:
    """Return what one layer keeps for the backward pass, in bytes."""
    kept = model.made.autocast if setup.autocast else model.made.plain
    of_a_token = sum(figure.bytes(setup.compute) * model.widths[name] for name, figure in kept.items())
    scores = 0.0
    if setup.attention == "eager":
        scores = model.made.scores.bytes(setup.compute)
    elif falls_back(model, setup):
        scores = _FALLEN_BACK.bytes(setup.compute)
    if scores and model.kv_heads < model.heads:
        of_a_token += 2 * setup.compute * model.widths["queries"]  # keys and values, once for each head
    return of_a_token * setup.tokens + scores * setup.batch * model.heads * setup.seq * setup.seq


def falls_back(model: Architecture, setup: Setup) -> bool:
    """Tell whether scaled_dot_product_attention runs unfused: kernels that share keys take two-byte elements only."""
    return setup.attention == "fused" and setup.compute == 4 and model.kv_heads < model.heads


def _inputs(model: Architecture, setup: Setup) -> int:
    """Return what a recomputed layer keeps: its input, in the dtype of the residual stream."""
    return setup.weights * model.hidden * setup.tokens


def _casts(model: Architecture, setup: Setup) -> int:
    """Return the two-byte copies of the weights that autocast keeps until the backward pass is over."""
    if not setup.autocast or setup.weights == setup.compute:
        return 0
    return setup.compute * (model.matrices + model.vocab * model.hidden)


def _loss(model: Architecture, setup: Setup) -> int:
    """Return log-probabilities, their gradient and that of the logits: three times tokens x vocabulary."""
    each = 4 if model.made.float_logits or setup.autocast else setup.compute
    times = 2 if setup.autocast and not model.made.float_logits else 3
    return times * each * setup.tokens * model.vocab
