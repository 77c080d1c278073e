"""The vocabulary of model code: which names, expressions and functions make which tensor.

Three things tell who allocates, each with its own table: the name that receives the tensor,
the expression that makes it, and the function (with its file) it stands in. Within a table
the first match wins. The names are those of torch itself, Hugging Face, Megatron, nanoGPT,
timm, fairseq, bitsandbytes, DeepSpeed and of code written after them.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from forensics.text.lazy import lazy

Work: TypeAlias = Literal[
    "attention", "attention block", "mask", "logits", "one hot", "bucket", "optimizer", "parameter", "backward",
    "activation", "kv cache", "generated", "outright", "unknown", "none",
]  # fmt: skip
"""What the failing code was doing.

`attention` makes the score matrix, `attention block` is anywhere in an attention layer,
`generated` is a compiler's kernel that spells the shape out, `outright` asked for a literal
number of elements, `unknown` frames say nothing, `none` means that there are no frames.
"""

RECEIVERS: tuple[tuple[Work, re.Pattern[str]], ...] = (
    ("kv cache", lazy(r"\b(?:[kv]|kv|key|value)_?caches?\b|\bself\.(?:keys|values)\b|\bpast_key_values?\b")),
    (
        "attention",
        lazy(
            r"\battn_?(?:weights?|scores?|probs?|logits|output_weights|matrix|map)?(?:_float|_reshaped)?\b"
            r"|\battention_?(?:weights?|scores?|probs?|logits|map)\b"
            r"|\b(?:att|wei|sim|dots|qk|matmul_result|post_mod_scores)\b"
        ),
    ),
    (
        "mask",
        lazy(r"mask|\balibi\b|\b(?:attn|attention|position|causal|relative_position)_bias(?:es)?\b|\btri[lu]\b"),
    ),
    ("optimizer", lazy(r"exp_avg|momentum_buffer|master_param|fp32_partition|\bdenom\b|\bstate\[")),
    (
        "activation",
        lazy(r"\b(?:router|gate)_logits\b|hidden_states|\b(?:query|key|value)(?:_states|_layer)?\b"),
    ),
    ("logits", lazy(r"logits?\b|log_?probs?\b|\blogps\b|\blm_output\b")),
    ("parameter", lazy(r"\bparam_applied\b|\bself\.(?:weight|bias)\b")),
)

EXPRESSIONS: tuple[tuple[Work, re.Pattern[str]], ...] = (
    ("one hot", lazy(r"\bone_hot\(")),
    # attention @ value gives an activation again, so it stands before query @ key.
    (
        "activation",
        lazy(
            r"(?:matmul|bmm)\(\s{0,9}(?:attn|attention|att|scores|probs|post_mod|dots|sim|wei)\w{0,20}\s{0,9},"
            r"|\b(?:attn|att|attn_weights|attn_probs|attention_probs|wei|scores)\s?@\s?v"
        ),
    ),
    (
        "attention",
        lazy(
            r"\bq(?:uery)?\w{0,12}(?:\.\w{1,20}\([^()]{0,60}\))?\s?@\s?(?:self\.)?k"
            r"|(?:matmul|bmm|baddbmm)\([^()]{0,60}\bq\w{0,20}(?:\.\w{1,20}\([^()]{0,60}\))?,\s?(?:self\.)?k"
            r"|einsum\([^()]{0,80},\s?q\w{0,20},\s?k"
            r"|softmax\(\s{0,9}(?:attn|attention|att|scores|sim|dots|qk|wei)\w{0,20}\b"
            r"|\b(?:att|attn|attn_weights|attn_scores|attention_scores|attention_probs|scores|sim|dots|wei|qk)"
            r"\.(?:softmax|masked_fill|float|add|div|to)\("
            r"|scaled_dot_product_attention\(|flex_attention\("
        ),
    ),
    (
        "mask",
        lazy(
            r"\btri[lu]\(|\.expand\([^()]{0,80}\b(\w{1,20}),\s?\1\s?\)|create_(?:block_)?mask\("
            r"|\b\w{0,30}mask\w{0,30}(?:\[[^\]]{0,60}\])?"
            r"\.(?:expand|to|repeat|float|bool|type|clone|contiguous|masked_fill|half|bfloat16)\w{0,10}\("
        ),
    ),
    ("kv cache", lazy(r"\bkv_?cache|past_key_values?\.update\(|\b(?:key|value)_cache\b")),
    ("activation", lazy(r"\b(?:router|gate)_logits\b")),
    (
        "logits",
        lazy(
            r"\blm_head\(|\.lm_head\(|embed_out\(|output_projection\(|cross_entropy\w{0,10}\(|loss_fct\(|CrossEntropyLoss"
            r"|logits\w{0,10}(?:\[[^\]]{0,60}\])?"
            r"\.(?:float|to|contiguous|view|reshape|log_softmax|softmax|logsumexp)\("
            r"|softmax\(\s{0,9}\w{0,20}logits|gather_log_probs\("
        ),
    ),
    ("optimizer", lazy(r"exp_avg|momentum_buffer|_foreach_(?:sqrt|add|mul|div|lerp|addcmul|addcdiv|neg)\(")),
    (
        "activation",
        lazy(
            r"self\.(?:mlp|feed_forward|ff|ffn|gate_proj|up_proj|down_proj|gate_up_proj|fc_?\d|c_fc|c_proj|c_attn|w_?[123]"
            r"|act|act_fn|[qkvo]_proj|qkv|qkv_proj|query_key_value|to_(?:q|k|v|qkv|out)|in_proj|out_proj|w[qkvo]|query|key"
            r"|value|embed\w{0,20}|wte|wpe|\w{0,20}norm\w{0,3}|ln_\w{1,3}|experts|dense\w{0,20})\("
            r"|rotate_half\(|apply_rotary|repeat_kv\(|repeat_interleave\("
        ),
    ),
    (
        "attention block",
        lazy(r"self\.(?:self_attn|self_attention|attn|attention|mha|cross_attn|multihead_attn|sa)\("),
    ),
    ("backward", lazy(r"\.backward\(")),
    ("parameter", lazy(r"Parameter\(\s{0,9}torch\.")),
)

_ANY_FILE = lazy("")
_MODULE = lazy(r"nn/modules/module\.py$")

FUNCTIONS: tuple[tuple[Work, re.Pattern[str], re.Pattern[str]], ...] = (
    (
        "attention",
        lazy(
            r"_?math_attention\w*|sdpa_dense\w*|\w*eager_attention\w*|multi_head_attention_forward|flex_attention\w*"
            r"|\w*scaled_dot_product\w*|sdpa_attention_forward|_attn|\w*dot_product_attention|attention_ref"
        ),
        _ANY_FILE,
    ),
    ("mask", lazy(r"\w*_masks?|\w*_4d\w*|build_alibi\w*|compute_bias"), _ANY_FILE),
    (
        "logits",
        lazy(
            r"For\w{1,20}LMLoss|\w*cross_entropy\w*|nll_loss|\w*batch_log_?p\w*|selective_log_softmax"
            r"|gather_log_probs|\w*_logits"
        ),
        _ANY_FILE,
    ),
    (
        "optimizer",
        lazy(
            r"_init_group|_(?:single|multi)_tensor_\w+|_fused_\w+|init_state|initialize_optimizer_states|_group_tensors\w*"
        ),
        _ANY_FILE,
    ),
    # A closure or a decorator of an optimizer's step encloses the whole forward pass.
    (
        "optimizer",
        lazy(r"(?!wrapper$|_use_grad$|inner$|wrapped$|profile_hook_step$|closure$)\w+"),
        lazy(r"/optim/\w{1,40}\.py$|/optimizers?/\w{1,40}\.py$|/sharded_optim/|(?:adam\w{0,9}|adafactor|lion)\.py$"),
    ),
    ("parameter", lazy(r"_apply|convert"), _MODULE),
    (
        "parameter",
        lazy(
            r"_?load_state_dict\w*|_load_parameter\w*|_load_from_state_dict|set_module_tensor_to_device|reset_parameters"
            r"|unshard|_alloc_storage|_all_gather_flat_param|_unshard\w*|all_gather_params|create_weights"
        ),
        _ANY_FILE,
    ),
    ("parameter", lazy(r"__deepcopy__"), lazy(r"torch/(?:_tensor|nn/parameter)\.py$")),
    ("parameter", lazy(r"__init__"), lazy(r"nn/modules/(?:linear|sparse|conv|normalization)\.py$")),
    (
        "bucket",
        lazy(r"_ddp_init_helper|_reduce_bucket\w*|\w*grad_buffers?|_get_flat\w*|flatten_dense_tensors"),
        _ANY_FILE,
    ),
    ("kv cache", lazy(r"\w*kv_?caches?|lazy_initialization|_allocate_kv\w*"), _ANY_FILE),
    ("kv cache", lazy(r"update|__init__"), lazy(r"cache_utils\.py$")),
    (
        "activation",
        lazy(
            r"apply_rotary\w*|rotate_half|repeat_kv|silu|gelu|relu|swiglu|swish|\w*rms_norm|layer_norm|group_norm"
            r"|batch_norm|embedding|conv\dd|interpolate"
        ),
        _ANY_FILE,
    ),
    ("backward", lazy(r"_engine_run_backward|backward"), lazy(r"torch/(?:_tensor|autograd/\w{1,20})\.py$")),
)

GENERATED_FILE = lazy(r"torchinductor|torch_compile_debug|/inductor_cache/")
"""Where compiled kernels live; their code spells every shape and dtype out."""

THIN_FILE = lazy(
    r"/torch/(?:nn/modules/(?:module|linear)|nn/functional|functional|_tensor|_ops|overrides|utils/\w{1,30}|amp/\w{1,30}"
    r"|_dynamo/\w{1,40}|autograd/\w{1,20})\.py$"
)
"""Torch code that only carries out what its caller asked for: the caller's names then tell."""

OUTRIGHT = lazy(
    r"torch\.(?:empty|zeros|ones|rand|randn|full)\(\s{0,4}\(?\s{0,4}(?:int\(\s{0,4})?"
    r"(?:[\d_]{1,20}\s?(?:\*\*?|<<|//|\+)\s?\d|\d[\d_]{6,19}[,)\s]|[\d.]{1,9}e\d)"
)
"""A request for a literal number of elements, which no model dimension explains."""
