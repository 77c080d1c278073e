"""The command: `python samples/training_core/train.py --help`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    # Run as a script: the package is the folder this file is in.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from training_core.config import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; return the exit status: 0 if every drafter reached the last step."""
    config = parse(arguments)
    if config.allocator:
        # Read when torch is loaded, so set before; torch 2.9 renamed it and reads both.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = config.allocator
    from training_core.run import run

    return run(config)


if __name__ == "__main__":
    raise SystemExit(main())
