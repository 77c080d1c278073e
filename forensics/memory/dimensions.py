"""What a run said about its own sizes: batch, sequence, heads, vocabulary, in every spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from forensics.memory.dtypes import ITEMSIZES
from forensics.memory.models import known
from forensics.text.lazy import lazy

Candidates: TypeAlias = dict[int, int]
"""Values one dimension may have, each with its doubt: 0 said outright, 1 implied, 2 a guess."""

_VALUES_KEPT = 8
"""Values of one role that take part: a configuration rarely has more, and products multiply."""

_LARGEST = 1 << 40
_LONGEST_TEXT = 4000
_DEEPEST = 8
_HEAD_DIMS = range(8, 577)
"""A last axis in this range may be a head's width (DeepSeek's 576 is the widest in use)."""

_SHAPES_READ = 64


class Printed(Struct, frozen=True):
    """A tensor whose shape a run printed: its name in the code, and the bytes of an element if it said the dtype."""

    name: str
    shape: tuple[int, ...]
    itemsize: int | None = None


def _candidates() -> Candidates:
    return {}


def _words() -> dict[str, str]:
    return {}


class Numbers(Struct):
    """Candidate values for each role. `32 in numbers.heads` asks whether the run ever said 32.

    `positions` are upper bounds of a sequence (max_position_embeddings), `context` and
    `anchors` x `block` the two parts of a block drafter's keys, `tokens` a packed batch,
    `parameters` exact parameter counts. `itemsizes` are the widths of the declared dtypes and
    `dtypes` their names; `attention` holds the configured implementations (eager, sdpa, ...).
    `words` are settings that are no sizes, such as the model's name and the optimizer, in lower case;
    `batch_name` is what the run calls its batch; `printed` are the tensors whose shapes it printed, by name.
    """

    batch: Candidates = field(default_factory=_candidates)
    seq: Candidates = field(default_factory=_candidates)
    positions: Candidates = field(default_factory=_candidates)
    tokens: Candidates = field(default_factory=_candidates)
    context: Candidates = field(default_factory=_candidates)
    anchors: Candidates = field(default_factory=_candidates)
    block: Candidates = field(default_factory=_candidates)
    heads: Candidates = field(default_factory=_candidates)
    kv_heads: Candidates = field(default_factory=_candidates)
    head_dim: Candidates = field(default_factory=_candidates)
    hidden: Candidates = field(default_factory=_candidates)
    intermediate: Candidates = field(default_factory=_candidates)
    vocab: Candidates = field(default_factory=_candidates)
    layers: Candidates = field(default_factory=_candidates)
    experts: Candidates = field(default_factory=_candidates)
    experts_per_token: Candidates = field(default_factory=_candidates)
    world: Candidates = field(default_factory=_candidates)
    tensor_parallel: Candidates = field(default_factory=_candidates)
    parameters: Candidates = field(default_factory=_candidates)
    shapes: tuple[tuple[int, ...], ...] = ()
    itemsizes: frozenset[int] = frozenset()
    dtypes: frozenset[str] = frozenset()
    attention: frozenset[str] = frozenset()
    words: dict[str, str] = field(default_factory=_words)
    batch_name: str = "the batch size"
    printed: tuple[Printed, ...] = ()

    def add(self, role: str, value: int, doubt: int) -> None:
        """Note that `role` may be `value`; the least doubt wins."""
        values: Candidates = getattr(self, role)
        if value in values or len(values) < _VALUES_KEPT:
            values[value] = min(doubt, values.get(value, doubt))


# Names are compared in lower case, without leading dashes, `-` read as `_`, and without the
# section in front (`model.text_config.hidden_size` is `hidden_size`).
_SPELLINGS: Mapping[tuple[str, int], str] = {
    ("batch", 0): "per_device_train_batch_size micro_batch_size micro_batch micro_bs mbs batch_size bsz bs batch b "
    "train_micro_batch_size_per_gpu device_batch_size local_batch_size batch_size_per_gpu batch_size_per_device "
    "per_gpu_train_batch_size per_device_batch_size samples_per_gpu micro_train_batch_size",
    ("batch", 1): "train_batch_size per_device_eval_batch_size eval_batch_size val_batch_size "
    "mini_batch_size rollout_batch_size max_num_seqs n",
    ("batch", 2): "global_batch_size total_batch_size effective_batch_size global_train_batch_size gbs",
    ("seq", 0): "seq_len seqlen seq_length sequence_length sequence_len max_seq_len max_seq_length max_seqlen seq s t "
    "max_sequence_length max_length max_len maxlen cutoff_len context_length n_ctx ctx_length train_seq_len "
    "max_source_length max_target_length src_len tgt_len packing_length max_model_len max_seq",
    ("seq", 1): "model_max_length max_tokens window_size chunk_size num_tokens n_tokens max_prompt_length num_patches "
    "l query_len kv_len",
    ("positions", 0): "max_position_embeddings n_positions max_positions max_target_positions max_source_positions",
    ("tokens", 0): "token_budget max_tokens_per_batch tokens_per_batch max_num_batched_tokens "
    "max_tokens_per_gpu ppo_max_token_len_per_gpu",
    ("context", 0): "ctx context context_len ctx_len num_ctx context_length context_size prefix_len "
    "prefix_length memory_len",
    ("anchors", 0): "anchors max_anchors num_anchors n_anchors anchor_count",
    ("block", 0): "block_size draft_block_size block_len block_length block",
    ("heads", 0): "num_attention_heads n_head n_heads nhead nheads num_heads heads attention_heads num_query_heads "
    "encoder_attention_heads decoder_attention_heads num_q_heads q_heads attention_head_count h",
    ("kv_heads", 0): "num_key_value_heads n_kv_heads n_kv_head num_kv_heads kv_heads num_query_groups n_query_groups "
    "multi_query_group_num nkv attention_head_count_kv",
    ("head_dim", 0): "head_dim head_size d_head dim_head kv_channels d_k d_kv attention_head_dim dim_per_head",
    ("hidden", 0): "hidden_size d_model n_embd dim hidden_dim model_dim embed_dim embedding_dim emb_dim hidden width "
    "embedding_length n_embed c",
    ("hidden", 1): "d",
    ("intermediate", 0): "intermediate_size ffn_hidden_size d_ff n_inner ffn_dim dim_feedforward mlp_dim "
    "encoder_ffn_dim decoder_ffn_dim ffn_hidden feed_forward_length moe_intermediate_size d_mlp",
    ("vocab", 0): "vocab_size vocab n_vocab padded_vocab_size vocabulary_size draft_vocab_size num_embeddings v",
    ("layers", 0): "num_hidden_layers n_layer n_layers num_layers layers depth block_count nl",
    ("experts", 0): "num_experts num_local_experts n_routed_experts n_experts moe_num_experts",
    ("experts_per_token", 0): "num_experts_per_tok experts_per_token moe_topk moe_top_k n_experts_per_token",
    ("world", 0): "world_size world num_gpus n_gpus ngpus nproc_per_node data_parallel_size dp_size dp",
    ("tensor_parallel", 0): "tensor_parallel_size tensor_model_parallel_size tp_size tp",
    ("parameters", 0): "num_parameters total_params n_params parameters num_params total_parameters "
    "trainable_params trainable_parameters",
}
_ROLES: dict[str, list[tuple[str, int]]] = {}
for (_role, _doubt), _names in _SPELLINGS.items():
    for _name in _names.split():
        _ROLES.setdefault(_name, []).append((_role, _doubt))

_SINGLE_LETTER_DOUBT = 1
"""`-b 16` on a command line is a batch size less surely than a script's own `B=16`."""

_SMALLEST_PARAMETER_COUNT = 100_000

# Sections whose `dim`, `size` or `max_length` are not the model's.
_FOREIGN_SECTIONS = frozenset({"rope", "rope_scaling", "rope_parameters", "lora", "peft", "optimizer", "scheduler"})
_SECOND_SECTIONS = frozenset({"vision_config", "vision", "audio_config", "eval", "val", "test", "validation"})

_FULL_NAMES = {
    "double": "float64", "fp64": "float64", "float": "float32", "fp32": "float32", "tf32": "float32",
    "bf16": "bfloat16", "half": "float16", "fp16": "float16", "fp8": "float8",
}  # fmt: skip
_DTYPE_KEYS = frozenset({"torch_dtype", "dtype", "precision", "mixed_precision", "amp_dtype", "model_dtype"})
_DTYPE_FLAGS = frozenset({"bf16", "fp16", "half", "fp32", "bfloat16"})
_ATTENTION_KEYS = frozenset({"attn_implementation", "attn", "attention", "attention_implementation", "attn_impl"})
MODEL_NAMES = (
    "model_name_or_path", "name_or_path", "pretrained_model_name_or_path", "base_model", "model_name", "model_id",
    "model_path", "pretrained_model", "base_model_name_or_path", "model",
)  # fmt: skip
"""Settings that name the model."""
_WORDS = frozenset(MODEL_NAMES) | {
    "model_type", "architectures", "optim", "optimizer", "gradient_checkpointing", "activation_checkpointing",
    "use_gradient_checkpointing", "tie_word_embeddings", "mixed_precision", "bf16", "fp16", "torch_dtype", "dtype",
    "model_dtype", "precision", "amp", "zero_stage", "fsdp", "sharding_strategy", "load_in_4bit", "load_in_8bit",
    "use_peft", "use_lora", "lora_r", "lora_rank", "gradient_accumulation_steps", "attn_implementation",
}  # fmt: skip
_DTYPE_WORD = lazy(r"(bfloat16|bf16|float16|fp16|half|float32|fp32|tf32|float64|fp64|double|float8|fp8|int8)")
_INTEGER = lazy(r"([0-9][0-9_]{0,14}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.0{1,6})?([kK]?)")


def collect(
    config: Mapping[str, object],
    argv: Mapping[str, str],
    shapes: Sequence[tuple[int, ...]],
    printed: Sequence[Printed] = (),
) -> Numbers:
    """Gather candidate sizes from what the run printed and how it was started.

    Args:
        config: a configuration as logged; nested, or flattened with dots.
        argv: the command line, option to value, with or without leading dashes.
        shapes: tensor shapes the log printed, such as `q (4, 16, 24576, 128)`, in their order.
        printed: the same with names and dtypes, where they stand beside; the last ones count.

    Returns:
        Candidates for each role. Nothing in the input makes it raise; what is no size is skipped.
    """
    numbers = Numbers()
    pairs = [*_flatten(config), *_flatten(argv)]
    for path, value in pairs:
        _note_words(numbers, path[-1].lower(), value)
        for number in _integers(value):
            _note_number(numbers, path, number)
    _add_known(numbers)
    _settle_block_size(numbers)
    _add_patches(numbers, pairs)
    _add_shapes(numbers, shapes)
    numbers.printed = tuple(printed[-_SHAPES_READ:])
    return numbers


def _add_known(numbers: Numbers) -> None:
    """Add the shapes of a model that the run names; what it printed itself outranks them."""
    model = next((m for name in MODEL_NAMES if (m := known(numbers.words.get(name, "")))), None)
    if model is None:
        return
    for role, size in model.shape.items():
        if not getattr(numbers, role):
            numbers.add(role, size, 0)
    numbers.words.setdefault("model_type", model.family)
    numbers.words.setdefault("tie_word_embeddings", str(model.tied).lower())


def _flatten(mapping: Mapping[str, object], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield (path, value): the last word of a path names the value, the words before it its sections."""
    for key, value in mapping.items():
        words = tuple(str(key).lstrip("-").replace("-", "_").split("."))
        if isinstance(value, Mapping):
            if len(path) < _DEEPEST:
                yield from _flatten(value, path + words)
        else:
            yield path + words, value


def _integers(value: object) -> Iterator[int]:
    """Yield the sizes in a value: 8, 8.0, "8", "32,768", "32k", [2048, 4096]."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        if 0 < value <= _LARGEST:
            yield value
    elif isinstance(value, float):
        if 0 < value <= _LARGEST and value == int(value):
            yield int(value)
    elif isinstance(value, list | tuple):
        for part in value[:_VALUES_KEPT]:
            if not isinstance(part, list | tuple):
                yield from _integers(part)
    elif isinstance(value, str):
        for part in re.split(r",\s+|;|\|", value[:_LONGEST_TEXT].strip(" [](){}\"'"), maxsplit=_VALUES_KEPT):
            match = _INTEGER.fullmatch(part.strip())
            size = int(match[1].replace(",", "").replace("_", "")) * (1024 if match[2] else 1) if match else 0
            if 0 < size <= _LARGEST:
                yield size


def _note_number(numbers: Numbers, path: tuple[str, ...], value: int) -> None:
    sections = {word.lower() for word in path[:-1]}
    if sections & _FOREIGN_SECTIONS:
        return
    name = path[-1]
    extra = 1 if sections & _SECOND_SECTIONS else 0
    if len(name) == 1 and name.islower():
        extra += _SINGLE_LETTER_DOUBT
    for role, doubt in _ROLES.get(name.lower(), ()):
        if role == "parameters" and value < _SMALLEST_PARAMETER_COUNT:
            continue
        numbers.add(role, value, doubt + extra)
        if (
            role == "batch"
            and doubt + extra == 0
            and (len(name) > len(numbers.batch_name) or " " in numbers.batch_name)
        ):
            numbers.batch_name = name  # the longest of several names says most
    if name == "D" and value in _HEAD_DIMS:
        numbers.add("head_dim", value, 1)


def _note_words(numbers: Numbers, name: str, value: object) -> None:
    """Note declared dtypes (`torch_dtype: bfloat16`, `bf16: true`) and the attention implementation."""
    if name in _DTYPE_FLAGS and (value is True or str(value).lower() in {"true", "1", ""}):
        word = name
    elif name in _DTYPE_KEYS:
        match = _DTYPE_WORD.search(str(value)[:100].lower())
        word = match[1] if match else ""
    else:
        word = ""
    if word:
        numbers.itemsizes |= {ITEMSIZES[word]}
        numbers.dtypes |= {_FULL_NAMES.get(word, word)}
    first = next(iter(value), None) if isinstance(value, list | tuple) else value
    if (plain := name.lstrip("_")) in _WORDS and isinstance(first, str | bool | int):
        numbers.words.setdefault(plain, str(first).strip("\"' ,[]").lower()[:200])
    if plain in _ATTENTION_KEYS and isinstance(first, str):
        numbers.attention |= {first.strip("\"'").lower()[:40]}


def _settle_block_size(numbers: Numbers) -> None:
    """`block_size` is a drafter's block beside anchors, else the sequence, as in nanoGPT.

    A small one without anchors is a page of an inference engine's cache, and no length.
    """
    if numbers.anchors:
        return
    for value, doubt in numbers.block.items():
        if value >= 64:
            numbers.add("seq", value, doubt)


def _add_patches(numbers: Numbers, pairs: Sequence[tuple[tuple[str, ...], object]]) -> None:
    """An image model's sequence: its patches, with and without a class token."""
    sides = {"image_size": 0, "img_size": 0, "patch_size": 0}
    for path, value in pairs:
        if path[-1].lower() in sides:
            sides[path[-1].lower()] = next(_integers(value), 0)
    image, patch = sides["image_size"] or sides["img_size"], sides["patch_size"]
    if patch and image > patch:
        for extra in (0, 1):
            numbers.add("seq", (image // patch) ** 2 + extra, 1)


def _add_shapes(numbers: Numbers, shapes: Sequence[tuple[int, ...]]) -> None:
    """Read roles off printed shapes; they are outright where nothing else names the role."""
    seen = [shape for shape in shapes if all(isinstance(n, int) and 0 < n <= _LARGEST for n in shape)]
    numbers.shapes = tuple(tuple(shape) for shape in seen[:_SHAPES_READ])
    found: list[tuple[str, int]] = []
    for shape in numbers.shapes:
        match shape:
            case (batch, heads, seq, width) if width in _HEAD_DIMS and heads <= seq:
                found += [("batch", batch), ("heads", heads), ("seq", seq), ("head_dim", width)]
            case (batch, seq, heads, width) if width in _HEAD_DIMS:
                found += [("batch", batch), ("heads", heads), ("seq", seq), ("head_dim", width)]
            case (batch, seq, width) if width in numbers.vocab or width in numbers.hidden or not numbers.hidden:
                found += [("batch", batch), ("seq", seq)]
                if width not in numbers.vocab:
                    found.append(("hidden", width))
            case (batch, seq) if seq > batch:
                found += [("batch", batch), ("seq", seq)]
            case _:
                pass
    unnamed = {role for role, _ in found if not getattr(numbers, role)}
    for role, value in found:
        numbers.add(role, value, 0 if role in unnamed else 1)
