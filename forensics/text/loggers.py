"""Heads that loggers put before a message: level, logger, file and line, process.

Python's logging in its many formats, DeepSpeed, axolotl, hydra, NeMo, submitit, Hugging Face,
vLLM, TensorFlow and glog. A bare `ERROR: ...` is no head: it is the message.
"""

from __future__ import annotations

import re

from forensics.text.lazy import lazy
from forensics.text.peeled import LEVEL_WORDS, Peeled, Peeler

_GLOG = lazy(r"([IWEFDVC])(?:20\d\d)?\d{3,4} \d\d:\d\d:\d\d")
_GLOG_REST = lazy(r" {0,6}(?:(\d{1,20}) )?([\w./<>+-]{1,200}:\d{1,7})\] ?")
_OLD_GLOG = lazy(r"\[([IWEF]) [\w./+-]{1,200}:\d{1,7}\] ")
_NEMO = lazy(r"\[NeMo ([IWEDC]) (?=\d{4}-)")
_NEMO_REST = lazy(r"[\w./<>-]{1,200}(?::\d{1,7})?\] ?")
_HUGGING_FACE = lazy(rf"\[({LEVEL_WORDS})\|[^][]{{1,200}}\] ")
_BRACKETED = lazy(
    rf"\[ ?({LEVEL_WORDS}|[Dd]ebug|[Ii]nfo|[Ww]arn(?:ing)?|[Ee]rror) {{0,4}}\]:?(?: - | -$|[ \t]|$)?(?!\[\d)"
)
_MODULE = lazy(r"\[[\w/-]{1,80}(?:\.[\w/<>-]{1,80}){1,12}(?::[\w<>.()-]{1,80}){0,3}\](?: (?!-)| - )?")
_BEFORE_LEVEL = lazy(rf"\[[\w.:/-]{{1,120}}\] ?(?=\[(?:{LEVEL_WORDS})\])")
_TAGGED = lazy(r"\[(PID|RANK|Rank|pid|rank)[:= ]{1,2}(\d{1,10})\] ?")
_LEVEL_FIRST = lazy(rf"({LEVEL_WORDS})(?: {{0,8}}- | {{1,8}}\| |: ?|\] ?| {{1,8}}|$)")
_NAME_FIRST = lazy(rf"[\w.-]{{1,80}}+ {{0,20}}[-|] ({LEVEL_WORDS}) {{0,8}}[-|] (?:[\w./]{{1,80}}:\d{{1,7}} - )?")
_LEVEL_AND_TIME = lazy(rf"[\w.-]{{1,40}} ({LEVEL_WORDS}) \((?=20\d\d-)")
_BEHIND_TIME = lazy(r"\) - ?")
_COLONS = lazy(rf"({LEVEL_WORDS}):[\w.]{{1,100}}: ?")
_NAME_COLON = lazy(rf"[A-Za-z_][\w.]{{1,100}}: \[({LEVEL_WORDS})\] ?")
_TENSORFLOW = lazy(r"([IWEF]) (?=(?:[A-Z]:\\)?[\w./\\-]{1,200}:\d{1,7}\] )")
_FILE = lazy(
    r"(?:[\w-]{1,40} ?:(?P<pid>\d{1,10}) )?"  # wandb, vLLM
    r"\[?(?:[A-Z]:\\)?[\w./\\-]{1,200}:(?:[\w<>.]{1,80}\(\):)?\d{1,7}\] "
)
_LOGGER = lazy(r"([A-Za-z_][\w.]{0,100}(?::[\w<>]{1,60})?(?::\d{1,7})?) {0,8}(- |\| |: )")
_MEASURES = lazy(
    r"(?:global_)?steps?|epochs?|iters?|iteration|loss|eval|val|valid|lr|eta|time|acc|accuracy|mem(?:ory)?|batch|"
    r"config|args|torch|cuda|device|dataset|num|params|error|exception|warning|traceback|rank|grad_norm",
    re.IGNORECASE,
)
_RAISED = ("Error", "Exception", "CompilerFailed", "LimitHit", ".Unsupported", ".OutOfResources")
_PLAIN = lazy(
    r"train(?:er|ing)?|main|root|__main__|worker|server|engine|launch(?:er)?|data|loader|model|utils?|log(?:ger)?|"
    r"runner|app|core|cli|checkpoint|absl|lightning"
)


def glog_rest(head: str, text: str, at: int, found: Peeled) -> int | None:
    """Behind glog's time: its level is the letter before it, process and file follow. None where it is not glog."""
    glog = _GLOG.match(head.lstrip("["))
    if glog is None:
        return None
    found.say_level(glog[1])
    found.headed = True
    rest = _GLOG_REST.match(text, at)
    if rest is None:
        return at
    if rest[1] and len(rest[1]) < 11 and found.pid is None:  # Abseil for Python names the thread by its address
        found.pid = int(rest[1])
    return rest.end()


def logger_name(text: str, at: int, found: Peeled) -> int:
    """Skip a logger's name, or its file and line, behind the level; a word of the message stays."""
    match = _FILE.match(text, at)
    if match is not None:
        found.pid = int(match["pid"]) if match["pid"] else found.pid
        return match.end()
    match = _LOGGER.match(text, at)
    if match is None or not (match[1][0].islower() or match[1][0] == "_"):
        return at
    name = match[1].split(":")[0]
    if name.endswith(_RAISED):
        return at  # `torch.OutOfMemoryError: `: what was raised, where each line of a traceback carries a level
    first = name.split(".")[0]
    known = _PLAIN.fullmatch(first) or "." in name.strip(".")
    return match.end() if known or (match[2] != ": " and not _MEASURES.fullmatch(first)) else at


def _old_glog(text: str, at: int, found: Peeled) -> int:
    """`[E ProcessGroupNCCL.cpp:828] `, as PyTorch printed up to 2.1."""
    match = _OLD_GLOG.match(text, at)
    if match is None:
        return at
    found.say_level(match[1])
    found.headed = True
    return match.end()


def _nemo(text: str, at: int, found: Peeled) -> int:
    """`[NeMo W 2031-02-03 04:05:06 module:12] `: its time is inside the bracket and comes off next."""
    match = _NEMO.match(text, at)
    if match is None:
        return at
    found.say_level(match[1])
    return match.end()


def nemo_rest(text: str, at: int) -> int:
    """Behind the time in NeMo's head: `module:12] `."""
    match = _NEMO_REST.match(text, at)
    return match.end() if match else at


def submitit_rest(text: str, at: int) -> int:
    """Behind the time in submitit's head, `submitit INFO (2031-02-03 04:05:06,789) - `."""
    match = _BEHIND_TIME.match(text, at)
    return match.end() if match else at


def _level(text: str, at: int, found: Peeled) -> int:
    """`[INFO] `, `[WARNING]`, `[INFO|trainer.py:12] `."""
    match = _BRACKETED.match(text, at) or _HUGGING_FACE.match(text, at)
    if match is None:
        return at
    found.say_level(match[1])
    return match.end()


def _tagged(text: str, at: int, found: Peeled) -> int:
    """`[PID:12] `, `[RANK:0] `."""
    match = _TAGGED.match(text, at)
    if match is None or found.headed:
        return at
    if match[1].lower() == "pid":
        found.pid = int(match[2])
    else:
        found.say_rank(match[2])
    return match.end()


def _module(text: str, at: int, found: Peeled) -> int:
    """`[logging.py:96:log_dist] `, `[main.Trainer]` behind a time or a level."""
    if not (found.stamped or found.level) or found.headed:
        return at
    match = _BEFORE_LEVEL.match(text, at) or _MODULE.match(text, at)
    return match.end() if match else at


def _worded(text: str, at: int, found: Peeled) -> int:
    """`INFO - trainer - `, `root - INFO - `, `INFO:torch.x:`, `name: [WARNING] `, TensorFlow's `W file:1] `."""
    whole = _COLONS.match(text, at) or _NAME_COLON.match(text, at) or _NAME_FIRST.match(text, at)
    if whole is not None:
        found.say_level(whole[1])
        found.closed = True
        return whole.end()
    if at == 0 and (submitit := _LEVEL_AND_TIME.match(text)):
        found.say_level(submitit[1])
        return submitit.end()
    match = _LEVEL_FIRST.match(text, at)
    if not (found.stamped or found.rank is not None or found.lane):
        if match is not None:
            found.say_level(match[1])
        return at
    match = match or _TENSORFLOW.match(text, at)
    if match is None:
        return at
    found.say_level(match[1])
    found.closed = True
    return logger_name(text, match.end(), found)


BRACKETED: tuple[Peeler, ...] = (_old_glog, _nemo, _level, _tagged, _module)
WORDED: tuple[Peeler, ...] = (_worded,)
