"""Run the training core on a GPU under many settings; keep each log, and print a table.

Usage: `python tests/gpu/measure.py FOLDER [NAME...]`. Needs torch and a GPU, nothing else.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
TRAIN = ROOT / "samples" / "training_core" / "train.py"
SMALL = (
    "--heads 8 --head-dim 64 --vocab 8192 --ctx 2048 --anchors 64 --block-size 32 --accumulate 1 --lr 2e-4 --steps 8"
)
LARGE = "--threads 1 --heads 32 --head-dim 64 --vocab 8192 --ctx 37888 --anchors 1024 --block-size 32 --accumulate 1 --lr 2e-4"
MIDDLE = (
    "--threads 1 --heads 8 --head-dim 64 --vocab 8192 --anchors 128 --block-size 32 --accumulate 1 --lr 2e-4 --steps 30"
)
RACES = {
    "raced": "raced",
    "warm-no-grad": "warm-no-grad",
    "warm-other-shapes": "warm-other-shapes",
    "warm": "warm",
    "serialised": "serialised",
}
RUNS = {
    **{name: f"--threads 4 {SMALL} --first-compile {how}" for name, how in RACES.items()},
    "buckets": f"--threads 4 {SMALL} --vocab 1024 --anchors 256 --ctx 1024,2048,4096 --steps 200 --accumulate 2 --lr 1e-3 --every 50",
    "dense-276": f"{LARGE} --steps 5 --attention dense --dense allow",
    "dense-refused": f"{LARGE} --steps 5 --attention dense",
    "compiled-276": f"{LARGE} --steps 12",
    "budget": f"{LARGE} --steps 12 --token-budget 49152",
    "bad-token": f"{SMALL} --threads 1 --fail bad-token --fail-step 4",
    "nan": f"{SMALL} --threads 1 --fail nan --fail-step 4",
    **{
        f"{how}-{ctx}": f"{MIDDLE} --ctx {ctx} --attention {how} --dense allow"
        for ctx in (4096, 12288)
        for how in ("compiled", "dense", "eager")
    },
}
LIMIT_S = 60


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Run once as a person would; return what came of it: rates in tokens/s, sizes in bytes."""
    run = folder / name
    run.mkdir(parents=True, exist_ok=True)
    words = [*RUNS[name].split(), "--json", str(run / "metrics.jsonl")]
    if name == "buckets":
        words += ["--checkpoints", str(folder / "checkpoints")]
    began = time.monotonic()
    (run / "launch.sh").write_text(f"timeout {LIMIT_S} python3 train.py {' '.join(words)}\n")
    with (run / "train.log").open("wb") as log:
        command = ["timeout", "-k", "5", str(LIMIT_S), sys.executable, str(TRAIN), *words]
        with tempfile.TemporaryDirectory() as cache:
            # A warm cache makes compiling so short that the race is rarely lost.
            own = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "TRITON_CACHE_DIR": f"{cache}/triton"}
            status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=own, check=False).returncode
    (run / "exit_code").write_text(f"{status}\n")
    lines = (run / "metrics.jsonl").read_text().splitlines() if (run / "metrics.jsonl").exists() else []
    steps = [json.loads(line) for line in lines]
    warm = [s["tokens_per_s"] for s in steps if s["step"] >= 3]
    text = (run / "train.log").read_text(errors="replace")
    return {
        "name": name,
        "status": status,
        "seconds": round(time.monotonic() - began, 1),
        "crashed": text.count("] crashed"),
        "raced": text.count("RuntimeError: Detected that you are using FX"),
        "steps": len(steps),
        "loss": [round(steps[0]["loss"], 3), round(steps[-1]["loss"], 3)] if steps else [],
        "tokens_per_s": round(statistics.median(warm)) if warm else 0,
        "peak_gib": round(max((s["peak_bytes"] for s in steps), default=0) / 2**30, 2),
        "last": text.rstrip().splitlines()[-1][:160] if text.strip() else "",
    }


def main() -> None:
    """Measure what is named, or everything."""
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or RUNS:
        run, _, where = name.partition("@")
        print(json.dumps(measure(run, folder / where)), flush=True)  # noqa: T201 - the table is what it is for


if __name__ == "__main__":
    main()
