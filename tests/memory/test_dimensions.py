"""Sizes a run names, in the spellings of many programs."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.memory import Numbers, collect


@pytest.mark.parametrize(
    ("config", "role", "value"),
    [
        ({"per_device_train_batch_size": 16}, "batch", 16),
        ({"train_micro_batch_size_per_gpu": "4"}, "batch", 4),
        ({"micro_batch_size": 2.0}, "batch", 2),
        ({"bsz": 8}, "batch", 8),
        ({"data.train.batch_size": 32}, "batch", 32),
        ({"max_seq_length": "32,768"}, "seq", 32768),
        ({"seq_len": "32k"}, "seq", 32768),
        ({"trainer": {"args": {"max_length": 2048}}}, "seq", 2048),
        ({"n_ctx": 1024}, "seq", 1024),
        ({"max_position_embeddings": 131072}, "positions", 131072),
        ({"n_positions": 1024}, "positions", 1024),
        ({"num_attention_heads": 32}, "heads", 32),
        ({"nhead": 3}, "heads", 3),
        ({"model.n_head": 12}, "heads", 12),
        ({"num_query_groups": 8}, "kv_heads", 8),
        ({"kv_channels": 128}, "head_dim", 128),
        ({"text_config": {"hidden_size": 4096}}, "hidden", 4096),
        ({"n_embd": 768}, "hidden", 768),
        ({"ffn_hidden_size": 14336}, "intermediate", 14336),
        ({"padded_vocab_size": 50304}, "vocab", 50304),
        ({"num_hidden_layers": 2}, "layers", 2),
        ({"num_local_experts": 8}, "experts", 8),
        ({"max_anchors": 1024}, "anchors", 1024),
        ({"ctx": 37888}, "context", 37888),
        ({"token_budget": 49152}, "tokens", 49152),
        ({"total_params": "6,738,415,616"}, "parameters", 6738415616),
    ],
)
def test_a_size_is_found_under_the_name_a_program_gives_it(config: Mapping[str, object], role: str, value: int) -> None:
    """Nested or dotted, number or text, each spelling ends in its role without doubt."""
    assert getattr(collect(config, {}, ()), role)[value] == 0


@pytest.mark.parametrize("option", ["--per-device-train-batch-size", "per_device_train_batch_size", "-B", "B"])
def test_a_command_line_names_sizes_too(option: str) -> None:
    """Dashes and underscores are one, and a single capital is what small scripts use."""
    assert 16 in collect({}, {option: "16"}, ()).batch


def test_a_single_small_letter_is_believed_less_than_a_word() -> None:
    """`-b 16` may be something else than a batch."""
    assert collect({}, {"-b": "16"}, ()).batch == {16: 1}


def test_every_stage_of_a_curriculum_is_kept() -> None:
    """A list of lengths gives each of them as a candidate."""
    assert set(collect({"seq_len": [2048, 4096, 25000]}, {}, ()).seq) == {2048, 4096, 25000}
    assert set(collect({"seq_len": "2048, 4096, 25000"}, {}, ()).seq) == {2048, 4096, 25000}


def test_block_size_is_a_sequence_unless_anchors_stand_beside_it() -> None:
    """In nanoGPT the block is the context; a block drafter's block is one draft; a cache page is neither."""
    assert 1024 in collect({"block_size": 1024}, {}, ()).seq
    drafter = collect({"block_size": 128, "max_anchors": 512}, {}, ())
    assert 128 in drafter.block
    assert not drafter.seq
    assert not collect({"block_size": 16}, {}, ()).seq


def test_evaluation_and_vision_sizes_count_less() -> None:
    """The training batch is the first guess, the evaluation batch the second."""
    numbers = collect({"train": {"batch_size": 8}, "eval": {"batch_size": 64}}, {}, ())
    assert numbers.batch == {8: 0, 64: 1}


@pytest.mark.parametrize(
    "config",
    [
        {"rope_scaling": {"dim": 64}},
        {"lora": {"dim": 16}},
        {"batch_size": True},
        {"batch_size": None},
        {"batch_size": "auto"},
        {"batch_size": -1},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"batch_size": float("nan")},
        {"batch_size": float("inf")},
        {"parameters": 12},
        {"gradient_accumulation_steps": 4},
    ],
)
def test_what_is_no_size_is_skipped(config: Mapping[str, object]) -> None:
    """Flags, absent values, fractions and other sections' words name nothing."""
    assert replace(collect(config, {}, ()), words={}) == Numbers()


@pytest.mark.parametrize(
    ("config", "sizes", "names"),
    [
        ({"torch_dtype": "bfloat16"}, {2}, {"bfloat16"}),
        ({"dtype": "torch.float16"}, {2}, {"float16"}),
        ({"precision": "bf16-mixed"}, {2}, {"bfloat16"}),
        ({"fp16": True}, {2}, {"float16"}),
        ({"fp16": False}, set(), set()),
        ({"dtype": "fp32"}, {4}, {"float32"}),
    ],
)
def test_declared_dtypes_give_the_width_of_an_element(
    config: Mapping[str, object], sizes: set[int], names: set[str]
) -> None:
    """A dtype is read from its key or from a flag that is on."""
    numbers = collect(config, {}, ())
    assert (set(numbers.itemsizes), set(numbers.dtypes)) == (sizes, names)


def test_a_printed_query_shape_names_batch_heads_and_length() -> None:
    """`q (4, 16, 24576, 128)` says it all, in either layout."""
    for shape in ((4, 16, 24576, 128), (4, 24576, 16, 128)):
        numbers = collect({}, {}, [shape])
        assert (numbers.batch, numbers.heads, numbers.seq, numbers.head_dim) == ({4: 0}, {16: 0}, {24576: 0}, {128: 0})


def test_a_printed_shape_yields_to_what_the_configuration_says() -> None:
    """Where the configuration names a role, a shape only adds a doubtful candidate."""
    assert collect({"batch_size": 8}, {}, [(4, 16, 24576, 128)]).batch == {8: 0, 4: 1}


def test_patches_make_an_image_models_sequence() -> None:
    """224 / 16 gives 196 patches, 197 with the class token."""
    assert set(collect({"image_size": 224, "patch_size": 16}, {}, ()).seq) == {196, 197}


def test_attention_implementation_is_noted() -> None:
    """The configured implementation tells whether a score matrix can exist at all."""
    assert collect({"_attn_implementation": "flash_attention_2"}, {}, ()).attention == {"flash_attention_2"}


def test_hundreds_of_values_stay_few_candidates() -> None:
    """A long list must not make the products explode."""
    assert len(collect({"seq_len": list(range(1, 500))}, {}, ()).seq) <= 8


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
KEYS = st.text() | st.sampled_from(
    ["batch_size", "seq_len", "block_size", "anchors", "D", "dtype", "a.b.heads", "image_size"]
)


@given(
    st.dictionaries(KEYS, VALUES),
    st.dictionaries(KEYS, st.text()),
    st.lists(st.lists(st.integers()).map(tuple), max_size=4),
)
def test_no_configuration_makes_it_raise(
    config: Mapping[str, object], argv: Mapping[str, str], shapes: list[tuple[int, ...]]
) -> None:
    """Any mapping, any text and any shape give numbers, all of them positive."""
    numbers = collect(config, argv, shapes)
    for role in ("batch", "seq", "heads", "head_dim", "hidden", "vocab"):
        assert all(value > 0 for value in getattr(numbers, role))
