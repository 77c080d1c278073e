"""Bytes of an element, by the names that code, configurations and printed tensors have for its dtype."""

from __future__ import annotations

from collections.abc import Mapping

ITEMSIZES: Mapping[str, int] = {
    "float64": 8, "double": 8, "fp64": 8, "int64": 8, "long": 8,
    "float32": 4, "float": 4, "fp32": 4, "tf32": 4, "int32": 4, "int": 4,
    "bfloat16": 2, "bf16": 2, "float16": 2, "half": 2, "fp16": 2,
    "float8": 1, "fp8": 1, "bool": 1, "uint8": 1, "int8": 1,
}  # fmt: skip
