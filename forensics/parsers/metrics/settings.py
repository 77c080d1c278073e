"""The numbers a run was started with, and the shapes it printed.

    args {"steps": 5, "heads": 32, "head_dim": 64, "vocab": 8192}
    per_device_train_batch_size=16 seq_len=12288 attn_implementation=eager
      seq_length ...................................... 4096            (Megatron-LM)
      Total optimization steps = 500                                    (transformers)
    q (4, 16, 24576, 128)

Memory is arithmetic on these: which tensor was asked for follows from heads, lengths
and batch. A line counts as configuration when it names at least one of them, or one of
the few words that decide as much, such as the optimizer's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from forensics.model import Value
from forensics.parsers.metrics.endings import Fact
from forensics.text.lazy import has_any, lazy

TRIGGERS = (
    "batch_size", "batch-size", "micro_bs", "seq_len", "seq-len", "seq_length", "max_length", "max_position_embeddings",
    "num_attention_heads", "n_head", "num_heads", "nhead", '"heads"', "heads=", "head_dim", "hidden_size", "hidden_dim",
    "d_model", "n_embd", "vocab_size", '"vocab"', "block_size", "num_hidden_layers", "n_layer", "num_layers",
    "intermediate_size", "sequence_length", "context_length", "max_seq", "max_tokens", "token_budget",
    "gradient_accumulation_steps", "Namespace(", "Total optimization steps", "batch size per device",
    "Total train batch size", "Num examples", "Num Epochs", "torch.Size([", "shape", "q (", "k (", "v (", "query (",
    "key (", "scores (", "logits (", "mask (", "model_type", "torch_dtype", "gradient_checkpointing",
    "tie_word_embeddings", "name_or_path", "attn_implementation", "optim=", '"optim"', "bf16=", '"bf16"',
    "workflow: [",
)  # fmt: skip

_WORKFLOW = lazy(r"workflow: \[[^\]\n]{1,200}\], max: (\d{1,7}) epochs")
"""How MMCV 1 says for how many epochs a run is to train: it says nothing when it has."""
_TELLING = lazy(
    r"(?:batch[_-]?size|micro_?bs|micro_batch|seq(?:uence)?[_-]?len(?:gth)?|max_(?:seq_)?len(?:gth)?|max_position_embeddings"
    r"|n_?heads?|num_(?:attention_|key_value_)?heads|heads|head_dim|hidden_(?:size|dim)|d_model|n_embd|vocab(?:_size)?"
    r"|n_?layers?|num_(?:hidden_)?layers|intermediate_size|block_size|context_length|ctx|max_tokens|token_budget"
    r"|gradient_accumulation_steps|max_seq_len(?:gth)?)$",
    re.IGNORECASE,
)
_NAMING = lazy(
    r"_?(?:model_type|torch_dtype|gradient_checkpointing|tie_word_embeddings|(?:model_)?name_or_path"
    r"|attn_implementation|optim|bf16)$"
)
"""Settings that are no sizes and yet decide what a step needs."""
_NAMED = (
    "batch", "micro_bs", "microbs", "seq", "max_", "head", "hidden", "d_model", "n_embd", "vocab", "layer",
    "intermediate_size", "block_size", "context_length", "ctx", "token_budget", "gradient_", "model_type",
    "torch_dtype", "tie_word", "name_or_path", "attn_impl", "optim", "bf16",
)  # fmt: skip
"""What the name of one of these settings has: most lines name none, and taking them apart takes time."""
_HEADER = lazy(
    r"\s{0,8}(Num examples|Num Epochs|Instantaneous batch size per device|Total optimization steps"
    r"|Total train batch size[^=]{0,80}|Gradient Accumulation steps|Number of trainable parameters)"
    r"\s{0,4}=\s{0,4}([\d,]{1,20})"
)
_PAIR = lazy(
    r"(?<![\w.])(?:--)?(?P<key>[A-Za-z_][\w.-]{0,80}?)['\"]?(?: ?= ?|:(?! *$) ?| \.{3,80} )"
    r"(?P<value>'[^']{0,200}'|\"[^\"]{0,200}\"|\d{1,3}(?:,\d{3})++(?![\w,])|[^\s,;|(){}\[\]=]{1,200}+(?!=))"
)
_OPTION = lazy(r"(?<!\S)--(?P<key>[A-Za-z][\w.-]{0,80})[ =](?P<value>[^\s-][^\s]{0,200})")
_CODE = lazy(
    r"^\s+\S.{0,400}?\w\(.*\):?\s*$|^\s*(?:def|class|if|for|while|return|raise|assert|import|from|with) |\blambda\b"
)
_SHAPE = lazy(
    r"(?<![\w.\[\]])(?P<name>[A-Za-z_][\w.\[\]]{0,80}?)"
    r"(?:\.shape|\.size\(\)|[ _](?:shape|size))?\s{0,3}(?:[:=]|\bis\b)?\s{0,3}"
    r"torch\.Size\(\[(?P<dims>\d{1,15}(?:, ?\d{1,15}){0,7})\]\)(?P<rest>.{0,40})"
)
_TUPLE = lazy(
    r"\s{0,12}(?P<name>[A-Za-z_][\w.]{0,80}?)"
    r"(?:(?:\.shape|[ _]shape)\s{0,3}[:=]?\s{0,3}[(\[](?=\d+, ?\d)|\s{0,3}[:=]?\s{0,3}\("
    r"(?=\d{1,15}, ?\d{1,15}, ?\d))(?P<dims>\d{1,15}(?:, ?\d{1,15}){1,7}),?[)\]]"
    r"(?P<rest>\s{0,4}(?:torch\.\w{2,16})?\s{0,4})$"
)
_DTYPE = lazy(r"\b(?:torch\.)?(bfloat16|float16|float32|float64|half|int64|int32|int8|bool|float8_\w{1,12})\b")
_NOT_A_PRINT = lazy(r"mismatch|copying a param|[Ee]rror|expected|but got|invalid|version|Assert")
_MOST_FIELDS = 200
_NUMBER = lazy(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z", re.ASCII)
_WORDS: dict[str, Value] = {"true": True, "false": False, "none": None, "null": None}
_LONGEST_STRING = 200
_DEEPEST = 6


def configuration(text: str) -> Iterator[Fact]:
    """Yield `config` with the line's settings under their own names, at most 200."""
    if header := _HEADER.match(text):
        yield "config", {header[1].strip(): _value(header[2])}
        return
    if planned := _WORKFLOW.match(text):
        yield "config", {"workflow_epochs": int(planned[1])}
        return
    if not has_any(text, _NAMED) or _CODE.search(text):
        return
    if fields := _json(text):
        found = [fields]
    else:
        parts = [_loose(part) for part in text.split(" | ")]
        keys = [key for part in parts for key in part]
        # `stage0 seq_len=2048 | stage1 seq_len=4096`: each stage has its own settings.
        found = parts if len(set(keys)) < len(keys) else [{k: v for part in parts for k, v in part.items()}]
    for fields in found:
        if any(
            (_TELLING.search(key) and isinstance(value, int | float)) or (_NAMING.match(key) and value is not None)
            for key, value in fields.items()
        ):
            yield "config", fields


def shapes(text: str) -> Iterator[Fact]:
    """Yield `tensor-print` where a line shows a tensor's shape: fields name, shape, dtype."""
    if _NOT_A_PRINT.search(text):
        return
    found = _TUPLE.match(text) or _SHAPE.search(text)
    if found is None or found["name"] in {"shape", "size"}:
        return
    shape = tuple(int(d) for d in found["dims"].split(","))
    fields: dict[str, Value] = {"name": found["name"].strip("."), "shape": shape}
    if dtype := _DTYPE.search(found["rest"]):
        fields["dtype"] = dtype[1]
    yield "tensor-print", fields


def _json(text: str) -> dict[str, Value]:
    start = text.find("{")
    if start < 0:
        return {}
    try:
        loaded, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    fields: dict[str, Value] = {}
    if isinstance(loaded, dict):
        _flatten(loaded, "", fields, 0)
    return fields


def _flatten(value: Mapping[str, object], prefix: str, fields: dict[str, Value], depth: int) -> None:
    for key, inner in value.items():
        if len(fields) >= _MOST_FIELDS:
            return
        name = f"{prefix}{key}"[:_LONGEST_STRING]
        if isinstance(inner, dict):
            if depth < _DEEPEST:
                _flatten(inner, f"{name}.", fields, depth + 1)
        elif isinstance(inner, str):
            fields[name] = inner[:_LONGEST_STRING]
        elif isinstance(inner, int | float) or inner is None:
            fields[name] = inner
        elif isinstance(inner, list) and len(inner) <= _DEEPEST and all(isinstance(i, int | float) for i in inner):
            fields[name] = tuple(inner)


def _loose(text: str) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    for pattern in (_PAIR, _OPTION):
        for found in pattern.finditer(text):
            if len(fields) >= _MOST_FIELDS:
                return fields
            fields.setdefault(found["key"].strip("."), _value(found["value"]))
    return fields


def _value(text: str) -> Value:
    text = text.strip("'\"")
    if _NUMBER.match(text):
        plain = text.replace(",", "")
        return int(plain) if plain.lstrip("+-").isdigit() and len(plain) < 19 else float(plain)
    return _WORDS.get(text.lower(), text)
