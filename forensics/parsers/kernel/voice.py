"""Which lines the kernel spoke, and what is left of them without their heads."""

from __future__ import annotations

from msgspec import Struct

from forensics.model import Record
from forensics.text.lazy import lazy

# One head at a time: `kern  :err   :` (dmesg -x), `<3>` (raw buffer), `kernel:` (syslog,
# journal), seconds since boot, `dmesg -T` and `dmesg -H` time, and the printing task or CPU.
_HEAD = lazy(
    r"(?:kern\s{0,4}: {0,5}\w{1,7}\s{0,4}:|<\d{1,3}>|kernel:|\[\s{0,10}\d{1,10}\.\d{3,9}\]|\[\s{0,8}[TC]\d{1,8}\]"
    r"|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? \d{4}\]"
    r"|\[[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d\]|\[ {0,8}\+\d{1,8}\.\d{6}\])[ \t]?"
)
_LEVEL = lazy(r"\b(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
_UPTIME = lazy(r"\[\s{0,10}(\d{1,10}\.\d{3,9})\]")
_HEADS = 6
_PREFIX = 200  # characters in which a head stands


class Spoken(Struct, frozen=True):
    """What the kernel said. `sure` is false where only the words themselves show it."""

    text: str
    sure: bool
    uptime_s: float | None


def listen(record: Record, *, own_file: bool) -> Spoken | None:
    """Return the kernel's words in a line, or None where somebody else speaks.

    Args:
        record: One peeled line.
        own_file: Whether the file is a kernel log, in which every line is the kernel's.
            Elsewhere a line needs a kernel's head, or no head at all (then it is not
            `sure`); a logger that quotes the kernel has a level in front.
    """
    text = record.text
    for _ in range(_HEADS):
        head = _HEAD.match(text)
        if head is None:
            break
        text = text[head.end() :]
    if text.lstrip(" \t").startswith("NVRM: "):
        text = text.lstrip(" \t")  # dmesg indents the later lines of one message
    start = record.raw.find(text, 0, len(text) + _PREFIX) if text else -1
    before = record.raw[: max(start, 0)]
    stamp = _UPTIME.search(before)
    uptime = float(stamp[1]) if stamp else None
    if own_file:
        return Spoken(text, True, uptime)
    if text.startswith("task "):
        before = before.removesuffix("INFO: ")  # the kernel's own word in front of a hung task
    if start < 0 or _LEVEL.search(before):
        return None
    if _HEAD.search(before):
        return Spoken(text, True, uptime)
    return Spoken(text, False, uptime) if record.level is None else None
