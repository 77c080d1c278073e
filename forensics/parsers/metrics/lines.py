"""Progress printed as a line: a counter, and numbers that only a running model has.

    step 12/30 | loss 9.18 | lr 6.00e-04 | grad_norm 0.672 | 4.7k tok/s | mem 0.45 GiB
    [2024-04-18 09:19:21] iteration      100/  150000 | consumed samples: ... | lm loss: 1.05E+01 | ...
    Epoch: [0][10/391]	Time  0.113 ( 0.233)	Data  0.001 ( 0.041)	Loss 6.9072e+00 (6.9391e+00)

A counter alone is no progress (`step 0 backward done`, `Epoch 1/5`), numbers alone are
none either (a configuration), and neither is a sentence about a step (`resuming from
step 500`). Source: the formats of Megatron-LM, DeepSpeed, torchtitan, nanoGPT, torchtune,
NeMo, fairseq, torchvision, DeiT, mmengine, OpenNMT, Caffe, Paddle and their kin.
"""

from __future__ import annotations

import math
import re

from forensics.parsers.metrics.meaning import STEPS_RANK
from forensics.parsers.metrics.pairs import Pair, Sum, pairs
from forensics.parsers.metrics.values import Values, number, whole
from forensics.text.lazy import lazy

_UNNAMED = (
    # Epoch [1][10/58633] | Epoch: [0]  [10/391] | Train Epoch: 1 [640/60000 (1%)] | epoch 3 | 200/2983 batches
    lazy(
        r"(?<![A-Za-z])(?:ep(?:och)?(?:\((?:train|val|test)\))?|train|test|valid(?:ation)?|eval)[\s:=\[(#]{0,8}(?P<epoch>\d++)(?:\s?/\s?\d++)?+"
        r"[\])\s:,|(\[]{1,16}(?P<n>\d++)\s{0,4}/\s{0,8}(?P<total>\d++)(?![\d/.])",
        re.IGNORECASE | re.ASCII,
    ),
    # 500/10000 loss=2.31
    lazy(r"^\s{0,4}(?P<n>\d++)/(?P<total>\d++)[\s:|,-]{1,4}(?=\w{0,20}loss)(?P<epoch>)", re.IGNORECASE | re.ASCII),
    # [3/25][100/1583] Loss_D: 0.51
    lazy(r"^\W{0,4}\[\s{0,4}(?P<epoch>\d++)/\d++\]\s?\[\s{0,6}(?P<n>\d++)/(?P<total>\d++)\]", re.ASCII),
    # [01/40] it   50/710  mae 27.895  lr 2.93e-04  0.311s/it
    lazy(
        r"^\W{0,4}\[\s{0,4}(?P<epoch>\d++)/\d++\]\s{1,4}(?:it(?:er)?|step|batch)\s{1,8}(?P<n>\d++)/(?P<total>\d++)"
        r"(?![\d/.])",
        re.ASCII,
    ),
    # [1,  2000] loss: 2.17
    lazy(r"^\s{0,4}\[(?P<epoch>\d++), {1,8}(?P<n>\d++)(?P<total>)\] {1,4}(?=loss)", re.ASCII),
    # Test: [  0/196]  Time ...
    lazy(r"^\W{0,4}(?:[A-Za-z]{1,12}:\s{0,2})?\[\s{0,6}(?P<n>\d++)/(?P<total>\d++)\](?P<epoch>)", re.ASCII),
    # [100] loss=2.31, steps_per_sec=3.1
    lazy(r"^\s{0,4}\[(?P<n>\d++)\] {1,2}(?P<epoch>)(?P<total>)(?=[A-Za-z][\w/]{0,40}=[\d-])", re.ASCII),
    # 1epoch:train:1-100batch: iter_time=0.02, loss=...
    lazy(r"(?<!\d)(?P<epoch>\d++)epoch:(?:train|valid):\d++-(?P<n>\d++)batch(?P<total>)", re.ASCII),
)
_EVALUATION = lazy(
    r"\b(?:valid(?:ation)?|val|eval(?:uation|uating)?|test(?:ing)?|dev|cv|predict(?:ing|ion)?|sanity|inference)\b"
    r"(?![./\\]\w)",
    re.IGNORECASE,
)
_TRAINING = lazy(r"\btrain(?:ing)?\b", re.IGNORECASE)
_ABOUT = lazy(
    r"\b(?:best|early.stopp\w*|stopp\w*|resum\w*|restor\w*|load(?:ed|ing)?|sav(?:e|ed|ing)|checkpoint\w*|ckpt"
    r"|will|would|should|expect\w*|config\w*|cfg|args?|arguments?|defaults?|usage|namespace|hparams?|every"
    r"|import|return|print|raise|assert|def|lambda)\b|\$ |>>> |python3? ",
    re.IGNORECASE,
)
_VALIDATION = lazy(r"\s{0,8}(?:valid(?:ation)?|eval(?:uation)?)\b", re.IGNORECASE)
_HEAD_CAP = 200
_DENSE = 0.5


def read(text: str) -> Values | None:
    """Read a line as a progress record, or return None where it is none."""
    found = pairs(text)
    if not found:
        return None
    summed = Sum(found)
    head = _place(text, found, summed)
    if head is None or speaks_about(head):
        return None
    summed.add_token_rate(text)
    if not _is_progress(text, found, summed):
        return None
    values = summed.values
    if "step" in values and "Training epoch " in text and summed.counter != "iteration":
        values["total"] = _nemo_total(found)
    _nan_of_megatron(found, values)
    values["keys"] = tuple(summed.keys)
    if _held_out(head, summed):
        values["series"] = "eval"
    return values


def speaks_about(head: str) -> bool:
    """Tell whether what stands before a counter makes it a sentence about a step, not a record of one."""
    return _ABOUT.search(head) is not None


def _place(text: str, found: list[Pair], summed: Sum) -> str | None:
    """Find the counter, fill in one that has no name, and return what stands before it.

    A name such as `step` or `iteration` wins, except that `Epoch: [0][10/391]` counts the
    batch by its place alone.
    """
    if summed.step_rank > 2:
        for pattern in _UNNAMED:
            if place := pattern.search(text):
                summed.values["step"] = whole(place["n"])
                summed.values["total"] = whole(place["total"])
                if place["epoch"]:
                    summed.values["epoch"] = number(place["epoch"])
                summed.keys.insert(0, "place")
                return text[: place.start("n")][-_HEAD_CAP:]
    if summed.counter:
        return text[: text.find(summed.counter)][-_HEAD_CAP:] + " " + summed.counter
    if "epoch" in summed.values:
        first = next(p.key for p in found if p.key)
        return text[: text.find(first)][-_HEAD_CAP:] + " " + first
    return None


def _is_progress(text: str, found: list[Pair], summed: Sum) -> bool:
    values = summed.values
    if summed.step_rank == STEPS_RANK and "loss" not in values:
        return False  # `steps=200` is a plan
    if "step" not in values:
        return "loss" in values or (summed.score and not summed.config and _dense(text, found))
    if summed.strong or ("step_time_s" in values and not summed.config and _dense(text, found)):
        return summed.step_rank < 3 or not summed.config or "loss" in values
    if summed.keys[:2] == ["step", "skipped"]:
        return True  # DeepSpeed's list of rates and momenta
    if summed.config or not _dense(text, found):
        return False
    return summed.weak or "GLOBAL_STEP" in text or _VALIDATION.match(text) is not None


def _dense(text: str, found: list[Pair]) -> bool:
    """Tell whether a line is made of named numbers, not a sentence that holds one."""
    said = sum(len(p.key) + len(p.value) + len(p.of) + len(p.unit) + 3 for p in found)
    return said >= _DENSE * len(text.strip())


def _nemo_total(found: list[Pair]) -> int | None:
    """NeMo prints the last iteration, not their number: `iteration 3/99` is of 100."""
    last = next((whole(p.of) for p in found if p.key == "iteration" and p.of), None)
    return None if last is None else last + 1


def _nan_of_megatron(found: list[Pair], values: Values) -> None:
    """Megatron leaves a NaN loss out of the line and counts it at the end instead."""
    if "loss" in values:
        return
    for pair in found:
        if pair.key == "number of nan iterations" and number(pair.value) > 0:
            values["loss"] = math.nan


def _held_out(head: str, summed: Sum) -> bool:
    if summed.evaluation:
        return True
    return bool(_EVALUATION.search(head)) and not _TRAINING.search(head)
