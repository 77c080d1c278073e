"""Models that a run only names, and their published shapes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from forensics.text.lazy import lazy

_TABLE = Path(__file__).with_name("models.toml")
_VARIANT = lazy(r"(?:-(?:instruct|chat|it|base|hf|bnb-4bit|4bit|awq|gptq|bf16|fp8|8k|32k))+$")
_LONGEST = 300


class Known(Struct, frozen=True):
    """A model's name, its family if its layers are known, its sizes by role, and whether its ends share a matrix."""

    name: str
    family: str
    shape: Mapping[str, int]
    tied: bool = False


def known(text: str) -> Known | None:
    """Return the model that a name or a path ends in: `meta-llama/Llama-3.2-1B`, `/models/qwen2.5-7b-instruct`.

    A fine-tuned variant has the shapes of its base; any other word in the name makes it another model.
    """
    name = text[-_LONGEST:].strip("/ '\"").rsplit("/", 1)[-1].lower().replace("_", "-")
    models = _models()
    return models.get(name) or models.get(_VARIANT.sub("", name))


@cache
def _models() -> dict[str, Known]:
    """Read the table once; it is wanted only where a run ran out of memory."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["model"]
    return {
        name: Known(name, entry.get("family", ""), entry["shape"], entry.get("tied", False))
        for entry in table
        for name in entry["names"]
    }
