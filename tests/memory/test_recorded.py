"""Allocations that really failed: configuration, last frames and size as their logs printed them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from forensics.memory import Hypothesis, Request, collect, explain, read_frames, tensor_of

MIB, GIB = 1 << 20, 1 << 30

LLAMA = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "num_hidden_layers": 2,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
SMALL = {
    **LLAMA,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 8192,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
}

FLEX = """\
  File "/train/core.py", line 46, in forward
    y = compiled(hd(s.q(h)), hd(s.k(kv)), hd(s.v(kv)), block_mask=bm)
  File "/env/torch/_higher_order_ops/flex_attention.py", line 391, in sdpa_dense
    out, lse, max_scores = math_attention(
                           ^^^^^^^^^^^^^^^
  File "/env/torch/_higher_order_ops/flex_attention.py", line 258, in math_attention
    _, post_mod_scores = _math_attention_inner(
                         ^^^^^^^^^^^^^^^^^^^^^^
  File "/env/torch/_higher_order_ops/flex_attention.py", line 190, in _math_attention_inner
    scores = query.to(working_precision) @ key.to(working_precision).transpose(-2, -1)
             ~~~~~~~~~~~~~~~~~~~~~~~~~~~~^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
"""
EAGER = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 268, in forward
    attn_output, attn_weights = attention_interface(
                                ^^^^^^^^^^^^^^^^^^^^
  File "/env/transformers/models/llama/modeling_llama.py", line 204, in eager_attention_forward
    attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
SOFTMAX = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 208, in eager_attention_forward
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/env/torch/nn/functional.py", line 2161, in softmax
    ret = input.softmax(dim, dtype=dtype)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
LM_HEAD = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 480, in forward
    logits = self.lm_head(hidden_states[:, slice_indices, :])
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/env/torch/nn/modules/module.py", line 1790, in _call_impl
    return forward_call(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/env/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
ADAM = """\
  File "/env/torch/optim/optimizer.py", line 533, in wrapper
    out = func(*args, **kwargs)
          ^^^^^^^^^^^^^^^^^^^^^
  File "/env/torch/optim/adam.py", line 182, in _init_group
    state["exp_avg_sq"] = torch.zeros_like(
                          ^^^^^^^^^^^^^^^^^
"""
SDPA = """\
  File "/train/alloc.py", line 26, in <module>
    with sdpa_kernel(SDPBackend.MATH): F.scaled_dot_product_attention(q, q, q, is_causal=True)
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
MASK = """\
  File "/train/alloc.py", line 33, in <module>
    m = torch.ones(S, S, dtype=torch.bool).tril().view(1, 1, S, S); m.expand(B, H, S, S).to(torch.float32)
                                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
BACKWARD = """\
  File "/train/alloc.py", line 27, in hf
    out.loss.backward()
  File "/env/torch/autograd/graph.py", line 869, in _engine_run_backward
    return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
UPCAST = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 484, in forward
    loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
  File "/env/transformers/loss/loss_utils.py", line 59, in ForCausalLMLoss
    logits = logits.float()
             ^^^^^^^^^^^^^^
"""
MLP = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 320, in forward
    hidden_states = self.mlp(hidden_states)
                    ^^^^^^^^^^^^^^^^^^^^^^^
  File "/env/transformers/models/llama/modeling_llama.py", line 183, in forward
    down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
                                           ^^^^^^^^^^^^^^^^^
  File "/env/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
"""
NORM = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 64, in forward
    hidden_states = hidden_states.to(torch.float32)
                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
HF_MASK = """\
  File "/env/transformers/masking_utils.py", line 517, in sdpa_mask
    attention_mask = mask_function(*_non_vmap_expansion_sdpa(batch_arange, head_arange, q_arange, kv_arange))
  File "/env/transformers/masking_utils.py", line 57, in and_mask
    result = result & mask(batch_idx, head_idx, q_idx, kv_idx).to(result.device)
             ~~~~~~~^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
"""
CACHE = """\
  File "/env/transformers/models/llama/modeling_llama.py", line 262, in forward
    key_states, value_states = past_key_values.update(key_states, value_states, self.layer_idx)
  File "/env/transformers/cache_utils.py", line 434, in lazy_initialization
    self.keys = torch.zeros(
                ^^^^^^^^^^^^
"""
PARAMETER = """\
  File "/env/torch/nn/modules/module.py", line 1370, in convert
    return t.to(
           ^^^^^
"""
MHA = """\
  File "/env/torch/nn/functional.py", line 6642, in multi_head_attention_forward
    attn_output_weights = torch.bmm(q_scaled, k.transpose(-2, -1))
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
NANOGPT = """\
  File "/train/model.py", line 123, in forward
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
           ~~^~~~~~~~~~~~~~~~~~~~~
"""


@dataclass(frozen=True)
class Failure:
    """One failure and the tensor it is known to be."""

    name: str
    printed: tuple[float, int]
    frames: str
    tensor: str
    shape: tuple[int, ...]
    itemsize: int
    config: Mapping[str, object] = field(default_factory=dict)
    argv: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()


def sized(config: Mapping[str, object], batch: int, seq: int) -> dict[str, object]:
    return {**config, "per_device_train_batch_size": batch, "seq_len": seq}


DRAFTER = {"heads": 32, "head_dim": 64, "vocab": 8192, "layers": 2, "anchors": 1024, "block_size": 32, "ctx": 37888}
FAILURES = [
    Failure(
        "a block drafter's flex_attention left eager",
        (276.00, GIB),
        FLEX,
        "attention scores",
        (1, 32, 32768, 70656),
        4,
        {**DRAFTER, "max_anchors": 1024, "token_budget": 49152},
    ),
    Failure(
        "the same, named on the command line only",
        (276.00, GIB),
        FLEX,
        "attention scores",
        (1, 32, 32768, 70656),
        4,
        argv={"--heads": "32", "--anchors": "1024", "--block-size": "32", "--ctx": "37888", "--steps": "5"},
    ),
    Failure(
        "flex_attention after a curriculum's last stage",
        (111.76, GIB),
        FLEX,
        "attention scores",
        (16, 3, 25000, 25000),
        4,
        {"batch_size": 16, "nhead": 3, "head_dim": 32, "dtype": "float32", "seq_len": [2048, 4096, 25000]},
    ),
    Failure(
        "eager attention in bfloat16",
        (144.00, GIB),
        EAGER,
        "attention scores",
        (16, 32, 12288, 12288),
        2,
        sized(LLAMA, 16, 12288),
        {"B": "16", "S": "12288"},
    ),
    Failure(
        "the softmax of eager attention in float32",
        (128.00, GIB),
        SOFTMAX,
        "attention scores",
        (1, 32, 32768, 32768),
        4,
        sized(LLAMA, 1, 32768),
        {"B": "1", "S": "32768", "H": "32"},
    ),
    Failure("Llama 3 logits", (31.31, GIB), LM_HEAD, "logits", (16, 8192, 128256), 2, sized(LLAMA, 16, 8192)),
    Failure("AdamW's second moment", (16.00, MIB), ADAM, "optimizer state", (1024, 4096), 4, sized(LLAMA, 8, 8192)),
    Failure(
        "the math backend, shape printed",
        (144.00, GIB),
        SDPA,
        "attention scores",
        (4, 16, 24576, 24576),
        4,
        {"num_attention_heads": 16, "num_key_value_heads": 8, "torch_dtype": "bfloat16"},
        {"H": "16", "D": "2048"},
        ((4, 16, 24576, 128),),
    ),
    Failure(
        "the math backend upcasts bfloat16",
        (32.00, GIB),
        SDPA,
        "attention scores",
        (2, 16, 16384, 16384),
        4,
        {"torch_dtype": "bfloat16"},
        shapes=((2, 16, 16384, 64),),
    ),
    Failure(
        "the math backend's boolean copy",
        (8.00, GIB),
        SDPA,
        "attention mask",
        (2, 16, 16384, 16384),
        1,
        shapes=((2, 16, 16384, 64),),
    ),
    Failure(
        "a mask expanded over heads",
        (256.00, GIB),
        MASK,
        "attention mask",
        (8, 32, 16384, 16384),
        4,
        sized(LLAMA, 8, 16384),
        {"B": "8", "S": "16384", "H": "32"},
    ),
    Failure(
        "a padding mask of Hugging Face",
        (4.00, GIB),
        HF_MASK,
        "attention mask",
        (16, 1, 16384, 16384),
        1,
        sized(SMALL, 16, 16384),
    ),
    Failure(
        "the gradient of eager scores",
        (8.00, GIB),
        BACKWARD,
        "attention scores",
        (2, 16, 8192, 8192),
        4,
        sized(SMALL, 2, 8192),
    ),
    Failure("the gradient of logits", (7.81, GIB), BACKWARD, "logits", (8, 8192, 32000), 4, sized(SMALL, 8, 8192)),
    Failure(
        "the gradient of an embedding",
        (1002.00, MIB),
        BACKWARD,
        "gradient",
        (128256, 2048),
        4,
        {**sized(SMALL, 1, 128), "vocab_size": 128256, "torch_dtype": "float32"},
    ),
    Failure("the loss's float32 logits", (7.81, GIB), UPCAST, "logits", (8, 8192, 32000), 4, sized(SMALL, 8, 8192)),
    Failure("a gate projection", (2.00, GIB), MLP, "activation", (16, 8192, 8192), 2, sized(SMALL, 16, 8192)),
    Failure("a norm in float32", (4.00, GIB), NORM, "activation", (64, 8192, 2048), 4, sized(SMALL, 64, 8192)),
    Failure("a static cache", (512.00, MIB), CACHE, "kv cache", (16, 4, 32768, 128), 2, {**SMALL, "batch_size": 16}),
    Failure(
        "an embedding moved to the card",
        (1002.00, MIB),
        PARAMETER,
        "parameter",
        (128256, 2048),
        4,
        {**SMALL, "vocab_size": 128256, "torch_dtype": None},
    ),
    Failure(
        "nn.MultiheadAttention",
        (16.00, GIB),
        MHA,
        "attention scores",
        (4, 16, 8192, 8192),
        4,
        {"d_model": 1024, "nhead": 16, "batch_size": 4, "seq_len": 8192},
    ),
    Failure(
        "nanoGPT without flash attention",
        (9.00, GIB),
        NANOGPT,
        "attention scores",
        (12, 12, 4096, 4096),
        4,
        {"n_head": 12, "n_embd": 768, "block_size": 4096, "batch_size": 12},
    ),
]


def best_of(failure: Failure) -> Hypothesis:
    number, unit = failure.printed
    request = Request(round(number * unit), unit_bytes=unit)
    return explain(request, collect(failure.config, failure.argv, failure.shapes), failure.frames)[0]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_real_failure_is_named(failure: Failure) -> None:
    """The first hypothesis is the tensor that the failing program is known to have asked for."""
    best = best_of(failure)
    assert (best.tensor, best.shape, best.itemsize) == (failure.tensor, failure.shape, failure.itemsize)
    assert best.confidence in {"high", "medium"}


def test_the_sentence_does_the_multiplication() -> None:
    """The reader sees the product, its size and its name."""
    sentence = "32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB = attention scores"
    assert best_of(FAILURES[0]).sentence == sentence


def test_an_attention_matrix_tells_heads_and_lengths() -> None:
    """Facts of a score matrix are numbers of their own."""
    best = best_of(FAILURES[0])
    assert (best.heads, best.query_len, best.kv_len, best.confidence) == (32, 32768, 70656, "high")
    logits = best_of(next(f for f in FAILURES if f.tensor == "logits"))
    assert (logits.heads, logits.query_len, logits.kv_len) == (None, None, None)


def test_a_failure_without_any_size_in_the_log_is_named_by_its_frame() -> None:
    """An optimizer's state of unknown shape is still an optimizer's state."""
    frames = ADAM.replace("adam.py", "hybrid_adam.py")
    request = Request(round(3.12 * GIB), unit_bytes=GIB)
    assert explain(request, collect({}, {}, ()), frames) == ()
    assert tensor_of(request, frames) == "optimizer state"


def test_memory_filled_on_purpose_is_no_tensor_of_the_model() -> None:
    """A literal 6 GiB buffer coincides with score matrices, and is none."""
    frames = """\
  File "/train/misc.py", line 14, in <module>
    xs.append(torch.empty(6 * 2**30 // 4, device="cuda")); log.info("allocated")
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
    request = Request(6 * GIB, unit_bytes=GIB)
    assert read_frames(frames).work == "outright"
    for config in ({}, {"n_head": 12, "batch_size": 8, "seq_len": 4096, "vocab_size": 50257}):
        assert explain(request, collect(config, {}, ()), frames) == ()
        assert tensor_of(request, frames) is None
