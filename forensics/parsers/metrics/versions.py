"""Which versions of itself and of libraries a program says it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.parsers.metrics.endings import Fact
from forensics.text.lazy import lazy

TRIGGERS = (
    "torch 2.", "torch 1.", "torch==", "torch: ", "PyTorch", "NCCL version ", "vLLM ", "ransformers version",
    "transformers_version", "CUDA Version", "CUDA version", "cuda 1", "river Version", "river version",
    "ightning version", "eepspeed version", "Python: 3", "Python version", "JAX version", "ensorflow version",
)  # fmt: skip

_VERSION = lazy(
    r"(?<![\w/.-])(?P<name>torch(?:vision|audio)?|pytorch|cuda|cudnn|nccl|vllm|transformers|accelerate|deepspeed|python"
    r"|(?:pytorch[-_ ])?lightning|flash[-_]attn|triton|jax|tensorflow|megatron-core|nemo|trl|peft|xformers"
    r"|driver(?=\D{1,20}\d{3}))"  # many drivers have versions; NVIDIA's have three digits
    r"(?:[-_ ]?(?:api server )?version['\"]?)?(?: ?==? ?|: ?|\s)['\"(]?v?(?P<version>\d{1,4}\.\d{1,4}[\w.+]{0,40})",
    re.IGNORECASE | re.ASCII,
)
_ADVICE = lazy(
    r"requir|need|minimum|>=|<=|support|upgrade|downgrade|deprecat|since|instead|compiled with|match|will be|future"
    r"|older|newer|recommend|install it|please|in PyTorch \d[\d.]+ and",
    re.IGNORECASE,
)
_TWO_PARTS = frozenset({"cuda", "driver", "python"})


def programs(text: str) -> Iterator[Fact]:
    """Yield `program` for each version that a program prints of itself or of a library."""
    told = [*_VERSION.finditer(text)]
    if not told or _ADVICE.search(text):
        return
    for found in told:
        name = found["name"].lower().replace("_", "-")
        name = "torch" if name == "pytorch" else name
        version = found["version"].rstrip(".")
        if version.count(".") >= 2 or name in _TWO_PARTS:
            yield "program", {"name": name, "version": version}
