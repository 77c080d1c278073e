"""What a program was told to do, and the shapes that it prints."""

from collections.abc import Callable
from typing import Any

import pytest

from forensics.parsers.metrics import SETTINGS as TOLD
from tests.parsers.test_metrics_life import facts

SETTINGS = [
    ('args {"steps": 5, "heads": 32, "head_dim": 64, "lr": 0.0006, "mode": "healthy", "bar": false}',
     {"steps": 5, "heads": 32, "head_dim": 64, "lr": 0.0006, "mode": "healthy", "bar": False}),
    ('model config {"hidden_size": 4096, "num_attention_heads": 32, "rope": {"theta": 10000.0}}',
     {"hidden_size": 4096, "num_attention_heads": 32, "rope.theta": 10000.0}),
    ("per_device_train_batch_size=16 seq_len=12288 attn_implementation=eager",
     {"per_device_train_batch_size": 16, "seq_len": 12288, "attn_implementation": "eager"}),
    ("config: batch_size=16 nhead=3 head_dim=32 dtype=float32 amp=False",
     {"batch_size": 16, "nhead": 3, "head_dim": 32, "dtype": "float32", "amp": False}),
    ("Dataset: 1,095,082 samples, block_size=32, token_budget=49152", {"Dataset": 1095082, "block_size": 32, "token_budget": 49152}),
    ("  seq_length ...................................... 4096", {"seq_length": 4096}),
    ("Namespace(batch_size=4, lr=0.001, name='x y', seq_len=2048)", {"batch_size": 4, "lr": 0.001, "name": "x y", "seq_len": 2048}),
    ('  "hidden_size": 4096,', {"hidden_size": 4096}),
    ("  d_model: 768", {"d_model": 768}),
    ("  Total optimization steps = 1,500", {"Total optimization steps": 1500}),
    ("+ python train.py --batch-size 4 --seq-len 4096", {"batch-size": 4, "seq-len": 4096}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), SETTINGS)
def test_settings(line: str, expected: dict[str, Any]) -> None:
    """Settings are read under their own names, whatever form they are printed in."""
    assert any(trigger in line for trigger in TOLD.triggers)
    assert ("config", expected) in facts(line)


@pytest.mark.parametrize(
    "name",
    [
        "batch_size",
        "batch-size",
        "batchsize",
        "train_batch_size",
        "micro_bs",
        "microbs",
        "micro_batch",
        "seq_len",
        "seqlen",
        "seq-length",
        "sequence_length",
        "max_len",
        "max_seq_len",
        "max_length",
        "max_position_embeddings",
        "n_heads",
        "nhead",
        "num_heads",
        "num_attention_heads",
        "num_key_value_heads",
        "heads",
        "head_dim",
        "hidden_size",
        "hidden_dim",
        "d_model",
        "n_embd",
        "vocab",
        "vocab_size",
        "n_layers",
        "nlayer",
        "num_layers",
        "num_hidden_layers",
        "intermediate_size",
        "block_size",
        "context_length",
        "ctx",
        "max_tokens",
        "token_budget",
        "gradient_accumulation_steps",
        "max_seq_length",
    ],
)
@pytest.mark.parametrize("spelled", [str, str.upper])
def test_every_size_that_decides_makes_a_line_one_of_settings(name: str, spelled: Callable[[str], str]) -> None:
    """In small letters and in large ones, alone on its line."""
    assert ("config", {spelled(name): 8}) in facts(f"{spelled(name)} = 8")


@pytest.mark.parametrize(
    "name",
    [
        "model_type",
        "torch_dtype",
        "gradient_checkpointing",
        "tie_word_embeddings",
        "name_or_path",
        "model_name_or_path",
        "attn_implementation",
        "optim",
        "bf16",
    ],
)
def test_every_setting_that_names_a_way_makes_a_line_one_of_settings(name: str) -> None:
    """Alone on its line."""
    assert ("config", {name: "x"}) in facts(f"{name}: x")


def test_stages_have_their_own_settings() -> None:
    """A curriculum in one line gives the settings of each of its stages."""
    found = facts("curriculum: stage0 seq_len=2048 steps=200 | stage1 seq_len=4096 steps=200 | stage2 seq_len=25000")
    assert [fields["seq_len"] for kind, fields in found if kind == "config"] == [2048, 4096, 25000]


def test_settings_are_capped() -> None:
    """A configuration of a thousand entries keeps two hundred."""
    [(_, fields)] = facts("batch_size=1 " + " ".join(f"key{n}={n}" for n in range(1000)))
    assert len(fields) == 200


@pytest.mark.parametrize(
    "line",
    [
        "[NeMo I 2031-02-03 04:05:06 megatron:22] Training epoch 0, iteration 5/99 | lr: 3.0e-05 | global_batch_size: 8 | "
        "global_step: 5 | reduced_train_loss: 9.123",
        "    for i, b in enumerate(DataLoader(DS(), num_workers=2, batch_size=4)): pass",
        "  --batch_size BATCH_SIZE",
        "RuntimeError: token id 151999 out of range for vocabulary of 151936",
    ],
)
def test_no_settings(line: str) -> None:
    """Progress records, source and help texts are no settings."""
    assert all(kind != "config" for kind, _ in facts(line))


@pytest.mark.parametrize(
    ("line", "name", "shape"),
    [
        ("2026-11-29 13:09:12,177 INFO train: q (4, 16, 24576, 128)", "q", (4, 16, 24576, 128)),
        ("embed_tokens.weight: torch.Size([32000, 4096])", "embed_tokens.weight", (32000, 4096)),
        ("scores.shape = torch.Size([1, 32, 4096, 4096]) torch.float32", "scores", (1, 32, 4096, 4096)),
        ("q shape: (2, 8)", "q", (2, 8)),
    ],
)
def test_shapes(line: str, name: str, shape: tuple[int, ...]) -> None:
    """A printed shape is kept with the tensor's name."""
    [(kind, fields)] = facts(line)
    assert (kind, fields["name"], fields["shape"]) == ("tensor-print", name, shape)


@pytest.mark.parametrize(
    "line",
    [
        "\tsize mismatch for x.weight: copying a param with shape torch.Size([1, 2]) from checkpoint.",
        "  global_ranks=[0, 1, 2, 3]",
        "betas: (0, 1)",
        "example_inputs[0]: TensorMetadata(dtype=torch.float32, shape=torch.Size([8, 4]), stride=(4, 1))",
        "AE working on z of shape (1, 4, 32, 32) = 4096 dimensions.",
    ],
)
def test_no_shapes(line: str) -> None:
    """Errors about shapes, lists of ranks and pairs are no printed tensors."""
    assert all(kind != "tensor-print" for kind, _ in facts(line))
