"""Progress printed as a Python dict or a JSON object.

    {'loss': 2.3456, 'grad_norm': 1.234567, 'learning_rate': 4.9e-05, 'epoch': 0.01}
    {'eval_loss': 2.1, 'eval_runtime': 3.2, 'epoch': 1.0}
    {'train_runtime': 3.7, 'train_samples_per_second': 259.5, 'train_loss': 10.42, 'epoch': 0.24}
    {"step": 5, "loss": 3.1, "lr": 0.0003}
    Step 37000: {'batch_loss': 0.26518, 'training_samples_per_second_on_rank_0': 41.16}

transformers 5 quotes the numbers. Hugging Face prints no step number: it follows from
the bar beside it. Source: transformers Trainer (4.46 to 5), TRL, axolotl, ms-swift,
LLaMA-Factory, mmengine's JSON log, fairseq's `--log-format json`.
"""

from __future__ import annotations

import re

from forensics.parsers.metrics.lines import speaks_about
from forensics.parsers.metrics.pairs import Pair, Sum, pairs
from forensics.parsers.metrics.values import NUMBER, Values, whole
from forensics.text.lazy import lazy

_START = lazy(r"\{\s{0,4}['\"]")
_ENTRY = lazy(
    r"(?<=['\"])([A-Za-z_][^'\"{}]{0,120})['\"]\s{0,4}:\s{0,4}(?:tensor\(|np\.float\d\d\()?['\"]?"
    rf"({NUMBER})(?:/(\d{{1,12}}))?(?=['\"\s,}})]|$)",
    re.ASCII,
)
_FINAL = "train_runtime"
_TOTALS = frozenset({"total_steps", "max_steps", "total_iters", "max_iters"})
_CONFIGURATION = lazy(
    r"\b(?:config\w*|args?|arguments?|hparams?|settings?|options?|cfg|namespace|kwargs)\b", re.IGNORECASE
)
_MOST_ENTRIES = 200


def read(text: str) -> Values | None:
    """Read a dict of metrics, or return None where it is none."""
    start = _START.search(text)
    if start is None:
        return None
    head = text[: start.start()]
    if _CONFIGURATION.search(head) or speaks_about(head):
        return None
    entries = [
        Pair(key.split("/")[0] if of else key, value, of, "")
        for key, value, of in _ENTRY.findall(text, start.start())[:_MOST_ENTRIES]
    ]
    if not entries:
        return None
    summed = Sum(entry for entry in entries if entry.key not in _TOTALS)
    values = summed.values
    names = {entry.key for entry in entries}
    if _FINAL in names:
        values["series"] = "final"
    elif summed.evaluation or any(name.startswith(("eval_", "eval/")) for name in names):
        values["series"] = "eval"
    elif not _measured(summed):
        return None
    values["keys"] = (*summed.keys, *(("}",) if "}" in text else ()))
    _count(values, entries, head)
    return values


def _measured(summed: Sum) -> bool:
    """Tell metrics from a configuration: it has no loss, and no rate beside a step."""
    if "loss" in summed.values or "grad_norm" in summed.values:
        return not summed.config or "step" in summed.values or "epoch" in summed.values
    counted = "step" in summed.values or "epoch" in summed.values
    return counted and not summed.config and summed.strong


def _count(values: Values, entries: list[Pair], head: str) -> None:
    """Complete the step: from a pair such as `global_step/max_steps`, a total, or the words before the dict."""
    for entry in entries:
        if entry.key in _TOTALS:
            values["total"] = whole(entry.value)
    if "step" in values:
        return
    before = Sum(pairs(head)).values
    if "step" in before:
        values["step"] = before["step"]
        values["total"] = before.get("total")
    if "epoch" in before:
        values.setdefault("epoch", before["epoch"])
