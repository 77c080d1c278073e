"""Progress bars: tqdm, rich, Keras, ultralytics, and the ones that load or check things.

     29%|██▉       | 35/120 [00:02<00:02, 29.04it/s, loss=5.8]
    Epoch 2/2  ━━━━━━━━━━━━━━━━ 64/64 0:00:00 • 0:00:00 371.81it/s train_loss: 0.031
     37/412 [=>............................] - ETA: 12s - loss: 1.9321 - acc: 0.4120

A bar says how far *something* is. What, its description tells: training, an evaluation
(series `eval`), or loading, tokenizing and downloading (series `other`). A bar without
a description is taken for training; who knows the bars around it can tell a nested one.
Records that a terminal had glued together count as the last of them. Source:
tqdm/std.py format_meter (4.x), Lightning 2.x, Keras 2 and 3, ultralytics 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.parsers.metrics.pairs import Pair, Sum, pairs
from forensics.parsers.metrics.values import NUMBER, Values, number, per_second, whole
from forensics.text.lazy import lazy

_TQDM = lazy(
    r"(?<![\d.,])(?P<n>\d[\d.]{0,14}[kMGTP]?)(?:/(?P<total>\?|\d[\d.]{0,14}[kMGTP]?))?(?:[A-Za-z]{1,12})?"
    r" \[\d{1,5}:\d\d(?::\d\d)?(?P<left><[\d:?]{1,12})?"
    rf"(?:, {{0,4}}(?P<rate>\?|{NUMBER}) {{0,2}}(?P<unit>[A-Za-z]{{0,16}}/[A-Za-z]{{1,16}}))?"
    r"(?:, (?P<postfix>[^\]]{0,2000}))?(?P<end>\])?",
    re.ASCII,
)
_TQDM_SIGN = lazy(r"\[\d{1,5}:\d\d(?::\d\d)?[<,]", re.ASCII)
_RICH = lazy(
    r"(?<![━╸╺╾─])[━╸╺╾─]{2,400} {1,80}(?P<n>\d{1,12})/(?P<total>\d{1,12}) (?P<rest>(?![kMGT]?i?B\b)[^━]{0,2000})"
)
_RICH_RATE = lazy(rf"({NUMBER})(it/s|s/it)", re.ASCII)
_KERAS = lazy(
    r"(?<![\d/.])(?P<n>\d{1,12})/(?P<total>\d{1,12}|Unknown) {1,3}"
    r"(?:\[[=>.]{2,200}\]|[━╸╺]{2,200}|(?=- \d)) ?(?=(?P<rest>[^\[━]{0,2000}))"
)
_KERAS_SIGNS = (" - ETA: ", "ms/step", "us/step", "s/step", "s - ", "━ ", "/Unknown ")
_KERAS_METRIC = lazy(rf"- ([A-Za-z_][\w./ ]{{0,60}}): ({NUMBER})", re.ASCII)
_KERAS_TIME = lazy(r"(\d{1,6})(us|ms|s)/(?:step|sample)")
_EPOCH = lazy(r"\bepochs?[ :#\[]{0,3}(\d{1,9})", re.IGNORECASE)
_EPOCHS = lazy(r"\W{0,4}(?:train(?:ing)? )?epochs?\W{0,4}", re.IGNORECASE)
_TORCHTUNE = lazy(r"\s{0,4}(\d{1,9})\|(\d{1,12})\|")
_YOLO = lazy(rf"\s{{0,12}}(\d{{1,6}})/\d{{1,6}}\s{{2,12}}[\d.]{{1,8}}[GM]\s{{2,16}}({NUMBER})", re.ASCII)
_OTHER = lazy(
    r"(?<!data)load|scan|\bmap\b|tokeniz|filter|generating|sanity|fetch|writing|saving|saved|shards|extract|converting"
    r"|packing|grouping|casting|resolving|creating|prepar|preprocess|processing|processed|cach(?:ing|ed)|copying"
    r"|reading|parsing|concat|collat|quantiz|calibrat|merging|captur|compil|requests|checksum|flatten|encoding"
    r"|decoding|indexing|build|unzip|num_proc|materializ|initializ",
    re.IGNORECASE,
)
_EVALUATION = lazy(r"valid|\bval\b|eval|test|infer|predict|scoring|sampling|^\s{0,30}class\s", re.IGNORECASE)
_TRAINING = lazy(
    r"train|epoch|\bsft\b|\b[dpgk][rp]?[po]o\b|step|iter|loss|progress|batch|update|fold|\bep\b|learn|optimi|\bfit",
    re.IGNORECASE,
)
_STEP_UNITS = frozenset({"it", "step", "steps", "batch", "ba", "b", "iter", "iters", "batches", "update", "updates"})
_SUFFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BYTES = lazy(r"[kMGTP]?i?B")
_NAME_CAP = 200
IN_EPOCH = "in_epoch"
"""Key of a record that counts within an epoch, though it names none: Keras prints that on a line of its own."""


def read(text: str) -> Values | None:
    """Read the last bar of a line, or return None where it holds none."""
    if _TQDM_SIGN.search(text) and (found := _last(_TQDM.finditer(text))):
        return _tqdm(text, *found)
    if "━" in text and (found := _last(_RICH.finditer(text))):
        return _rich(text, found[1])
    if any(sign in text for sign in _KERAS_SIGNS) and (found := _last(_KERAS.finditer(text))):
        return _keras(found[1])
    return None


def _last(matches: Iterator[re.Match[str]]) -> tuple[int, re.Match[str]] | None:
    """Return the last match, and where the one before it ended."""
    end, last = 0, None
    for match in matches:
        if match.re is not _TQDM or match["left"] or match["rate"]:
            end, last = (last.end() if last else 0), match
    return (end, last) if last else None


def _tqdm(text: str, start: int, found: re.Match[str]) -> Values:
    before = text[max(start, found.start() - 500) : found.start()]
    percent = before.rfind("%")
    name = (before[:percent].rstrip("0123456789") if percent >= 0 else before)[-_NAME_CAP:]
    summed = Sum([*pairs(name), *pairs(found["postfix"] or "")])
    unit = found["unit"] or ""
    scaled = found["n"][-1] in _SUFFIXES or (found["total"] or "0")[-1] in _SUFFIXES
    series = _series(name, summed, unit, scaled=scaled)
    values = _place(name, summed, _scaled(found["n"]), _scaled(found["total"]))
    counted, _, per = unit.partition("/")
    if found["rate"] and found["rate"] != "?":
        rate = number(found["rate"])
        if counted == "s":
            values["step_time_s"] = rate
        elif per == "s" and counted in _STEP_UNITS:
            values["step_time_s"] = per_second(rate)
    values["keys"] = ("bar", *summed.keys, *(("]",) if found["end"] else ()))
    values["series"] = series
    return values


def _rich(text: str, found: re.Match[str]) -> Values:
    name = text[max(0, found.start() - _NAME_CAP) : found.start()]
    rest = found["rest"]
    summed = Sum([*pairs(name), *pairs(rest)])
    values = _place(name, summed, whole(found["n"]), whole(found["total"]))
    if rate := _RICH_RATE.search(rest):
        seconds = number(rate[1]) if rate[2] == "s/it" else per_second(number(rate[1]))
        values["step_time_s"] = seconds
    values["keys"] = ("bar", *summed.keys)
    values["series"] = _series(name, summed, "", scaled=False)
    return values


def _keras(found: re.Match[str]) -> Values:
    summed = Sum(Pair(key, value, "", "") for key, value in _KERAS_METRIC.findall(found["rest"]))
    values = summed.values
    values["step"] = whole(found["n"])
    values["total"] = whole(found["total"])
    if time := _KERAS_TIME.search(found["rest"]):
        values["step_time_s"] = number(time[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[time[2]]
    values["keys"] = ("bar", IN_EPOCH, *summed.keys)
    values["series"] = "train" if summed.strong else "other"  # a bar of predict() measures nothing
    return values


def _place(name: str, summed: Sum, n: int | None, total: int | None) -> Values:
    """Say which step and epoch a bar stands at, given its description."""
    values = summed.values
    if tune := _TORCHTUNE.match(name):
        values["epoch"], n = number(tune[1]), whole(tune[2])
    elif yolo := _YOLO.match(name):
        values["epoch"], values["loss"] = number(yolo[1]), number(yolo[2])
    elif _EPOCHS.fullmatch(name):
        values["epoch"], values["step"], values["total"] = n, None, None
        return values
    elif epoch := _EPOCH.search(name):
        values["epoch"] = number(epoch[1])
    step = values.get("step")
    if summed.step_rank or step is None or n is None or abs(step - n) <= 1:
        values["step"], values["total"] = n, total  # else a global step in the postfix says more than the bar
    return values


def _series(name: str, summed: Sum, unit: str, *, scaled: bool) -> str:
    if _BYTES.fullmatch(unit.partition("/")[0]) or (scaled and unit.partition("/")[0] not in _STEP_UNITS):
        return "other"
    if _EVALUATION.search(name) and "train" not in name.lower():
        return "eval"
    if _OTHER.search(name):
        return "other"
    if _TRAINING.search(name) or summed.strong or _YOLO.match(name):
        return "train"
    if any(letter.isalpha() for letter in name):
        return "other"
    return "other" if unit.startswith("examples") else "train"


def _scaled(text: str | None) -> int | None:
    if not text or text == "?":
        return None
    if text[-1] in _SUFFIXES:
        return whole(str(round(number(text[:-1]) * _SUFFIXES[text[-1]])))
    return whole(text)
