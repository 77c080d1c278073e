"""When a shape is named, how surely, and when silence is right."""

from collections.abc import Mapping
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.memory import Numbers, Printed, Request, collect, explain, tensor_of

MIB, GIB = 1 << 20, 1 << 30
SCORES = "attn_weights = torch.matmul(query, key.transpose(2, 3))"
FORWARD = '  File "model.py", line 3, in forward\n    '
GPT = {"n_head": 12, "n_embd": 768, "vocab_size": 50257, "batch_size": 8, "seq_len": 4096, "n_layer": 12}


def numbers_of(**config: object) -> Numbers:
    return collect(config, {}, ())


def printed(number: float, unit: int = GIB) -> Request:
    return Request(round(number * unit), unit_bytes=unit)


def test_nothing_known_gives_nothing() -> None:
    """6.00 GiB without frames and configuration is no tensor."""
    assert explain(printed(6), numbers_of(), "") == ()
    assert tensor_of(printed(6), "") is None


@pytest.mark.parametrize(
    "frames",
    [
        "h = self.mlp(x)",
        "hidden_states = self.norm(hidden_states)",
        "logits = self.lm_head(x)",
        "state['exp_avg'] = torch.zeros_like(p)",
        "x = torch.empty(3 * 2**31, dtype=torch.uint8, device='cuda')",
        "x = torch.empty(n, dtype=torch.uint8, device='cuda')",
    ],
)
def test_a_score_sized_request_elsewhere_is_not_attention(frames: str) -> None:
    """8 x 12 x 4096 x 4096 x 4 bytes in an MLP, a norm, a head or an optimizer is a coincidence."""
    found = explain(printed(6), numbers_of(**GPT), frames)
    assert not any(hypothesis.tensor.startswith("attention") for hypothesis in found)


def test_attention_frames_without_the_matrix_size_are_not_scores() -> None:
    """A query projection inside attention is an activation."""
    found = explain(printed(384, MIB), numbers_of(**{**GPT, "batch_size": 32}), "q = self.q_proj(x)")
    assert [hypothesis.tensor for hypothesis in found][:1] == ["activation"]
    assert explain(printed(5.37), numbers_of(**GPT), SCORES) == ()


def test_without_frames_a_match_is_never_sure() -> None:
    """A cut log leaves the numbers alone: the product fits, but nothing agrees with it."""
    found = explain(printed(6), numbers_of(**GPT), "")
    assert found[0].tensor == "attention scores"
    assert all(hypothesis.confidence != "high" for hypothesis in found)


def test_frames_that_say_nothing_make_a_match_weaker_still() -> None:
    """Unknown code could have asked for anything."""
    bare = explain(printed(6), numbers_of(**GPT), "")[0]
    unknown = explain(printed(6), numbers_of(**GPT), FORWARD + "y = fancy(x)")
    assert all(hypothesis.doubt > bare.doubt for hypothesis in unknown)


def test_without_a_telling_frame_small_requests_name_nothing() -> None:
    """Below a few hundred MiB every number is a product of something."""
    config = {**GPT, "batch_size": 1, "seq_len": 1024}
    assert explain(printed(48, MIB), numbers_of(**config), "") == ()
    assert explain(printed(48, MIB), numbers_of(**config), SCORES)[0].shape == (1, 12, 1024, 1024)


def test_flash_attention_keeps_no_scores() -> None:
    """With a fused implementation configured, a backward pass is not blamed on a score matrix."""
    frames = "loss.backward()"
    config = {**GPT, "attn_implementation": "flash_attention_2"}
    eager = explain(printed(6), numbers_of(**{**config, "attn_implementation": "eager"}), frames)
    assert eager[0].tensor == "attention scores"
    fused = explain(printed(6), numbers_of(**config), frames)
    assert all(hypothesis.tensor != "attention scores" or hypothesis.confidence == "low" for hypothesis in fused)


def test_two_shapes_of_one_size_lower_the_confidence() -> None:
    """Two lengths and two batches with one product cannot be told apart."""
    config = {**GPT, "batch_size": [4, 16], "seq_len": [4096, 2048], "torch_dtype": "float32"}
    found = explain(printed(3), numbers_of(**config), SCORES)
    assert {hypothesis.shape[:3] for hypothesis in found[:2]} == {(4, 12, 4096), (16, 12, 2048)}
    assert all(hypothesis.confidence != "high" for hypothesis in found)


def test_a_missing_number_of_heads_is_solved_for() -> None:
    """Batch, length and request leave one count of heads."""
    found = explain(printed(64), numbers_of(micro_bs=1, seq_len=16384, torch_dtype="float32"), SCORES)
    assert (found[0].shape, found[0].itemsize) == ((1, 64, 16384, 16384), 4)
    assert found[0].confidence != "high"


def test_a_missing_key_length_is_solved_for() -> None:
    """A drafter whose context the log does not tell: the keys come out as a multiple of 128."""
    config = {"heads": 32, "anchors": 1024, "block_size": 32}
    found = explain(printed(276), numbers_of(**config), "scores = query.to(working_precision) @ key")
    assert (found[0].query_len, found[0].kv_len, found[0].itemsize) == (32768, 70656, 4)
    assert found[0].confidence != "high"


def test_a_missing_sequence_is_solved_for() -> None:
    """Batches padded to their longest sample print no length."""
    config = {"batch_size": 4, "num_attention_heads": 16, "torch_dtype": "bfloat16"}
    assert explain(printed(18), numbers_of(**config), SCORES)[0].shape == (4, 16, 12288, 12288)


def test_nothing_is_solved_for_outside_attention() -> None:
    """One equation with an unknown always has a solution, so frames must speak first."""
    assert explain(printed(64), numbers_of(micro_bs=1, seq_len=16384), "") == ()
    assert explain(printed(64), numbers_of(micro_bs=1, seq_len=16384), "h = self.mlp(x)") == ()


def test_a_vocabulary_in_wide_use_is_tried_where_none_is_named() -> None:
    """Logits of a Llama 3 head are recognised without its configuration."""
    found = explain(printed(31.31), numbers_of(batch_size=16, seq_len=8192), "logits = self.lm_head(x)")
    assert found[0].shape == (16, 8192, 128256)
    assert found[0].confidence == "medium"


def test_the_smallest_segment_names_no_tensor() -> None:
    """2.00 MiB stands for every tensor up to 1 MiB, 20.00 MiB for those up to 10."""
    adam = "state['exp_avg'] = torch.zeros_like(p)"
    assert explain(printed(2, MIB), numbers_of(hidden_size=512), adam) == ()
    assert explain(printed(20, MIB), numbers_of(hidden_size=1024), adam) == ()
    assert explain(printed(20, MIB), numbers_of(hidden_size=1024, intermediate_size=5120), adam)[0].bytes == 20 * MIB


def test_flat_buffers_of_sharded_training_are_known() -> None:
    """ZeRO's float32 partition of exactly counted parameters on eight ranks."""
    numbers = numbers_of(total_params=6738415616, world_size=8)
    found = explain(printed(3.14), numbers, "state['exp_avg'] = torch.zeros_like(p)")
    assert (found[0].shape, found[0].itemsize) == ((842301952,), 4)


def test_a_flat_layer_of_fsdp_is_known() -> None:
    """FSDP gathers a whole layer into one buffer."""
    llama = {"hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 11008, "torch_dtype": "bfloat16"}
    frames = '  File "torch/distributed/fsdp/_flat_param.py", line 9, in unshard\n    x = self.pre()\n'
    found = explain(printed(386.02, MIB), numbers_of(**llama), frames)
    assert (found[0].tensor, found[0].axes) == ("parameter", ("parameters of a layer",))


def test_a_compiled_kernel_is_named_by_its_own_shape() -> None:
    """Inductor spells the sizes out; the vocabulary makes them logits."""
    code = "buf7 = empty_strided_cuda((8, 4096, 50257), (205852672, 50257, 1), torch.float32)"
    frames = f'  File "/cache/torchinductor_me/c.py", line 3, in call\n    {code}\n'
    found = explain(printed(6.14), numbers_of(**GPT), frames)
    assert (found[0].tensor, found[0].shape, found[0].itemsize) == ("logits", (8, 4096, 50257), 4)
    assert explain(printed(9.00), numbers_of(**GPT), frames) == ()


def test_a_shape_that_an_exact_message_prints_is_taken_at_its_word() -> None:
    """TensorFlow prints the shape beside the byte count."""
    request = Request(16 * 12 * 512 * 512 * 4 * 8, exact=True)
    found = explain(request, collect({}, {}, [(128, 12, 512, 512)]), "")
    assert (found[0].tensor, found[0].shape, found[0].itemsize) == ("attention scores", (128, 12, 512, 512), 4)


def test_dtype_follows_the_configuration() -> None:
    """Two bytes are float16 only where the run says so."""
    config = {**GPT, "torch_dtype": "float16"}
    assert explain(printed(3), numbers_of(**config), SCORES)[0].dtype == "float16"
    assert explain(printed(3), numbers_of(**GPT), SCORES)[0].dtype == "bfloat16"


def test_attention_code_alone_names_large_requests_only() -> None:
    """Queries and outputs are made in the same functions as the scores."""
    assert tensor_of(printed(64), SCORES) == "attention scores"
    assert tensor_of(printed(64, MIB), SCORES) is None


ROLES = st.sampled_from(
    [
        "batch_size",
        "seq_len",
        "num_attention_heads",
        "head_dim",
        "hidden_size",
        "vocab_size",
        "ctx",
        "anchors",
        "block_size",
    ]
)
LINES = st.sampled_from(
    [
        SCORES,
        "loss.backward()",
        "logits = self.lm_head(x)",
        "h = self.mlp(x)",
        "causal_mask = torch.tril(m)",
        "",
        "x = y()",
    ]
)

REQUESTS = st.builds(Request, st.integers(1, 1 << 40), st.booleans())


@settings(max_examples=60)
@given(st.dictionaries(ROLES, st.integers(1, 40000), max_size=8), LINES, REQUESTS)
def test_whatever_is_named_prints_as_the_request(config: Mapping[str, object], line: str, request_: Request) -> None:
    """Every hypothesis multiplies to its bytes, and its bytes to the printed request."""
    for hypothesis in explain(request_, numbers_of(**config), line):
        assert hypothesis.bytes == prod(hypothesis.shape) * hypothesis.itemsize
        assert request_.accepts(hypothesis.bytes)
        assert len(hypothesis.axes) == len(hypothesis.shape)
        assert hypothesis.sentence.endswith(f"= {hypothesis.tensor}")


@settings(max_examples=60)
@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.integers(128, 65536),
    st.sampled_from([2, 4]),
    st.sampled_from([MIB, GIB]),
)
def test_a_score_matrix_that_the_run_describes_is_always_found(
    batch: int, heads: int, seq: int, itemsize: int, unit: int
) -> None:
    """Printing with two decimals loses no described matrix from 32 MiB on."""
    size = batch * heads * seq * seq * itemsize
    if size < 32 * MIB:
        return
    segment = -(-size // (2 * MIB)) * 2 * MIB
    request = Request(round(round(segment / unit, 2) * unit), unit_bytes=unit)
    numbers = numbers_of(batch_size=batch, num_attention_heads=heads, seq_len=seq)
    found = explain(request, numbers, SCORES) if request.requested_bytes > 20 * MIB else ()
    assert request.requested_bytes <= 20 * MIB or (batch, heads, seq, seq) in {hypothesis.shape for hypothesis in found}


@given(st.text(), st.builds(Request, st.integers(), st.booleans()))
def test_no_text_and_no_size_make_it_raise(frames: str, request_: Request) -> None:
    """Damaged logs give an empty answer, not an exception."""
    assert isinstance(explain(request_, numbers_of(**GPT), frames), tuple)
    tensor_of(request_, frames)


def test_a_flat_buffer_of_all_gradients_is_known_by_who_makes_it() -> None:
    """DistributedDataParallel lays all gradients out in buckets when it is built; one bucket may hold them all."""
    frames = (
        '  File "/e/torch/nn/parallel/distributed.py", line 1, in _ddp_init_helper\n    self.reducer = dist.Reducer('
    )
    found = explain(printed(4.6), numbers_of(num_parameters=1_234_803_098, dtype="float32"), frames)
    assert (found[0].tensor, found[0].shape) == ("gradient", (1_234_803_098,))


def test_a_tensor_that_was_printed_by_name_is_known_by_it() -> None:
    """`torch.zeros_like(in_feat)`, after `in_feat torch.Size([30688, 151936]) torch.float32`: the last print counts."""
    prints = [Printed("in_feat", (rows, 151936), 4) for rows in (6256, 30688)]
    numbers = collect({}, {}, [], prints)
    (found,) = explain(printed(17.37), numbers, "grad_in_feat = torch.zeros_like(in_feat)")
    assert (found.shape, found.itemsize, found.confidence) == ((30688, 151936), 4, "medium")
    assert explain(printed(17.37), numbers, "x = torch.zeros_like(features)") == ()


def test_of_two_lengths_that_fit_the_round_one_is_meant() -> None:
    """16 GiB of scores of 32 heads are 16384 tokens in two bytes, and hardly 11584 in four."""
    found = explain(printed(16), numbers_of(num_attention_heads=32), SCORES)
    assert {hypothesis.query_len for hypothesis in found} == {16384}
