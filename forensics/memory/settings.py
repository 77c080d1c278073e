"""The model and the setup of a step, as far as a run said enough of both."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.memory.dimensions import Candidates, Numbers
from forensics.memory.families import FAMILIES, family_of
from forensics.memory.footprint import Architecture, Attention, Optimizer, Setup

_TRUE = frozenset({"true", "1", "yes", "on", ""})
_ADAPTERS = ("load_in_4bit", "load_in_8bit", "use_peft", "use_lora", "lora_r", "lora_rank")
_OFF = frozenset({"false", "0", "no", "off", "none", "null"})
_TWO_BYTES = ("bf16", "bfloat16", "fp16", "float16", "half", "16-mixed", "bf16-mixed")


def architecture(numbers: Numbers) -> Architecture | None:
    """Return the model, or None where the run leaves a size or the way its layers are written open."""
    words = numbers.words
    named = (words.get("model_type", ""), words.get("architectures", ""))
    family = next((found for word in named if (found := family_of(word))), "")
    if not family and not any(named):
        # Shared keys and a gated MLP are Llama's way, and that of nearly all who print such settings.
        family = "llama" if numbers.kv_heads and numbers.intermediate else ""
    hidden, layers, heads, vocab = map(_only, (numbers.hidden, numbers.layers, numbers.heads, numbers.vocab))
    if family not in FAMILIES or not (hidden and layers and heads and vocab) or numbers.experts:
        return None
    made = FAMILIES[family]
    wide = _only(numbers.intermediate) or (4 * hidden if made.matrices == 2 else 0)
    width = _only(numbers.head_dim) or hidden // heads
    if not wide or any(len(_likely(c)) > 1 for c in (numbers.intermediate, numbers.head_dim, numbers.kv_heads)):
        return None
    tied = words.get("tie_word_embeddings")
    positions = _only(numbers.positions)
    return Architecture(
        family=family,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=_only(numbers.kv_heads) or heads,
        head_dim=width,
        intermediate=wide,
        vocab=vocab,
        tied=made.tied if tied is None else tied in _TRUE,
        positions=positions,
    )


def setups(numbers: Numbers) -> Iterator[Setup]:
    """Yield the setups that the run's settings can mean, likeliest first; none where batch or length is open.

    `torch_dtype: bfloat16` in a model's configuration tells how its file is stored; whether it was also
    loaded so, and `bf16: true` was on top, only the numbers of the failure can tell.
    """
    batch, seq = _only(numbers.batch), _only(numbers.seq)
    if not seq and len(_likely(numbers.positions)) == 1 and numbers.words.get("model_type") == "bert":
        seq = _only(numbers.positions)
    if not (batch and seq) or _adapters(numbers):
        return
    for weights, autocast in _precisions(numbers):
        yield Setup(
            batch=batch,
            seq=seq,
            weights=weights,
            autocast=autocast,
            optimizer=_optimizer(numbers.words.get("optim") or numbers.words.get("optimizer") or ""),
            attention=_attention(numbers),
            checkpointing=_is_on(numbers, "gradient_checkpointing", "activation_checkpointing"),
            accumulated=numbers.words.get("gradient_accumulation_steps", "1") not in {"1", "none"},
            replicated=_only(numbers.world) > 1 and not _sharded(numbers),
            shards=max(1, _only(numbers.world)) if _sharded(numbers) else 1,
        )


def _precisions(numbers: Numbers) -> list[tuple[int, bool]]:
    """Return (itemsize of the weights, autocast) in the order of likelihood."""
    words = numbers.words
    mixed = _is_on(numbers, "bf16", "fp16", "amp") or any(
        words.get(key, "").rpartition(".")[2] in _TWO_BYTES for key in ("mixed_precision", "precision")
    )
    loaded = next((words[key] for key in ("dtype", "model_dtype") if key in words), "")
    stored = loaded or words.get("torch_dtype", "")
    if stored.rpartition(".")[2] not in _TWO_BYTES:
        return [(4, mixed)]
    return [(2, False)] if loaded else [(2, False), (4, mixed)]


def _optimizer(word: str) -> Optimizer:
    if "8bit" in word:
        return "adamw_8bit"
    if "sgd" in word:
        return "sgd"
    return "adamw_fused" if "fused" in word else "adamw"


def _attention(numbers: Numbers) -> Attention:
    return "eager" if numbers.attention and all(name == "eager" for name in numbers.attention) else "fused"


def _adapters(numbers: Numbers) -> bool:
    """Tell whether only adapters are trained, or weights are quantised: other arithmetic, which is not done here."""
    return any(numbers.words.get(key, "none") not in _OFF for key in _ADAPTERS)


def _sharded(numbers: Numbers) -> bool:
    words = numbers.words
    return words.get("zero_stage") == "3" or words.get("fsdp", "none") not in _OFF | {""}


def _is_on(numbers: Numbers, *names: str) -> bool:
    return any(numbers.words.get(name, "false") in _TRUE for name in names)


def _likely(values: Candidates) -> list[int]:
    least = min(values.values(), default=0)
    return [value for value, doubt in values.items() if doubt == least]


def _only(values: Candidates) -> int:
    """Return the one value that stands out, or 0."""
    likely = _likely(values)
    return likely[0] if len(likely) == 1 else 0
