"""What one layer of a model keeps for the backward pass, by the way the layer is written.

Each figure counts elements a token, as multiples of a width: of the hidden size, of the queries
(heads x head size), of the keys (key heads x head size), of the intermediate size, of the heads.
They follow from what autograd saves: the input of every matrix product, of every norm, of
every activation, and both sides of every product. `compute` elements have the dtype of the
matrix products, `full` ones are float32 (norms and softmax are worked out in it), `mask` ones
take one byte (dropout). Two columns, for under autocast the residual stream is float32 and every
matrix product keeps a copy of its own input.

Source: the modules of transformers 5 (modeling_*.py) and torch 2.11 (derivatives.yaml); measured
on an H200 against torch.cuda.max_memory_allocated, they agree within 1 % in bfloat16 and 5 %
under autocast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

Width: TypeAlias = Literal["hidden", "queries", "keys", "intermediate", "heads"]


class Kept(Struct, frozen=True):
    """Elements a token that are kept: in the dtype of the products, in float32, and in bytes."""

    compute: float = 0
    full: float = 0
    mask: float = 0

    def bytes(self, itemsize: int) -> float:
        """Return the bytes of one token and one unit of width."""
        return self.compute * itemsize + self.full * 4 + self.mask


class Family(Struct, frozen=True):
    """How the layers of a kind of model are written.

    `plain` and `autocast` are what a layer keeps, `norm` what the last norm does; `scores` is
    what unfused attention keeps of an element of its score matrix. `float_logits` tells
    whether the loss is worked out on a float32 copy of the logits. `matrices` counts the
    intermediate-size matrices of a layer, `names` what configurations call the family.
    """

    plain: Mapping[Width, Kept]
    autocast: Mapping[Width, Kept]
    norm: Kept
    scores: Kept
    float_logits: bool = True
    matrices: int = 3
    positions: bool = False
    tied: bool = False
    names: tuple[str, ...] = field(default=())


_LSE = Kept(full=1)


def _gated(hidden: Kept, projections: Kept, norm: Kept, names: tuple[str, ...], *, tied: bool = False) -> Family:
    """Return a family with RMS norms and a gated MLP, which differ in their norms alone."""
    rest: dict[Width, Kept] = {
        "queries": projections, "keys": projections, "intermediate": Kept(4), "heads": _LSE,
    }  # fmt: skip
    return Family(
        plain={"hidden": hidden, **rest},
        autocast={"hidden": Kept(5, 4), **rest},
        norm=norm,
        scores=Kept(1, 1),
        tied=tied,
        names=names,
    )


FAMILIES: Mapping[str, Family] = {
    "llama": _gated(Kept(4, 2), Kept(2), Kept(2, 1), ("llama", "mistral", "qwen2")),
    # Queries and keys have a norm of their own.
    "qwen3": _gated(Kept(4, 2), Kept(3, 1), Kept(2, 1), ("qwen3",)),
    # The weight of a norm is applied in float32.
    "gemma": _gated(Kept(2, 4), Kept(2), Kept(1, 2), ("gemma",), tied=True),
    "gpt2": Family(
        # gelu_new is written out in Python, and a power is taken in float32 under autocast.
        plain={"hidden": Kept(4, 0, 2), "queries": Kept(4), "intermediate": Kept(5), "heads": _LSE},
        autocast={"hidden": Kept(2, 2, 2), "queries": Kept(4), "intermediate": Kept(2, 3), "heads": _LSE},
        norm=Kept(2),
        scores=Kept(2, 0, 1),
        matrices=2,
        positions=True,
        tied=True,
        names=("gpt2",),
    ),
    "opt": Family(
        plain={"hidden": Kept(4, 0, 2), "queries": Kept(4), "intermediate": Kept(1), "heads": _LSE},
        autocast={"hidden": Kept(4, 2, 2), "queries": Kept(4), "intermediate": Kept(1), "heads": _LSE},
        norm=Kept(2),
        scores=Kept(2, 0, 1),
        matrices=2,
        positions=True,
        tied=True,
        names=("opt",),
    ),
    "gpt_neox": Family(
        plain={"hidden": Kept(3, 0, 2), "queries": Kept(6), "intermediate": Kept(2), "heads": _LSE},
        autocast={"hidden": Kept(2, 1, 2), "queries": Kept(6), "intermediate": Kept(2), "heads": _LSE},
        norm=Kept(2),
        scores=Kept(2, 0, 1),
        matrices=2,
        names=("gpt_neox", "gptneox", "pythia"),
    ),
    "bert": Family(
        plain={"hidden": Kept(4, 0, 2), "queries": Kept(4), "intermediate": Kept(2), "heads": _LSE},
        autocast={"hidden": Kept(4, 2, 2), "queries": Kept(4), "intermediate": Kept(2), "heads": _LSE},
        norm=Kept(4),
        scores=Kept(2, 0, 1),
        float_logits=False,
        matrices=2,
        positions=True,
        tied=True,
        names=("bert", "roberta", "xlm-roberta"),
    ),
    "nanogpt": Family(
        plain={"hidden": Kept(4), "queries": Kept(4), "intermediate": Kept(2), "heads": _LSE},
        autocast={"hidden": Kept(2, 2), "queries": Kept(4), "intermediate": Kept(2), "heads": _LSE},
        norm=Kept(2),
        scores=Kept(2),
        float_logits=False,
        matrices=2,
        positions=True,
        tied=True,
        names=("nanogpt",),
    ),
}  # fmt: skip


def family_of(word: str) -> str:
    """Return the family that a `model_type` or a class names (`llama`, `GPTNeoXForCausalLM`), or an empty string."""
    plain = word.lower().replace("-", "_")
    for ending in ("forcausallm", "formaskedlm", "lmheadmodel", "config", "model"):
        plain = plain.removesuffix(ending)
    return next((name for name, family in FAMILIES.items() if plain in family.names), "")
