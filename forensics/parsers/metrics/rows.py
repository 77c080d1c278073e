r"""Progress in rows: one number a line under a heading, and the tables of boosters.

    [batch=16/4800]:                                  Composer
             Train loss/train/total: 10.7538
    |    total_timesteps      | 57344      |          Stable-Baselines3
       --> TIME: 2024-09-03 21:16:10 -- STEP: 7/48 -- GLOBAL_STEP: 2000150         Coqui
         | > loss_mel: 17.40210  (18.03355)
    ========== Step 63/400 ==========                 NeMo RL
      • Loss: 1.4561
    600:	learn: 0.5912	test: 0.6112	total: 1m 31s  CatBoost
    [300]	valid_0's l1: 0.557712                     LightGBM, XGBoost

A row that names no step has step None; the heading before it says which step it is of.
Such a row keeps the name of its metric as its only key, so that a series of one metric
can be told from that of another.
"""

from __future__ import annotations

import re

from forensics.parsers.metrics.meaning import meaning
from forensics.parsers.metrics.pairs import Pair, Sum, pairs
from forensics.parsers.metrics.values import NUMBER, Values, number, size_bytes, whole
from forensics.text.lazy import lazy

_BATCH = lazy(r"\s{0,8}(?:\[epoch=\d{1,9}(?:/\d{1,9})?\])?\[batch=(\d{1,12})(?:/(\d{1,12}))?\]:?\s{0,8}$")
_COMPOSER = lazy(rf"\s{{0,8}}(Train|Eval) ([\w./@-]{{3,120}}): ({NUMBER})\s{{0,8}}$", re.ASCII)
_TABLE = lazy(
    rf"\|?\s{{1,8}}([A-Za-z_][\w/ ]{{0,60}}?)\s{{1,60}}\|\s{{1,20}}({NUMBER})\s{{1,20}}\|\s{{0,8}}$", re.ASCII
)
_COQUI = lazy(rf"\s{{0,12}}\| > ((?:avg_)?\w{{0,40}}loss\w{{0,40}}) {{0,2}}: {{0,2}}({NUMBER})", re.ASCII)
_LOSS_ONLY = lazy(
    rf"[\s>*-]{{0,12}}((?:[A-Za-z]{{1,20}}[_/ ]){{0,3}}loss)"
    rf"(?:\s{{0,3}}[:=]\s{{0,3}}|(?<=_loss) )({NUMBER})(?=[,;\s]|$)",
    re.IGNORECASE | re.ASCII,
)
_BOOSTER = lazy(
    r"\s{0,4}\[(\d{1,9})\]\s{1,8}(?P<rest>(?:train|valid|test|eval|learn|training|validation)[\w']{0,40}"
    r"[\s:-].{0,2000})"
)
_CATBOOST = lazy(r"\s{0,4}(\d{1,9}):\s{1,8}(?P<rest>(?:learn|test): .{0,2000})")
_ENGINE = lazy(rf"Avg generation throughput: ({NUMBER}) tokens/s|gen throughput \(token/s\): ({NUMBER})", re.ASCII)
_LEARNING = lazy(r"\W{0,40}Learning iteration (\d{1,12})/(\d{1,12})\W{0,40}$")
_COQUI_STEP = lazy(
    r"\s{0,8}--> (?:TIME: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d -- )?STEP: \d{1,12}/\d{1,12} -- GLOBAL_STEP: (\d{1,12})\s*$"
)
_RULED = lazy(
    r"\s{0,4}[=*#~─━-]{3,60}\s{0,4}(?:[Tt]raining )?(?:[Ss]tep|STEP|Iter(?:ation)?|ITER(?:ATION)?):? {1,2}"
    r"(\d{1,12}) ?(?:/|of) ?(\d{1,12})[\s=*#~─━-]{0,80}$",
)
_LOSS_AT = lazy(
    rf"\W{{0,4}}(?:\w{{1,12}} )?loss at (?:step|iteration) (\d{{1,12}}) ?[:=] ?({NUMBER})", re.IGNORECASE | re.ASCII
)
_EPOCH_OF = lazy(
    r"\W{0,8}(?:(?:starting|beginning|training|begin) )?epoch\W{1,3}(\d{1,7})\s?(?:/|of)\s?(\d{1,7})\W{0,40}$",
    re.IGNORECASE | re.ASCII,
)
_EPOCH_END = lazy(r"\s{0,4}end of epoch (\d{1,9})\b", re.IGNORECASE)
_DEEPSPEED = lazy(rf"(\d{{1,9}})/\d{{1,12}}, RunningAvgSamplesPerSec=.{{0,200}}?MaxMemAllocated=({NUMBER})GB", re.ASCII)
_MEMORY = lazy(
    rf"\(after \d{{1,12}} iterations\) memory \(MB\) \| allocated: {NUMBER} \| max allocated: {NUMBER} \| "
    rf"reserved: {NUMBER} \| max reserved: ({NUMBER})",
    re.ASCII,
)


def read(text: str) -> Values | None:
    """Read one row, or return None where the line is none."""
    for reader in (_heading, _row, _boosted, _aside):
        if (values := reader(text)) is not None:
            return values
    return None


def _heading(text: str) -> Values | None:
    if at := _LOSS_AT.match(text):
        return {"step": whole(at[1]), "loss": number(at[2]), "keys": ("loss_at_step",)}
    if at := _COQUI_STEP.match(text):
        return {"step": whole(at[1]), "keys": ("GLOBAL_STEP",)}
    found = _BATCH.match(text) or _LEARNING.match(text) or _RULED.match(text)
    if found is None:
        return None
    return {"step": whole(found[1]), "total": whole(found[2]), "keys": ("heading",)}


def _row(text: str) -> Values | None:
    series = "train"
    if found := _COMPOSER.match(text):
        key, value = found[2], found[3]
        series = "eval" if found[1] == "Eval" else "train"
    elif found := (_TABLE.match(text) or _COQUI.match(text)):
        key, value = found[1], found[2]
    elif found := _LOSS_ONLY.match(text):
        rest = pairs(text[found.end() :])
        if not rest and text[found.end() :].strip():
            return None
        key, value = found[1], found[2]
    else:
        return None
    what = meaning(key)
    summed = Sum([Pair(key, value, "", "")])
    if what.field == "counter" and what.name != "total_timesteps":
        return None
    if what.field not in {"loss", "grad_norm", "lr", "tokens_per_s", "memory_bytes", "counter"}:
        return None
    values = summed.values
    values["keys"] = (what.name,)
    values["series"] = "eval" if what.evaluation else series
    return values


def _boosted(text: str) -> Values | None:
    found = _BOOSTER.match(text) or _CATBOOST.match(text)
    if found is None:
        return None
    scores = re.findall(rf"([A-Za-z][\w' @-]{{0,60}}):\s?({NUMBER})", found["rest"])
    if not scores:
        return None
    learned = next((number(v) for k, v in scores if k.startswith(("learn", "train"))), None)
    return {"step": whole(found[1]), "loss": learned, "keys": tuple(k for k, _ in scores)}


def _aside(text: str) -> Values | None:
    """Signs of life that name no step of training: throughput, memory, the begin or end of an epoch."""
    if found := _EPOCH_OF.match(text):
        return {"epoch": number(found[1]), "total": whole(found[2]), "keys": ("epoch_of",), "series": "other"}
    if found := _EPOCH_END.match(text):
        return {"epoch": number(found[1]), "keys": ("end_of_epoch",)}
    if found := _DEEPSPEED.search(text):
        size = size_bytes(found[2], "GB")
        return {"epoch": number(found[1]), "memory_bytes": size, "keys": ("micro_step",), "series": "other"}
    if found := _ENGINE.search(text):
        return {"tokens_per_s": number(found[1] or found[2]), "keys": ("throughput",), "series": "other"}
    if found := _MEMORY.search(text):
        return {"memory_bytes": int(number(found[1]) * 1024**2), "keys": ("max reserved",), "series": "other"}
    return None
