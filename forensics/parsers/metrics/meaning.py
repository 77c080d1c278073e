"""What the name of a metric means: which field of a step it fills, in which unit.

Every project names its metrics anew (`reduced_train_loss`, `Loss_D`, `gnorm`, `tps`,
`ms/batch`), so names are taken apart into words and judged by those.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from forensics.text.lazy import lazy

Field = Literal[
    "counter", "epoch", "loss", "grad_norm", "lr", "tokens_per_s", "memory_bytes", "step_time_s",
    "steps_per_s", "data_time_s", "score", "config", "other",
]  # fmt: skip


class Meaning(Struct, frozen=True):
    """What a name stands for.

    `rank` orders names of one field (lower is better: `loss` before `loss_mask`),
    `scale` turns the printed value into seconds, `unit` is a size's, where the name tells
    it. `evaluation` says that the number was measured on held-out data.
    """

    field: Field
    name: str
    rank: int = 0
    scale: float = 1.0
    unit: str = ""
    evaluation: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = lazy(r"[a-z]+|[0-9@]+")
_PARENTHESES = lazy(r"\(([^()]*)\)\s*$")
_FILLERS = frozenset({"is", "of", "was", "and", "the", "with", "has", "at"})
_EVALUATION = frozenset(
    {"val", "valid", "validation", "eval", "evaluation", "test", "testing", "dev", "cv", "best", "heldout"}
)
_NOT_A_LOSS = _words(
    "scale scaler scaling weight weights coef coeff coefficient ratio type fn fct func lambda alpha beta "
    "gamma margin factor mult multiplier smoothing threshold name mask masking clip every freq implementation"
)
_LOSSES = frozenset({"loss", "losses", "xent", "nll", "crossentropy", "logloss"})
_MAIN_LOSS = _words(
    "train_loss training_loss total_loss loss_total lm_loss batch_loss reduced_train_loss loss_train_total "
    "train_total_loss train_loss_total train_loss_step loss_step avg_loss mean_loss loss_avg train_batch_loss"
)
_SIDE_LOSSES = frozenset({"entropy", "aux", "kl", "reg", "balance", "z", "router"})
_STANDS_FOR_LOSS = frozenset({"error", "err", "cost", "objective", "learn"})
_SCORES = _words(
    "acc accuracy ppl perplexity reward rewards return error err auc f1 wer cer bleu rouge score kl mse mae rmse "
    "entropy psnr ssim iou map top1 top5 mfu tflops tflop fid acc1 acc5 precision recall r2 throughput speed ips fps "
    "img images imgs samples wps ups cost objective"
)
_CONFIG = _words(
    "epochs batch_size global_batch_size micro_batch_size max_steps num_steps warmup warmup_steps warmup_ratio "
    "seed weight_decay betas optimizer num_workers hidden_size hidden_dim d_model n_heads n_layers num_layers heads "
    "vocab_size vocab seq_len seq_length max_seq_len block_size head_dim dropout momentum num_train_epochs max_epochs "
    "patience imgsz nhead layers save_every log_every eval_every total_iters"
)
STEPS_RANK = 6
"""Rank of the counter `steps`, which names a plan more often than a place."""
_COUNTERS: dict[str, int] = {
    **dict.fromkeys(_words("global_step globalstep num_updates current_steps trainer_global_step"), 0),
    **dict.fromkeys(_words("step iter iters iteration timestep timesteps total_timesteps iteration_index"), 1),
    **dict.fromkeys(_words("update updates optimizer_step opt_step _step"), 2),
    **dict.fromkeys(_words("it batch batch_id batch_idx batch_num minibatch ba"), 3),
    **dict.fromkeys(_words("micro_step"), 4),
    **dict.fromkeys(_words("episode"), 5),
    "steps": STEPS_RANK,
}
_NOT_A_COUNTER = _words(
    "per max maximum min total num number of warmup skipped skipping last best every next resume resumed resuming "
    "from saved save checkpoint ckpt log until remaining each first previous target restored loading loaded profile "
    "decay ramp accumulation grad gradient nan inference sampling start starting stop end time ms s sec samples"
)
_PREPOSITIONS = frozenset({"at", "on", "after"})
_SECOND_WORDS = frozenset({"s", "sec", "second", "seconds"})
_TOKENS = frozenset({"tok", "token", "tokens", "toks"})
_STEPS = frozenset({"step", "steps", "it", "iter", "iters", "batch", "batches", "iteration", "iterations"})
_STEP_TIMES = _words(
    "time step_time iter_time batch_time iteration_time dt sec_per_step seconds step_avg avg_batch_cost batch_t "
    "train_step_timing train_step_timing_in time_per_step time_taken time_batch batch_cost reader_batch_cost"
)
_DATA_TIMES = _words(
    "data data_time data_t data_load_time load_time data_loading_time time_data dataloading reader_cost"
)


@lru_cache(maxsize=4096)
def meaning(key: str) -> Meaning:
    """Judge a metric by its name as printed, such as `elapsed time per iteration (ms)`."""
    lowered = key.lower()
    words = _WORDS.findall(lowered)
    while words and words[-1] in _FILLERS:
        words.pop()
    name = "_".join(words)
    if not words:
        return Meaning("other", lowered.strip())
    known = set(words)
    held_out = bool(known & _EVALUATION) and ("train" not in known or "best" in known)
    return (
        _counter(words, name)
        or _config(name)
        or _loss(known, words, name, evaluation=held_out)
        or _rate_or_size(known, lowered, name)
        or _optimizer(known, words, name)
        or _time(known, lowered, name)
        or Meaning("score" if known & _SCORES else "other", name, evaluation=held_out)
    )


def _counter(words: list[str], name: str) -> Meaning | None:
    if name in _COUNTERS:
        return Meaning("counter", name, _COUNTERS[name])
    if len(words) > 1 and words[-1] in {"train", "val", "test"}:
        words = words[:-1]  # mmengine's `Iter(train)`
    if words[-1] in {"epoch", "ep"} and not set(words[:-1]) & (_NOT_A_COUNTER | {"time"}):
        return Meaning("epoch", name)
    for length in (2, 1):
        tail, before = "_".join(words[-length:]), words[:-length]
        if before and before[-1] in _PREPOSITIONS:
            before = []  # `validation loss at iteration 500`
        elif set(before) & (_NOT_A_COUNTER | _LOSSES | _SCORES):
            continue  # `train_loss_step` is a loss
        if tail in _COUNTERS:
            return Meaning("counter", name, _COUNTERS[tail], evaluation=bool(set(before) & _EVALUATION))
    return None


def _config(name: str) -> Meaning | None:
    return Meaning("config", name) if name in _CONFIG else None


def _loss(known: set[str], words: list[str], name: str, *, evaluation: bool) -> Meaning | None:
    if known & _NOT_A_LOSS:
        return None
    if not (known & _LOSSES or any(word.endswith("loss") for word in words)):
        if name in _STANDS_FOR_LOSS:
            return Meaning("loss", name, 9)
        return None
    if name in {"loss", "losses"}:
        return Meaning("loss", name)
    rank = 1 if name in _MAIN_LOSS else 3 if known & _SIDE_LOSSES else 2
    return Meaning("loss", name, rank, evaluation=evaluation)


def _rate_or_size(known: set[str], lowered: str, name: str) -> Meaning | None:
    if (known & _TOKENS and known & _SECOND_WORDS) or name in {"tps", "wps", "tgs", "words_per_second"}:
        return Meaning("tokens_per_s", name)
    if known & _STEPS and known & _SECOND_WORDS and re.search(r"/s|per_?sec", lowered):
        return Meaning("steps_per_s", name)
    if known & {"mem", "memory", "memallocated", "maxmemallocated", "vram"} or "reserved" in known:
        inside = _PARENTHESES.search(lowered)
        unit = inside[1] if inside and inside[1][:1] in "kmgt" else ""
        if known & {"retries", "ooms", "util", "pct", "percent"}:
            return Meaning("other", name)
        return Meaning("memory_bytes", name, 0 if known & {"max", "peak", "reserved"} else 1, unit=unit)
    return None


def _optimizer(known: set[str], words: list[str], name: str) -> Meaning | None:
    if known & {"gnorm", "gradnorm"} or name == "norm" or (known & {"grad", "gradient"} and known & {"norm"}):
        return Meaning("grad_norm", name)
    if {"l", "norm", "grad"} <= known:
        return Meaning("grad_norm", name)
    if words[-1] == "lr" or words[0] == "lr" or {"learning", "rate"} <= known:
        return Meaning("lr", name)
    return None


def _time(known: set[str], lowered: str, name: str) -> Meaning | None:
    if known & {"eta", "remaining", "elapsed"} and not known & _STEPS:
        return Meaning("other", name)
    scale = 1e-3 if "ms" in known else 1.0
    bare = name.removesuffix("_ms").removesuffix("_s")
    if bare in _DATA_TIMES:
        return Meaning("data_time_s", name, scale=scale)
    if bare in _STEP_TIMES or ({"time", "per"} <= known and known & _STEPS):
        return Meaning("step_time_s", name, scale=scale)
    if re.fullmatch(r"(?:ms|s|sec)/(?:batch|it|iter|step)", lowered.strip()):
        return Meaning("step_time_s", name, scale=scale)
    return None
