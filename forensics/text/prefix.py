"""What stands before a message, taken off: who says it, when, on which rank, how loudly.

Launchers, log collectors and loggers each put something in front, in any order and
number. `peel` takes prefixes off one at a time until none is left; what it does not
know for certain it leaves, because parsers match anywhere in a line but nobody can
match what was eaten.
"""

from __future__ import annotations

import json
import re

from forensics.model import Context, Line, Record
from forensics.text import ansi, launchers, loggers
from forensics.text.lazy import lazy
from forensics.text.leads import lead_of
from forensics.text.months import in_english
from forensics.text.peeled import LEVEL_WORDS, Peeled, Peeler
from forensics.text.timestamps import leading_time

_MOST = 12
_WIDE = 200
_OPENERS = frozenset("[(<0123456789")
_PEELERS: dict[str, tuple[Peeler, ...]] = {
    "[": (*launchers.BRACKETED, *loggers.BRACKETED, *launchers.LANES),
    "(": launchers.ROUND,
    "<": launchers.ANGLED,
    **dict.fromkeys(" 0123456789", launchers.NUMBERED),
}
_WORDED = (*loggers.WORDED, *launchers.WORDED)
_MAY_BEGIN = lazy(
    rf"{launchers.TALOS_FORM}|{launchers.HOST_FORM}|{launchers.COMPOSE_FORM}|"
    rf"[\w.]{{1,100}}+: \[|[\w.-]{{1,80}}+ {{0,20}}[-|] |"
    rf"(?:{LEVEL_WORDS})\b|[\w.-]{{1,40}} (?:{LEVEL_WORDS}) \(20\d\d-|[IWEFDVC]\d{{3}}|"
    r"[Rr]ank ?\d|(?:kern|user|daemon|syslog) *:|"
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
)
_LEVEL_IN_HEAD = lazy(rf"\b(?:{LEVEL_WORDS})\b")
_SHARD_IN_HEAD = lazy(r" ((?:[DPTE]P\d+ ?)+)\]")
_SYSLOG_TIME = lazy(r"[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:")
_SPACED_TIME = lazy(r" \[20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_JSON_MESSAGE = lazy(r'"(?:log|msg|message)" ?: ?"')


def peel(line: Line, context: Context) -> Record:
    """Take everything off a line that stands before its message.

    Args:
        line: the line as read.
        context: the year and zone of times that name none, and the source, whose
            hints of rank and host fill in where no prefix names them; its `leads` come
            off as prefixes do.

    Returns:
        The record; its `text` keeps the indentation that the message itself has.
    """
    found = Peeled()
    text = ansi.strip(line.text)
    if text.startswith('{"') and _JSON_MESSAGE.search(text):
        text = _unwrap(text, found)
    text = in_english(text)
    at = run.end() if "\t20" in text[:_WIDE] and (run := launchers.RUN_VIEW.match(text)) else 0
    leads = context.leads
    for _ in range(_MOST):
        if leads and (after := lead_of(text, at, leads)) != at:
            at, leads = after, ()
            continue
        if text.startswith(" [20", at) and _SPACED_TIME.match(text, at):
            at += 1  # Megatron prints a blank before the time of its progress records
        if not _may_go_on(text, at, found):
            break
        after = _next(text, _stamp(text, at, found, context), found)
        if after == at:
            break
        at = after
    rank = found.rank if found.rank is not None else found.local
    return Record(
        line=line,
        text=text[at:],
        raw=line.text,
        time=found.time,
        rank=rank if rank is not None else context.source.rank,
        lane=found.lane,
        host=found.host or context.source.host,
        pid=found.pid,
        level=found.level,
    )


def _may_go_on(text: str, at: int, found: Peeled) -> bool:
    """Tell quickly that no prefix stands here, as in most lines of most logs."""
    first = text[at : at + 1]
    if found.headed and first != "[":
        return False
    if first in _OPENERS:
        return True
    if first == " ":
        return at == 0 and launchers.LABEL.match(text) is not None
    return not found.closed and (found.stamped or _MAY_BEGIN.match(text, at) is not None)


def _next(text: str, at: int, found: Peeled) -> int:
    """Take one prefix off that is not a time."""
    first = text[at : at + 1]
    if found.headed and first != "[":
        return at
    for peeler in _PEELERS.get(first, _WORDED if not found.closed else ()):
        after = peeler(text, at, found)
        if after != at:
            return after
    return at


def _stamp(text: str, at: int, found: Peeled, context: Context) -> int:
    """Take a time off, with what its form says besides: level, process, file, shard."""
    rest = text[at:] if at else text
    time, taken = leading_time(rest, year=context.default_year, utc_offset_s=context.utc_offset_s)
    if not taken:
        return at
    head, end = rest[:taken], at + taken
    found.stamped = True
    found.dated = _SYSLOG_TIME.match(head) is not None
    if found.time is None:
        found.time = time
    behind = loggers.glog_rest(head, text, end, found)
    if behind is not None:
        return behind
    if at and text.startswith("[NeMo ", at - 8):
        return loggers.nemo_rest(text, end)
    if at and text[at - 1] == "(":
        return loggers.submitit_rest(text, end)
    level = _LEVEL_IN_HEAD.search(head)
    if level:
        found.say_level(level[0])
        found.closed = True
        if head[0] != "[":
            end = loggers.logger_name(text, end, found)
    shard = _SHARD_IN_HEAD.search(head) if head[0] == "[" else None
    if shard:  # SGLang: `[2031-02-03 04:05:06 DP0 TP3] `
        found.lane = found.lane or shard[1].strip()
        found.local = int(re.findall(r"\d+", shard[1])[-1])
    return end


def _unwrap(text: str, found: Peeled) -> str:
    """The message of a log whose lines are JSON: docker's file driver, structured loggers."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(record, dict):
        return text
    message = next((record[key] for key in ("log", "msg", "message") if isinstance(record.get(key), str)), None)
    if message is None:
        return text
    level = next((record[key] for key in ("level", "levelname", "severity") if isinstance(record.get(key), str)), None)
    if level:
        found.say_level(level)
    time = next((record[key] for key in ("time", "timestamp", "ts", "asctime") if key in record), "")
    if isinstance(time, str):
        message = f"{time} {message}" if leading_time(time)[1] == len(time) else message
    elif isinstance(time, int | float) and 1e9 < time < 4e9:
        found.time = float(time)
    rank = record.get("rank", record.get("global_rank"))
    if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0:
        found.rank = rank
    return ansi.strip(message.rstrip("\r\n"))
