"""Real models that ran out of memory on an H200: the tensor that failed, and the peak of what was then recommended.

The logs are those of `tests/gpu/run_out.py` (torch 2.11, transformers 5.17). After each, the first fix of
the report was applied, and torch.cuda.max_memory_allocated of that run is the measured peak.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from forensics.analyze import analyze_files
from forensics.model import Finding, Report
from forensics.text.sizes import format_size
from tests.engine.runs import rulebook

FOLDER = Path(__file__).with_name("measured")
CLOSE = 0.02


class Run(NamedTuple):
    """What failed, the fix in a few words, and its measured peak in bytes."""

    root: str
    tensor: str
    shape: tuple[int, ...]
    itemsize: int
    order: str
    peak: int


GPU, DENSE = "memory.gpu-oom", "memory.dense-attention-oom"
RUNS = {
    "llama-3.2-1b": Run(GPU, "activation", (16, 8192, 2048), 4, "Set batch to 4, with 4 times", 117_910_178_304),
    "llama-3.2-1b-eager": Run(
        DENSE, "attention scores", (4, 32, 4096, 4096), 4, "Use fused attention (`attn_implementation=sdpa`)",
        61_458_708_992,
    ),
    "llama-3.2-3b-one-sequence": Run(
        GPU, "logits", (1, 32768, 128256), 4, "Turn on gradient checkpointing", 76_236_329_472
    ),
    "qwen2.5-0.5b": Run(GPU, "activation", (64, 4096, 4864), 2, "Set batch to 8, with 8 times", 109_165_382_144),
    "qwen3-0.6b-eager": Run(
        DENSE, "attention scores", (16, 16, 4096, 4096), 4,
        "Use fused attention (`attn_implementation=sdpa`) and set batch to 8", 130_771_802_624,
    ),
    "tinyllama-1.1b": Run(GPU, "activation", (64, 2048, 2048), 4, "Set batch to 16, with 4 times", 110_604_116_480),
    "smollm2-360m-half-a-card": Run(
        GPU, "activation", (64, 2048, 2560), 2, "Set batch to 16, with 4 times", 65_605_986_816
    ),
    "gemma-2b": Run(GPU, "logits", (16, 2048, 256000), 4, "Set batch to 8, with 2 times", 124_250_305_536),
    "gpt2-medium": Run(GPU, "activation", (128, 1024, 4096), 2, "Set batch to 64, with 2 times", 136_308_616_704),
    "gpt2-xl": Run(GPU, "activation", (64, 1024, 6400), 4, "Set batch to 8, with 8 times", 87_458_194_944),
    "bert-large": Run(GPU, "activation", (512, 512, 1024), 2, "Set batch to 256, with 2 times", 138_008_368_640),
    "pythia-410m": Run(GPU, "logits", (64, 2048, 50304), 4, "Set batch to 32, with 2 times", 101_249_296_896),
    "opt-1.3b": Run(GPU, "activation", (64, 2048, 8192), 2, "Set batch to 32, with 2 times", 134_646_564_352),
}  # fmt: skip


def report(name: str, keep: slice = slice(None)) -> Report:
    """Analyse a kept log, or some of its lines."""
    lines = (FOLDER / f"{name}.log").read_text().splitlines(keepends=True)[keep]
    return analyze_files({"train.log": "".join(lines).encode(), "exit_code": b"1\n"}, rulebook())


def root(of: Report) -> Finding:
    assert of.root is not None
    return of.root


@pytest.mark.parametrize("name", RUNS)
def test_the_tensor_is_named(name: str) -> None:
    """At rank one, with its shape and the width of its elements."""
    found, run = root(report(name)), RUNS[name]
    assert (found.id, found.facts["tensor"], found.facts["shape"], found.facts["itemsize"]) == run[:4]


@pytest.mark.parametrize("name", RUNS)
def test_the_first_fix_is_what_fitted(name: str) -> None:
    """It says what to change, and its peak is the one that was then measured."""
    found, run = root(report(name)), RUNS[name]
    predicted = found.facts["predicted_bytes"]
    assert isinstance(predicted, int)
    assert abs(predicted - run.peak) <= CLOSE * run.peak
    assert found.fixes[0].title.startswith(f"Make the step fit the card: {run.order[:1].lower()}{run.order[1:]}")
    assert format_size(predicted) in found.fixes[0].title


@pytest.mark.parametrize("name", RUNS)
def test_without_the_settings_nothing_is_promised(name: str) -> None:
    """Of a log that begins later no figure is made up."""
    facts = root(report(name, slice(2, None))).facts
    assert "predicted_bytes" not in facts
    assert "needed_bytes" not in facts


def test_a_step_that_should_have_fitted_gets_no_advice() -> None:
    """Where the arithmetic says that there was room, something else filled the card."""
    text = (FOLDER / "llama-3.2-1b.log").read_text().replace('"batch": 16', '"batch": 1')
    found = analyze_files({"train.log": text.encode(), "exit_code": b"1\n"}, rulebook())
    assert "predicted_bytes" not in root(found).facts


def test_a_step_larger_than_the_card_is_not_called_fragmented() -> None:
    """1.81 GiB were held in pieces and 1.00 GiB was asked for, but the step needed four times the card."""
    found = report("llama-3.2-1b")
    assert root(found).id == GPU
    assert "memory.gpu-oom-fragmentation" in {f.id for f in found.findings if f.role == "consequence"}
