"""Train a model of transformers for two steps with random weights, as a person's script would, and say the peak.

Usage: `python tests/gpu/train_model.py --model llama-3.2-1b --batch 16 --seq 8192`. Needs torch with a GPU and
transformers; nothing is downloaded, for the shapes are those of `forensics/memory/models.toml`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import tomllib
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[2] / "forensics" / "memory" / "models.toml"
CLASSES = {"llama": "Llama", "qwen3": "Qwen3", "gemma": "Gemma", "gpt2": "GPT2", "opt": "OPT", "gpt_neox": "GPTNeoX",
           "bert": "Bert"}  # fmt: skip
NAMES = {
    "llama": ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    "gpt2": ("n_embd", "n_layer", "n_head", "n_inner"),
    "opt": ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--bf16", default="false")
    parser.add_argument("--attn_implementation", default="sdpa")
    parser.add_argument("--gradient_checkpointing", default="false")
    parser.add_argument("--optim", default="adamw_torch")
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--fraction", type=float, default=1.0)
    return parser.parse_args()


def configuration(name: str) -> Any:
    """Return the configuration of a known model, as its published file has it."""
    entry = next(e for e in tomllib.loads(TABLE.read_text())["model"] if name in e["names"])
    shape, family = entry["shape"], entry["family"]
    names = NAMES.get(family, NAMES["llama"])
    values = dict(
        zip(names, (shape["hidden"], shape["layers"], shape["heads"], shape["intermediate"]), strict=True),
        vocab_size=shape["vocab"],
    )
    length = "n_positions" if family == "gpt2" else "max_position_embeddings"
    values[length] = shape.get("positions", 32768)
    if family == "opt":
        values["word_embed_proj_dim"] = shape["hidden"]
    for role, key in (("kv_heads", "num_key_value_heads"), ("head_dim", "head_dim")):
        if role in shape:
            values[key] = shape[role]
    if "tied" in entry:
        values["tie_word_embeddings"] = entry["tied"]
    transformers = importlib.import_module("transformers")
    return getattr(transformers, f"{CLASSES[family]}Config")(**values)


def main() -> None:
    """Train, and print the peak."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO, stream=sys.stdout)
    say = logging.getLogger("train")
    given = options()
    torch, transformers = map(importlib.import_module, ("torch", "transformers"))
    config = configuration(given.model)
    shown = {k: v for k, v in config.to_dict().items() if isinstance(v, int | float | str | bool) and v is not None}
    say.info("model config %s", json.dumps(shown))
    say.info("args %s", json.dumps(vars(given)))
    torch.cuda.set_per_process_memory_fraction(given.fraction)
    masked = config.model_type == "bert"
    kind = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    with torch.device("cuda"):
        model = kind.from_config(
            config, dtype=getattr(torch, given.dtype), attn_implementation=given.attn_implementation
        )
    model.train()
    model.config.use_cache = False
    if given.gradient_checkpointing == "true":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused="fused" in given.optim)
    for step in range(2):
        torch.cuda.reset_peak_memory_stats()
        for _ in range(given.gradient_accumulation_steps):
            ids = torch.randint(0, config.vocab_size, (given.batch, given.seq), device="cuda")
            with torch.autocast("cuda", torch.bfloat16, enabled=given.bf16 == "true"):
                loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        say.info("step %d/2 | loss %.4f", step + 1, loss.item())
        del loss
    say.info("peak_allocated_bytes=%d", torch.cuda.max_memory_allocated())
    say.info("Training complete")


if __name__ == "__main__":
    main()
