"""Words that say a training program came to its end, or began anew.

A `weak` ending proves little alone: a bare `done` may close any part of a program, and
wandb prints its summary after a crash too. Source: transformers, Lightning, torchrun,
Megatron-LM, fairseq, torchtitan, axolotl, ultralytics, detectron2, DeiT, Caffe, CatBoost,
uvicorn (vLLM, SGLang), wandb, timm, Determined, Ray, SageMaker, MaxText.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.model import Value
from forensics.text.lazy import lazy

Fact = tuple[str, dict[str, Value]]
"""What a line says: the event's kind and its fields."""

TRIGGERS = (
    "inished", "omplete", "RAINING COMPLETE", "raining done", "raining Done", "raining is ", "raining has ",
    "raining was ", "raining succe", "raining run ", "raining loop ", "is now trained", "one training",
    "nd of training", "tuning is ", "tuning done", "raining process ", "raining time", "Optimization Done",
    "train_runtime", "train metrics", "Trainer.fit` stopped", "exits successfully", "xiting program",
    "wandb: Run summary", "wandb: Synced", "arly stopping", "Signaling Trainer to stop", "eached max",
    "eached the max", "max_steps", "xperiment ", "ll done", "DONE", "Done", "done", "Job succeeded",
    "' succeeded", "raining SUCCESS", "raining job ", "raining procedure ", "raining ended", "Loss for final step",
    "verall training speed", "pochs done", "pochs are done",
    "results aggregated", " TERMINATED", "raining of ", "the tuning loop", "zero exit code", "*** Best metric",
    "Best metric: ", "CV ", "OOF ", "olds ", "ross-validation ", "hrink model to ", "restart_count=",
    "will restart worker group", "Restarting worker group", "ttempt ",
    *(f"== {date}" for date in ("Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun ", "20")), "## 20",
    *(f"{drawn} {word}" for drawn in ("==", "--", "##", "**") for word in ("re", "Re", "RE", "try ", "run ", "Run ")),
    "rying again",
)  # fmt: skip

_CODE = lazy(r"\b(?:print|info|log|warning|debug|error|write|echo)\(|^\s*(?:if|def|raise|assert|#|return) |\becho ")
_CONDITION = lazy(
    r"\b(?:when|until|unless|after|once|if|before|not|never|will|would|were|cannot|can't|wait\w*|expected)\b",
    re.IGNORECASE,
)
_TRAINING = r"(?:(?:pre|fine)?-?\s?(?:training|tuning)|train(?= finished))"
_ENDINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        lazy(
            rf"\b{_TRAINING}(?: run| process| loop| job| procedure)?(?: is| has| was)?(?: now)?(?: successfully)? "
            r"(?:completed?|finished|done|succeeded|ended successfully)\b"
            r"(?! (?:with|in) error)(?!: \d{1,3}%)(?! iteration \d)",
            re.IGNORECASE,
        ),
        "training",
    ),
    (
        lazy(r"\b(?:finished|completed|done)(?: with)? (?:model )?(?:training|fine-?tuning)\b", re.IGNORECASE),
        "training",
    ),
    (lazy(r"^\W{0,4}(?:This is the end|End) of training(?: \||\W{0,4}$)"), "training"),
    (
        lazy(r"^\W{0,4}All (?:\d{1,6} )?epochs (?:are |were )?(?:done|finished|completed?)\W{0,4}$", re.IGNORECASE),
        "training",
    ),
    (lazy(r"^(?:INFO:tensorflow:)?Loss for final step: [\d.]"), "tensorflow"),
    (lazy(r"\bOverall training speed: \d{1,9} iterations in \d"), "clock"),
    (lazy(r"['\"]train_runtime['\"]: ?|\*{3,} train metrics \*{3,}|^\s{0,4}train_runtime\s+="), "trainer"),
    (lazy(r"`Trainer\.fit` stopped: `max_\w+=[^`]{1,40}` reached"), "trainer"),
    (lazy(r"worker group successfully finished"), "torchrun"),
    (lazy(r"\[after training is done\]"), "megatron"),
    (lazy(r"^\W{0,4}(?:Total t|T)raining time:? (?:\d+ days?, )?\d+:\d\d:\d\d"), "clock"),
    (lazy(r"\b\d{1,9} epochs completed in [\d.]"), "training"),
    (lazy(r"\b[Tt]he (?:network|model) is now trained\b"), "training"),
    (lazy(r"\bOptimization (?:Done|[Ff]inished)\b"), "caffe"),
    (
        lazy(
            r"\bmax(?:imum)?[_ ](?:train_)?(?:steps|epochs|iterations)(?:=\d+)? reached\b"
            r"|\breached (?:the )?max(?:imum)?[_ ](?:number of |train_)?(?:steps|epochs|iterations)\b",
            re.IGNORECASE,
        ),
        "limit",
    ),
    (lazy(r"\bTraining of [\w./-]{1,60}(?: model)? complete\b"), "simpletransformers"),
    (lazy(r"\bProcess \d{1,10} exits successfully"), "deepspeed"),
    (lazy(r"^Job '[\w-]{1,80}' succeeded\s*$"), "ray"),
    (lazy(r"\[Ray(?:XGBoost|LightGBM)\] Finished \w{1,12} training\b"), "ray"),
    (lazy(r"^(?:section_end:\S{1,80}\s?)?Job succeeded\s*$"), "gitlab"),
    (lazy(r"^(?:INFO [\d-]{8,10} [\d:,]{8,12} launch\.py:\d+\] )?Local processes completed\.?\s*$"), "paddle"),
    (lazy(r"\bLAUNCH INFO \S{1,12} \S{1,14} Pod completed\b|^Pod completed$"), "paddle"),
    (lazy(r"\bexited successfully with a zero exit code\b"), "determined"),
    (
        lazy(
            r"\b(?:run|training|job) complete: (?P<all>\d{1,12})/(?P=all) (?:steps|iterations|epochs)\b", re.IGNORECASE
        ),
        "training",
    ),
    (lazy(r"\bReporting training SUCCESS\s*$"), "sagemaker"),
    (lazy(r"\bTrain loop finished at step \d"), "maxtext"),
    (lazy(r"\bProcess finished with exit code 0\b"), "process"),
)
_WEAK: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy(r"\[?exiting program (?:at iteration|after)", re.IGNORECASE), "exit-interval"),
    (lazy(r"^wandb: (?:Run summary|Synced )"), "wandb"),
    (
        lazy(r"(?:^|: )early stopping(?:\W{0,4}$| (?:triggered|at|after|activated)\b)", re.IGNORECASE),
        "early-stopping",
    ),
    (lazy(r"Signaling Trainer to stop"), "early-stopping"),
    (lazy(r"\*{3} Best metric: [\d.]{1,12} \(epoch \d{1,6}\)"), "timm"),
    (lazy(r"\b(?:Early stopping, best|Did not meet early stopping\. Best) iteration is\b"), "early-stopping"),
    (lazy(r"\bTotal run time: [\d.]{1,16} seconds \([\d.]{1,16} seconds for the tuning loop\)"), "ray-tune"),
    (lazy(r"^(?:Trial status: |Number of trials: \d{1,6}/\d{1,6} \()\d{1,6} TERMINATED\)?\s*$"), "ray-tune"),
    (lazy(r"\bSaving results aggregated\b"), "evaluation"),  # lm-evaluation-harness, before its table
    (lazy(r"\bApplication shutdown complete\b|\bFinished server process \[\d{1,10}\]"), "server"),
    (
        lazy(
            r"(?:^|: |- )\W{0,8}(?:(?:overall|mean|average|avg|final|total) )?(?:CV|OOF|cross-validation) "
            r"(?:\w{1,16} )?(?:score|auc|acc(?:uracy)?|loss|rmse|mae|f1|logloss|mean)\w{0,8}\s?[:=]\s?[\d-]",
            re.IGNORECASE,
        ),
        "folds",
    ),
    (
        lazy(r"\b(?:all|\d{1,3}) (?:\d{1,3} )?folds (?:are |were )?(?:finished|done|completed?)\b", re.IGNORECASE),
        "folds",
    ),
    (lazy(r"^\W{0,4}Shrink model to first \d{1,9} iterations"), "catboost"),
    (
        lazy(
            r"\W{0,4}(?:all done|(?:(?:run|job|experiment|main|script|program) (?:is )?)?(?:done|finished|completed?))"
            r"(?: in [\d.:]{1,12} ?\w{0,10})?\W{0,8}(?:rank \d{1,6})?\W{0,4}$",
            re.IGNORECASE,
        ),
        "done",
    ),
    (
        lazy(
            r"\W{0,4}(?:\w{1,20} ){0,3}"
            r"(?:successfully (?:completed|finished)|(?:completed|finished) successfully)\W{0,8}$",
            re.IGNORECASE,
        ),
        "done",
    ),
)
_STEPS = lazy(r"\b(\d[\d,]{0,14}) (?:steps|iterations|updates)\b")
_RESTART = lazy(r"(?:(\d{1,6})/\d{1,6} attempts left; )?(?:will restart|Restarting) worker group")
_COUNT = lazy(r"\brestart_count=(\d{1,9})")
_BANNER = lazy(
    r"\s{0,8}[=#*~-]{2,80}\s{0,4}(?:[A-Z][a-z]{2} [\w :]{8,28}\s{1,3}|[\d:/T.+ -]{8,30}\s{0,3})?"
    r"(?:re-?(?:submit|start|launch|run|try|queue)\w{0,6}|(?:attempt|try|run)\s{0,2}#?\d{1,4})\b"
    r"|\W{0,6}[\w ,-]{0,60}\btrying again\W{0,4}$"
    r"|[=#]{3,80} [\d:/T.+ -]{8,30}.{0,80}?\b(?:re-?(?:start|launch|run|try|submit)\w{0,6}|again)\b"
    r"|={3,80} [A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?\d{4}\b.{0,300}"
    r"(?:\b(?:python[\d.]*|torchrun|accelerate|deepspeed|srun) |\.(?:sh|py)\b)",
    re.IGNORECASE,
)
"""What scripts and people write into a log between two tries."""
_ATTEMPT = lazy(r"[\s=#*-]{0,20}(?:starting |running |begin )?(?:run )?attempt\s{0,2}#?(\d{1,6})\b", re.IGNORECASE)


def endings(text: str) -> Iterator[Fact]:
    """Yield `complete`, with fields marker, weak, and steps where the line counts them."""
    for patterns, weak in ((_ENDINGS, False), (_WEAK, True)):
        for pattern, marker in patterns:
            found = pattern.search(text) if marker != "done" else pattern.match(text)
            if found is None or _CONDITION.search(_sentence(text[: found.start()])) or _CODE.search(text):
                continue
            fields: dict[str, Value] = {"marker": marker, "weak": weak}
            if counted := _STEPS.search(text, found.start()):
                fields["steps"] = int(counted[1].replace(",", ""))
            yield "complete", fields
            return


def _sentence(before: str) -> str:
    """Return the sentence that was begun: Lightning stops after `... did not improve. Best score: 0.1.`."""
    return before.rpartition(". ")[2][-80:]


def attempts(text: str) -> Iterator[Fact]:
    """Yield `attempt` where the workers start, or start again: field attempt counts from 0.

    Field banner tells that a line stands between two tries, and says nothing else.
    """
    if "Rendezvous complete for workers" in text:
        yield "attempt", {"marker": "rendezvous"}
    elif found := _COUNT.search(text):
        yield "attempt", {"marker": "restart_count", "attempt": int(found[1])}
    elif found := _RESTART.search(text):
        left: dict[str, Value] = {"left": int(found[1])} if found[1] else {}
        yield "attempt", {"marker": "restart", **left}
    elif found := _ATTEMPT.match(text):
        yield "attempt", {"marker": "attempt", "attempt": int(found[1]), "banner": _BANNER.match(text) is not None}
    elif _BANNER.match(text):
        yield "attempt", {"marker": "again", "banner": True}
