"""Which line of a traceback tells what was being allocated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.memory import read_frames

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB."
MODULE = """\
  File "/env/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1790, in _call_impl
    return forward_call(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def trace(*frames: str, error: str = ERROR) -> str:
    """Build a traceback of (file, function, code) lines."""
    return "Traceback (most recent call last):\n" + "".join(frames) + error + "\n"


def frame(file: str, function: str, code: str) -> str:
    return f'  File "{file}", line 7, in {function}\n    {code}\n'


TRAINING = frame("train.py", "main", "logits = model(ids, attention_mask=mask)")


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("attention", "attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling"),
        ("attention", "attn_weights = attn_weights + causal_mask"),
        (
            "attention",
            "attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)",
        ),
        ("attention", "att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))"),
        ("attention", "att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))"),
        ("attention", "scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)"),
        ("attention", "p_attn = scores.softmax(dim=-1)"),
        ("attention", "sim = einsum('b i d, b j d -> b i j', q, k)"),
        ("attention", "matmul_result = torch.baddbmm("),
        ("attention", "attention_probs = nn.functional.softmax(attention_scores, dim=-1)"),
        ("attention", "with sdpa_kernel(SDPBackend.MATH): F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
        ("activation", "attn_output = torch.matmul(attn_weights, value_states)"),
        ("activation", "y = att @ v"),
        ("activation", "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))"),
        ("activation", "query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)"),
        ("activation", "hidden_states = hidden_states.to(torch.float32)"),
        ("activation", "routing_weights = F.softmax(router_logits, dim=1, dtype=torch.float)"),
        ("mask", "causal_mask = torch.full((s, s), min_dtype, device=device)"),
        ("mask", "m = torch.ones(S, S, device='cuda').tril().view(1, 1, S, S)"),
        ("mask", "big = m.expand(B, H, S, S).to(torch.float32)"),
        ("mask", "alibi = slopes[..., None] * arange_tensor"),
        ("logits", "logits = self.lm_head(hidden_states[:, slice_indices, :])"),
        ("logits", "logits = logits.float()"),
        ("logits", "shift_logits = logits[..., :-1, :].contiguous()"),
        ("logits", "loss = F.cross_entropy(out.view(-1, V), y.view(-1))"),
        ("optimizer", 'state["exp_avg_sq"] = torch.zeros_like(p)'),
        ("optimizer", "exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)"),
        ("kv cache", "k_cache = torch.zeros(cache_shape, dtype=dtype, device=device)"),
        ("attention block", "x = x + self.attn(self.ln(x))"),
        ("backward", "loss.backward()"),
        ("outright", "xs.append(torch.empty(6 * 2**30 // 4, device='cuda'))"),
        ("outright", "ballast = torch.empty(int(6e9), dtype=torch.uint8, device='cuda')"),
        ("unknown", "x = torch.zeros(4 * B, S, device='cuda')"),
        ("unknown", "y = fancy(x)"),
    ],
)
def test_the_failing_line_tells_what_it_makes(work: str, code: str) -> None:
    """The receiving name and the expression of the innermost line decide."""
    assert read_frames(trace(TRAINING, MODULE, frame("model.py", "forward", code))).work == work


@pytest.mark.parametrize(
    ("work", "file", "function", "code"),
    [
        ("attention", "torch/_higher_order_ops/flex_attention.py", "sdpa_dense", "out, lse = fn("),
        ("attention", "transformers/models/llama/modeling_llama.py", "eager_attention_forward", "x = x * scaling"),
        ("mask", "transformers/masking_utils.py", "and_mask", "result = result & f(b, h, q, k)"),
        ("mask", "torch/nn/attention/flex_attention.py", "_convert_mask_to_block_mask", "x = pad("),
        ("logits", "transformers/loss/loss_utils.py", "ForCausalLMLoss", "x = x.view(-1, vocab_size)"),
        ("optimizer", "torch/optim/sgd.py", "_multi_tensor_sgd", "] = device_grads[i].detach().clone()"),
        ("optimizer", "colossalai/nn/optimizer/hybrid_adam.py", "step", "x = torch.zeros_like(p)"),
        ("parameter", "torch/nn/modules/module.py", "convert", "return t.to("),
        ("parameter", "torch/nn/modules/sparse.py", "__init__", "torch.empty((rows, width), **factory_kwargs),"),
        ("kv cache", "transformers/cache_utils.py", "update", "x = torch.cat([a, b], dim=-2)"),
        (
            "backward",
            "torch/autograd/graph.py",
            "_engine_run_backward",
            "return Variable._execution_engine.run_backward(",
        ),
    ],
)
def test_a_function_tells_where_its_code_does_not(work: str, file: str, function: str, code: str) -> None:
    """Library functions are known by name, and by file where the name is common."""
    assert read_frames(trace(TRAINING, frame("/env/lib/" + file, function, code))).work == work


def test_thin_library_frames_leave_the_word_to_their_caller() -> None:
    """A linear layer below `self.lm_head(...)` makes logits, below `self.up_proj(...)` an activation."""
    linear = frame("/env/torch/nn/modules/linear.py", "forward", "return F.linear(input, self.weight, self.bias)")
    head = frame("model.py", "forward", "logits = self.lm_head(x)")
    up = frame("model.py", "forward", "h = self.up_proj(x)")
    assert read_frames(trace(TRAINING, MODULE, head, MODULE, linear)).work == "logits"
    assert read_frames(trace(TRAINING, MODULE, up, MODULE, linear)).work == "activation"


def test_the_name_that_receives_a_whole_model_tells_nothing() -> None:
    """`logits = model(...)` in the training loop says nothing about a failure deep inside the model."""
    inner = frame("model.py", "forward", "y = fancy(x)")
    assert read_frames(trace(TRAINING, MODULE, inner)).work == "unknown"


def test_an_optimizers_closure_is_not_the_optimizer() -> None:
    """Lightning runs the forward pass inside optimizer.step(closure)."""
    outer = frame("/env/torch/optim/optimizer.py", "wrapper", "out = func(*args, **kwargs)")
    step = frame("/env/torch/optim/adamw.py", "step", "loss = closure()")
    unknown = frame("model.py", "forward", "y = fancy(x)")
    assert read_frames(trace(outer, step, MODULE, unknown)).work == "unknown"


def test_a_forward_pass_recomputed_in_backward_is_not_the_backward_pass() -> None:
    """With checkpointing the model's frames stand below those of autograd."""
    engine = frame("/env/torch/autograd/graph.py", "_engine_run_backward", "return engine.run_backward(")
    scores = frame("model.py", "forward", "att = q @ k.transpose(-2, -1)")
    unknown = frame("model.py", "forward", "y = fancy(x)")
    assert read_frames(trace(engine, MODULE, scores)).work == "attention"
    assert read_frames(trace(engine, MODULE, unknown)).work == "unknown"


def test_carets_choose_the_statement_of_a_crowded_line() -> None:
    """Only the underlined part failed, whatever else the line does."""
    line = "mask = torch.ones(S, S).tril(); logits = self.lm_head(x)"
    start = line.index("self")
    marks = " " * (4 + start) + "^" * (len(line) - start) + "\n"
    assert read_frames(trace(frame("m.py", "f", line) + marks)).work == "logits"
    assert read_frames(trace(frame("m.py", "f", line))).work == "mask"


def test_the_code_names_the_width_of_an_element() -> None:
    """An explicit dtype counts, and the unfused paths work in float32 whatever the inputs are."""

    def itemsize(code: str, function: str = "f") -> int | None:
        return read_frames(trace(frame("m.py", function, code))).itemsize

    assert itemsize("logits = logits.float()") == 4
    assert itemsize("m.expand(B, H, S, S).to(torch.bfloat16)") == 2
    assert itemsize("scores = query.to(working_precision) @ key.to(working_precision)") == 4
    assert itemsize("with sdpa_kernel(SDPBackend.MATH): F.scaled_dot_product_attention(q, q, q)") == 4
    assert itemsize("attn_weights = torch.matmul(query, key.transpose(2, 3))") is None


def test_a_cast_back_leaves_the_width_open_unless_the_softmax_itself_failed() -> None:
    """`softmax(..., float32).to(query.dtype)` makes two tensors; the inner frame says which one failed."""
    code = "attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)"
    eager = frame("modeling_llama.py", "eager_attention_forward", code)
    softmax = frame("/env/torch/nn/functional.py", "softmax", "ret = input.softmax(dim, dtype=dtype)")
    assert read_frames(trace(eager)).itemsize is None
    assert read_frames(trace(eager, softmax)).itemsize == 4


def test_a_compiled_kernel_spells_shape_and_dtype() -> None:
    """Inductor's wrapper code allocates with literal sizes."""
    code = "buf7 = empty_strided_cuda((8, 4096, 128256), (525336576, 128256, 1), torch.bfloat16)"
    clue = read_frames(trace(TRAINING, frame("/tmp/torchinductor_me/ab/cabc.py", "call", code)))  # noqa: S108
    assert (clue.work, clue.shape, clue.itemsize) == ("generated", (8, 4096, 128256), 2)


def test_rank_prefixes_and_interleaved_lines_do_not_hide_the_frames() -> None:
    """The prefix of torchrun is peeled, and a progress line between two frames is passed over."""
    lines = trace(TRAINING, "12%| step 3\n", frame("m.py", "f", "logits = self.lm_head(x)")).splitlines()
    assert read_frames("\n".join("[rank3]: " + line for line in lines)).work == "logits"


def test_an_earlier_exception_is_not_the_failure() -> None:
    """Of two chained tracebacks the one that ends in the allocation counts."""
    key_error = trace(frame("m.py", "f", "mask = cache['mask']"), error="KeyError: 'mask'")
    chained = key_error + "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert read_frames(chained + trace(frame("m.py", "g", "logits = self.lm_head(x)"))).work == "logits"


def test_what_follows_the_failure_is_ignored() -> None:
    """A teardown's own traceback says nothing about the allocation."""
    later = trace(frame("m.py", "close", "mask = torch.tril(x)"), error="RuntimeError: shutdown")
    assert read_frames(trace(frame("m.py", "g", "logits = self.lm_head(x)")) + later).work == "logits"


def test_a_workers_original_traceback_counts() -> None:
    """DataParallel repeats the replica's traceback below its own."""
    caught = "torch.OutOfMemoryError: Caught OutOfMemoryError in replica 0 on device 0.\nOriginal Traceback (most recent call last):\n"
    text = trace(TRAINING, error=caught) + frame("m.py", "forward", "att = q @ k.transpose(-2, -1)") + ERROR
    assert read_frames(text).work == "attention"


@pytest.mark.parametrize("text", ["", "\n\n", ERROR])
def test_no_frames_are_told_from_frames_that_say_nothing(text: str) -> None:
    """Only the error line is left of many logs."""
    assert read_frames(text).work == "none"


@given(
    st.text()
    | st.lists(st.sampled_from(['  File "a.py", line 1, in f', "    x = y(", "    ^^^", ERROR, "q @ k", "="])).map(
        "\n".join
    )
)
def test_no_text_makes_it_raise(text: str) -> None:
    """Any text gives a clue."""
    assert read_frames(text).work


def test_a_statement_over_several_lines_is_read_as_one() -> None:
    """Python 3.13 underlines each line of a call that spans several."""
    text = """\
  File "m.py", line 7, in forward
    weights = torch.baddbmm(
              ~~~~~~~~~~~~~^
        mask, q_scaled, k.transpose(-2, -1)
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    )
    ^
"""
    assert read_frames(text).work == "attention"
