"""What fits, from the settings of a run; and silence where they leave anything open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.memory import Request, advise, collect
from forensics.memory.advice import order
from forensics.memory.families import FAMILIES, family_of
from forensics.memory.footprint import Architecture, Setup, footprint
from forensics.memory.models import known
from forensics.memory.settings import architecture, setups

GIB = 1 << 30
LLAMA = {
    "model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
    "vocab_size": 128256, "num_hidden_layers": 16, "intermediate_size": 8192, "tie_word_embeddings": True,
    "torch_dtype": "bfloat16", "batch_size": 16, "seq_len": 4096,
}  # fmt: skip
FAILED = Request(GIB, total_bytes=80 * GIB, free_bytes=GIB // 2, allocated_bytes=78 * GIB)


def advice_on(**changes: object) -> Any:
    settings = {k: v for k, v in {**LLAMA, **changes}.items() if v is not None}
    return advise(FAILED, collect(settings, {}, ()))


def test_the_largest_batch_that_fits_is_found() -> None:
    """A divisor, so that accumulation keeps the product; twice as large would not fit."""
    found = advice_on()
    first = found.options[0]
    assert (first.setup.batch, first.setup.seq) == (4, 4096)
    assert first.footprint.peak <= found.usable_bytes
    double = Setup(8, 4096, accumulated=True)
    assert footprint(found.model, double).peak > found.usable_bytes


@pytest.mark.parametrize(
    "left_open",
    [
        {"hidden_size": None}, {"num_hidden_layers": None}, {"vocab_size": None}, {"batch_size": None},
        {"seq_len": None}, {"model_type": "brand_new"}, {"num_experts": 8}, {"lora_r": 16}, {"load_in_4bit": True},
        {"num_hidden_layers": [16, 24]},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_left_open_is_not_guessed(left_open: dict[str, object]) -> None:
    """A missing size, layers that nobody knows, adapters and quantised weights: no figure."""
    assert advice_on(**left_open) is None


def test_without_the_size_of_the_card_nothing_is_said() -> None:
    """There is nothing to hold the figures against."""
    assert advise(Request(GIB), collect(LLAMA, {}, ())) is None


def test_more_held_than_the_arithmetic_knows_of_silences_it() -> None:
    """A step of 32 GiB cannot have held 78."""
    assert advice_on(batch_size=1) is None


def test_a_name_stands_for_the_shapes_that_it_has() -> None:
    """Whoever publishes it, and in which variant; but not with one more word in it."""
    named = collect(
        {"model_name_or_path": "meta-llama/Llama-3.2-1B-Instruct", "batch_size": 16, "seq_len": 4096}, {}, ()
    )
    assert architecture(named) == architecture(collect(LLAMA, {}, ()))
    assert known("/models/gpt2-xl/") is known("openai-community/gpt2-xl")
    assert known("my-own-llama-3.2-1b-pruned") is None


def test_what_the_run_prints_outranks_its_name() -> None:
    """A model that was cut to two layers keeps its name."""
    numbers = collect({"model": "gpt2", "n_layer": 2}, {}, ())
    assert set(numbers.layers) == {2}
    assert 768 in numbers.hidden


@pytest.mark.parametrize(
    "word", ["llama", "LlamaForCausalLM", "mistral", "GPTNeoXForCausalLM", "gpt2", "BertForMaskedLM"]
)
def test_families_are_known_by_type_and_by_class(word: str) -> None:
    """`model_type` and `architectures` name the same thing."""
    assert family_of(word) in FAMILIES


@pytest.mark.parametrize(
    ("settings", "weights", "autocast"),
    [
        ({"dtype": "bfloat16"}, 2, False),
        ({"torch_dtype": "torch.bfloat16"}, 2, False),
        ({"bf16": True}, 4, True),
        ({"mixed_precision": "bf16"}, 4, True),
        ({}, 4, False),
    ],
    ids=str,
)
def test_the_precision_is_read(settings: dict[str, object], weights: int, autocast: bool) -> None:  # noqa: FBT001 - a case
    """Two-byte weights, float32 with autocast, or plain float32."""
    setup = next(setups(collect({**settings, "batch_size": 2, "seq_len": 128}, {}, ())))
    assert (setup.weights, setup.autocast) == (weights, autocast)


MODELS = st.builds(
    Architecture,
    family=st.sampled_from(sorted(FAMILIES)),
    hidden=st.sampled_from([512, 1024, 2048]),
    layers=st.integers(1, 48),
    heads=st.just(16),
    kv_heads=st.sampled_from([1, 4, 16]),
    head_dim=st.sampled_from([64, 128]),
    intermediate=st.sampled_from([2048, 8192]),
    vocab=st.sampled_from([32000, 128256]),
)
SETUPS = st.builds(
    Setup,
    batch=st.integers(1, 64),
    seq=st.sampled_from([128, 1024, 8192]),
    weights=st.sampled_from([2, 4]),
    autocast=st.booleans(),
    attention=st.sampled_from(["fused", "eager"]),
    checkpointing=st.booleans(),
    accumulated=st.booleans(),
)


@given(MODELS, SETUPS)
def test_more_work_never_needs_less(model: Architecture, setup: Setup) -> None:
    """A larger batch or a longer sequence, unfused attention, no recomputing: each needs at least as much."""
    peak = footprint(model, setup).peak
    assert footprint(model, replace(setup, batch=setup.batch + 1)).peak >= peak
    assert footprint(model, replace(setup, seq=2 * setup.seq)).peak >= peak
    assert (
        footprint(model, replace(setup, attention="eager")).peak
        >= footprint(model, replace(setup, attention="fused")).peak
    )
    assert (
        footprint(model, replace(setup, checkpointing=True)).peak
        <= footprint(model, replace(setup, checkpointing=False)).peak * 1.5
    )


def test_float32_with_shared_keys_is_told_to_take_two_bytes() -> None:
    """The kernels that share keys between heads take no float32, so attention is unfused whatever was asked for."""
    numbers = collect({**LLAMA, "torch_dtype": "float32", "batch_size": 2}, {}, ())
    found = advise(Request(GIB, total_bytes=80 * GIB, allocated_bytes=70 * GIB), numbers)
    assert found is not None
    assert order(found.options[0], found.setup, "batch").startswith("use bfloat16")
    assert found.options[0].setup.autocast
