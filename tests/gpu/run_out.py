"""Let real models run out of memory, apply the fix of the report, and hold its peak against the one foretold.

Usage: `python tests/gpu/run_out.py FOLDER [NAME...]` prints a table as JSON lines. Needs torch with a GPU and transformers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

TRAIN = Path(__file__).with_name("train_model.py")
RUNS = {
    "llama-3.2-1b": "--model llama-3.2-1b --batch 16 --seq 8192",
    "llama-3.2-1b, eager": "--model llama-3.2-1b --batch 4 --seq 4096 --attn_implementation eager",
    "llama-3.2-3b, one sequence": "--model llama-3.2-3b --batch 1 --seq 32768",
    "qwen2.5-0.5b": "--model qwen2.5-0.5b --batch 64 --seq 4096",
    "qwen3-0.6b, eager": "--model qwen3-0.6b --batch 16 --seq 4096 --attn_implementation eager",
    "tinyllama-1.1b": "--model tinyllama-1.1b --batch 64 --seq 2048 --dtype float32 --bf16 true",
    "smollm2-360m, half a card": "--model smollm2-360m --batch 64 --seq 2048 --fraction 0.5",
    "gemma-2b": "--model gemma-2b --batch 16 --seq 2048",
    "gpt2-medium": "--model gpt2-medium --batch 128 --seq 1024",
    "gpt2-xl": "--model gpt2-xl --batch 64 --seq 1024 --dtype float32 --bf16 true --optim adamw_torch_fused",
    "bert-large": "--model bert-large --batch 512 --seq 512",
    "pythia-410m": "--model pythia-410m --batch 64 --seq 2048",
    "opt-1.3b": "--model opt-1.3b --batch 64 --seq 2048",
}


def train(folder: Path, options: dict[str, str]) -> str:
    """Run the training once; return its log."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    folder.mkdir(parents=True)
    with (folder / "train.log").open("wb") as log:
        done = subprocess.run([sys.executable, str(TRAIN), *words], stdout=log, stderr=subprocess.STDOUT, check=False)
    (folder / "exit_code").write_text(f"{done.returncode}\n")
    return (folder / "train.log").read_text(errors="replace")


def changed(options: dict[str, str], order: str) -> dict[str, str]:
    """Return the options as the order of a fix wants them."""
    new = dict(options)
    if batch := re.search(r"[Ss]et batch to (\d+), with (\d+) times", order):
        new["batch"], new["gradient_accumulation_steps"] = batch[1], batch[2]
    if "attn_implementation=sdpa" in order:
        new["attn_implementation"] = "sdpa"
    if "gradient checkpointing" in order:
        new["gradient_checkpointing"] = "true"
    return new


def advised(folder: Path) -> dict[str, Any]:
    """Return the finding of the report that says what fits."""
    command = [sys.executable, "-m", "forensics", "analyze", str(folder), "--format", "json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    found: dict[str, Any] = next(f for f in report["findings"] if "predicted_bytes" in f["facts"])
    return found


def compare(name: str, folder: Path) -> dict[str, Any]:
    """Let a run go out of memory, apply the first fix, and hold its peak against the one foretold."""
    words = RUNS[name].split()
    options = {words[i].removeprefix("--"): words[i + 1] for i in range(0, len(words), 2)}
    assert "OutOfMemoryError" in train(folder / "before", options)
    found = advised(folder / "before")
    order = next(fix["title"] for fix in found["fixes"] if fix["id"] == "what-fits")
    log = train(folder / "after", changed(options, order))
    peak = re.search(r"peak_allocated_bytes=(\d+)", log)
    tensor = found["facts"].get("tensor", "")
    return {
        "name": name, "options": RUNS[name], "tensor": tensor, "order": order.partition(": ")[2].partition(" (")[0],
        "foretold": found["facts"]["predicted_bytes"], "peak": int(peak[1]) if peak else 0,
    }  # fmt: skip


if __name__ == "__main__":
    for name in sys.argv[2:] or RUNS:
        try:
            print(json.dumps(compare(name, Path(sys.argv[1]) / re.sub(r"\W+", "-", name))), flush=True)  # noqa: T201 - the table is what it is for
        except (AssertionError, StopIteration) as failure:
            print(json.dumps({"name": name, "failed": repr(failure)[:300]}), flush=True)  # noqa: T201
