"""What takes the place of a tensor that did not fit, with its own size."""

from __future__ import annotations

from forensics.memory.explain import Hypothesis
from forensics.memory.request import GIB
from forensics.text.sizes import format_size

_ROW = 4
"""Bytes that a fused kernel keeps of each row of scores: the logarithm of its sum, in float32."""


def instead(tensor: Hypothesis) -> str:
    """Return a sentence on the same shapes worked out another way, or nothing where there is none."""
    if tensor.tensor == "attention scores" and len(tensor.shape) >= 2:
        rows = tensor.bytes // tensor.itemsize // tensor.shape[-1]
        return f"A fused kernel keeps {format_size(rows * _ROW)} of row sums in place of the matrix"
    if tensor.tensor == "attention mask":
        return "A fused kernel works a causal or block mask out as it goes, and holds no such tensor"
    if tensor.tensor == "logits":
        return _chunked(tensor)
    return ""


def _chunked(logits: Hypothesis) -> str:
    """Return what a loss over a part of the tokens at a time holds of its logits: 1 GiB at most, in float32."""
    vocabulary = logits.shape[-1]
    tokens = logits.bytes // logits.itemsize // vocabulary
    chunk = max(1, 1 << (GIB // (4 * vocabulary)).bit_length() - 1)
    if chunk >= tokens:
        return ""
    return f"Taken {chunk} tokens at a time, the loss holds {format_size(chunk * vocabulary * 4)} of logits in float32"
