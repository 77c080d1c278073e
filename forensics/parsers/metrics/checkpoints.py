"""Words that say a checkpoint is being written, was written, or was read.

    Saving model checkpoint to out/checkpoint-500          started (transformers)
     successfully saved checkpoint at iteration   41500 to /lustre/ckpt/7b
    => loading checkpoint /data/in/ckpt/step_01250.pt (step 1250)

Whoever announces a save and dies leaves a torn file: the two kinds are kept apart.
Source: transformers, accelerate, DeepSpeed, Megatron-LM, Lightning, torchtitan,
torchtune, fairseq, mmengine, Keras, TensorFlow, OpenNMT, Caffe, Paddle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.model import Value
from forensics.parsers.metrics.endings import Fact
from forensics.text.lazy import has_any, lazy

TRIGGERS = (
    "heckpoint", "CHECKPOINT", "ckpt", "eights saved", "aving model", "aving the ", "aved model", "save model ",
    "save best model ", "aved final model", "uccessfully saved", "was saved at", "Wrote ",
    "aving current state", "tate saved", "aved state", "napshot", "odel saved", "esuming", "esumed", "estored",
    "estoring", "ontinuing training", "[Torch] Sav", "oading states", "oading model from",
)  # fmt: skip

_OBJECT = r"(?:checkpoints?|ckpt|model|weights|states?|snapshot)"
_PATH = lazy(
    r"(?P<quote>['\"`])(?P<quoted>[^'\"`]{1,400}?)(?P=quote)"
    r"|(?<![\w.~/=-])(?P<bare>(?:[\w.~-]{0,255}/[\w./=+@~%,-]{1,400}|[\w=+@-]{1,200}\.(?:pth?|ckpt|safetensors|bin|h5|keras|tar|npz))\b/?)"
)
_PLAIN_PATH = lazy(r"\b(?:to|into|in|from) ([\w.=-]{0,100}[-_][\w.=-]{1,100})\s*$")
_ASIDE = lazy(r"\([^()]{0,200}\)")
_NO_SAVE = lazy(
    r"\b(?:will|would|won't|not|never|fail\w*|error|unable|could|cannot|every|if|disabled?|delet\w+|remov\w+|last saved"
    r"|previously|found|load\w*|resum\w*|restor\w*|without|instead|skip\w*|no|warning|can|must|should|\w+Error|\w+Warning)\b",
    re.IGNORECASE,
)
_SAVED = lazy(
    rf"\b(?:saved|wrote|written)\b.{{0,80}}?\b{_OBJECT}\b|\b{_OBJECT}\b.{{0,80}}?\b(?:saved|written)\b"
    r"|\bis ready now\b|\bfinished saving\b|\bsave (?:best )?model (?:in|is saved to)\b|^\[Torch\] Saved\b",
    re.IGNORECASE,
)
_STARTED = lazy(
    rf"\b(?:saving|writing|dumping)\b.{{0,60}}?\b{_OBJECT}\b|\b{_OBJECT}\b.{{0,60}}?\b(?:is about to be saved|saving)\b"
    r"|\bpreparing to save\b|\bsnapshotting to\b|^\[Torch\] Saving\b",
    re.IGNORECASE,
)
_RESUMED = lazy(
    r"\bresum(?:ed|ing)\b(?! (?:is|will|not))|\brestor(?:ed|ing)\b.{0,40}"
    r"(?:state|checkpoint|parameter|from|epoch|batch)"
    r"|\bcontinuing training from\b",
    re.IGNORECASE,
)
_LOADED = lazy(
    r"\bload(?:ed|ing)\b (?:\w{1,20} ){0,3}?(?:checkpoint|states|ckpt)\b|\bloading model from\b"
    r"|successfully loaded checkpoint",
    re.IGNORECASE,
)
_NO_RESUME = lazy(
    r"\bshards\b|pre-?trained|\bno checkpoint|not found|\bnot (?:resum|load|restor)|will not|\bfail|unable"
    r"|cannot|can't|\berror|^\s*(?:if|def|raise) |\w\(.{0,200}\)\s*$|%\||\bsigtstp|\bworker",
    re.IGNORECASE,
)
_SPOKEN = (
    "saved", "wrote", "written", "saving", "writing", "dumping", "is ready now", "save model", "save best model",
    "preparing to save", "snapshotting to", "[torch] sav", "resum", "restor", "continuing training", "load",
)  # fmt: skip
"""What one of the patterns above needs: most lines have none of it, and taking paths out of them takes time."""
_CODE = lazy(r"\b(?:print|info|log|warning|save\w*|load\w*)\(|^\s*(?:if|def|raise|assert|#) ")
_STEP = lazy(
    r"\b(?:global[_ ]?step|iteration|step|iter|batch|@|checkpoints for)[\s:=#]{0,16}(\d[\d,]{0,14})\b(?!\.\d)"
    r"|(?<![\w.])(\d[\d,]{0,14}) (?:updates|steps|iterations)\b",
    re.IGNORECASE,
)
_STEP_OF_PATH = lazy(
    r"(?:checkpoint|ckpt|global_?step|steps?|iter(?:ation)?|(?<!hf_)model|batch|ba)[-_=:]?0*(\d{1,15})(?![\d.]*\d)",
    re.IGNORECASE,
)
_EPOCH = lazy(r"\bepoch[s:=_ ]{0,3}(\d{1,9})\b|\b(\d{1,9}) epochs\b", re.IGNORECASE)
_BATCHES = lazy(r"\((\d{1,15}) total\)|\b(\d{1,15}) total batches\b")
_LISTED = lazy(r"-[rwx-]{9}[.+@]? .{0,120}? (?P<name>[^\s/]{0,200}(?:ckpt|checkpoint|step)[-_=]?\d[^\s]{0,200})\s*$")


def checkpoints(text: str) -> Iterator[Fact]:
    """Yield `checkpoint-started`, `checkpoint-saved` or `resumed`, with fields step, epoch and path.

    A listing of files (`ls -l`) shows a checkpoint too: it is `checkpoint-saved` with `listed`.
    A `resumed` that names no step and only says that a file was loaded is `weak`.
    """
    if listed := _LISTED.match(text):
        yield "checkpoint-saved", {"listed": True, **_named(listed["name"], listed["name"])}
        return
    if not has_any(text, _SPOKEN) or "%|" in text or _CODE.search(text):
        return  # also source shown in a traceback, and a bar
    spoken = _ASIDE.sub(" ", _PATH.sub(" ", text))
    saved = _SAVED.search(spoken) and "about to be" not in spoken
    if (saved or _STARTED.search(spoken)) and not _NO_SAVE.search(spoken):
        yield "checkpoint-saved" if saved else "checkpoint-started", _named(text, _path(text))
        return
    resumed = _RESUMED.search(spoken)
    if not (resumed or _LOADED.search(spoken)) or _NO_RESUME.search(spoken):
        return
    fields = _named(text, _path(text))
    yield "resumed", fields if resumed or "step" in fields or "epoch" in fields else {**fields, "weak": True}


def _path(text: str) -> str:
    for found in _PATH.finditer(text.lstrip().partition("\t")[0]):
        path = found["quoted"] or found["bare"] or ""
        if "/" in path or "." in path:
            return path.rstrip(".,;:")
    plain = _PLAIN_PATH.search(text)
    return plain[1] if plain else ""


def _named(text: str, path: str) -> dict[str, Value]:
    """Read which step, epoch and file a line speaks about."""
    fields: dict[str, Value] = {}
    spoken = text.replace(path, " ") if path and path != text else text
    step = _STEP.search(spoken)
    if step:
        fields["step"] = int((step[1] or step[2]).replace(",", ""))
    elif path and (named := _STEP_OF_PATH.findall(path)):
        fields["step"] = int(named[-1])
    if epoch := _EPOCH.search(spoken):
        fields["epoch"] = int(epoch[1] or epoch[2])
    if batches := _BATCHES.search(text):
        fields["batches"] = int(batches[1] or batches[2])
    if path:
        fields["path"] = path
    return fields
