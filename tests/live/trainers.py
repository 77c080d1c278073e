"""Small programs that say in a pane what training programs say."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_STEPS = '''\
"""Print the steps of a run, then end as told."""
import sys
import time
import traceback

GREY, PLAIN = ("\\x1b[90m", "\\x1b[0m") if "colour" in sys.argv else ("", "")
STEPS = 30


def load_shard(number):
    raise ValueError(
        f"bad shard /workspace/data/tokenized/shard-{number:05d}.bin: the index expects 4096 samples, the file holds 1024"
    )


def main(end):
    print("Dataset: 1,095,082 samples, 59,815 batches per epoch", flush=True)
    last = STEPS if end == "complete" else 21
    for step in range(1, last + 1):
        print(
            f"{GREY}step {step:>4}/{STEPS}{PLAIN} | loss {2.1 - step / 100:.4f} | lr {step * 2e-5:.2e} | grad_norm 1.3 | "
            f"tok/s {48211 + step} | q_target 12 | q_drafter 3 | mem 71.2/96.0 GiB | accept_len 2.1",
            flush=True,
        )
    if end == "raise":
        load_shard(17)
    if end == "hang":
        try:
            load_shard(17)
        except ValueError:
            traceback.print_exc()
    if end in ("stay", "hang"):
        time.sleep(600)
    if end == "complete":
        print("Training complete", flush=True)
    sys.exit(3 if end == "exit" else 0)


main(sys.argv[1])
'''


def trainer(folder: Path, end: str, *more: str) -> str:
    """Write the program into a folder; return the command that runs it.

    Args:
        folder: where `train.py` goes.
        end: `complete`, `raise`, `exit` with status 3 and no word, `stay` until a signal comes, or `hang`:
            print a traceback, then stay.
        more: `colour` marks the steps with escape sequences.
    """
    (folder / "train.py").write_text(_STEPS)
    return shlex.join([sys.executable, str(folder / "train.py"), end, *more])
