"""Stacks that are not tracebacks: faulthandler, py-spy, and the signal blocks of MPI and UCX.

    Fatal Python error: Segmentation fault

    Current thread 0x00007f3ef6f49140 (most recent call first):
      File "/usr/lib/python3.12/ctypes/__init__.py", line 525 in string_at

Events: `fatal` (fields signal, exception, file, file_line, function of the innermost
frame, threads), `timeout` (faulthandler's dump of a program that is stuck; field
after_ms), `py-spy` (fields pid, threads, innermost: one `thread: function (file:line)`
each), `mpi-signal` (fields signal, pid, host). All of them print the innermost frame
first. Formats: CPython Modules/faulthandler.c and Python/traceback.c 3.8 to 3.14,
py-spy dump, Open MPI's and UCX's signal handlers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_FATAL = lazy(r"Fatal Python error: (?P<text>.{1,400})")
_WINDOWS = lazy(
    r"Windows fatal exception: (?P<text>access violation|stack overflow|int divide by zero|code 0x[0-9a-f]{8})"
)
_TIMEOUT = lazy(r"Timeout \((?P<h>\d{1,6}):(?P<m>\d\d):(?P<s>\d\d(?:\.\d{1,6})?)\)!")
_THREAD = lazy(
    r"(?P<current>Current thread|Thread) (?P<id>0x[0-9a-fA-F]{1,16})(?: \[(?P<name>[^\]]{0,64})\])?"
    r" \(most recent call first\):"
)
_FRAME = lazy(r'  File "(?P<file>[^"]{0,1000})", line (?P<line>\d{1,9}|\?\?\?) in (?P<function>.{1,300})')
_REST = lazy(
    r"\s*$|  \.\.\.|  <(?:no Python frame|invalid frame|tstate|cannot).{0,80}>|<(?:no Python frame|cannot)"
    r"|Extension modules: |Python runtime state: |Current thread's C stack trace|  Binary file \"|  <\.\.\.>"
    r"|  Garbage-collecting"
)
_PY_SPY = lazy(r"Process (?P<pid>\d{1,10}): (?P<command>.{0,1000})")
_PY_SPY_THREAD = lazy(
    r"Thread (?P<id>(?:0x)?[0-9a-fA-F]{1,18}) \((?P<state>idle|active|active\+gil)\)(?:: \"(?P<name>[^\"]{0,100})\")?"
)
_PY_SPY_FRAME = lazy(r"    (?P<function>\S.{0,300}) \((?P<file>[^()]{1,300}):(?P<line>\d{1,9})\)")
_PY_SPY_REST = lazy(r"\s*$|Python v\d|    \s{0,4}(?:Arguments|Locals):|\s{8}|    [^(]{1,300} \([^)]{1,300}\)$")
_MPI = lazy(r"\[(?P<host>[\w.-]{1,100}):(?P<pid>\d{1,10})\] (?P<rest>.{1,600})")
_MPI_SIGNAL = lazy(r"Signal: (?P<name>[\w ]{3,40}) \((?P<signal>\d{1,3})\)")
_UCX = lazy(
    r"\[(?P<host>[\w.-]{1,100}):(?P<pid>\d{1,10})(?: {0,5}:\d{1,4}:\d{1,10})?\] "
    r"Caught signal (?P<signal>\d{1,3}) \((?P<name>[\w ]{3,40})"
)
_BACKTRACE = lazy(r"==== backtrace|\s{0,4}\d{1,3}:?\s{1,4}(?:0x|/)|={10,}")
_SIGNALS = {
    "Segmentation fault": 11,
    "Aborted": 6,
    "Bus error": 7,
    "Floating point exception": 8,
    "Floating-point exception": 8,
    "Illegal instruction": 4,
}
_MOST_LINES = 20_000
_QUOTED_LINES = 200  # a dump of a hundred threads is no evidence that anybody reads


class _Dump(Struct):
    """A dump that is being read. `threads` holds a name and the innermost frame of each."""

    kind: str
    records: list[Record]
    fields: dict[str, Value]
    threads: list[tuple[str, str]] = field(default_factory=list)
    deciding: bool = False  # whether the next frame is the innermost of the thread that failed
    fresh: bool = False  # whether the next frame is the innermost of its thread


class StackDump:
    """See the module's text."""

    speaker = "stack"
    triggers: tuple[str, ...] = (
        "Fatal Python error: ",
        "Windows fatal exception: ",
        "(most recent call first):",
        "Timeout (",
        "*** Process received signal ***",
        "Caught signal ",
        "==== backtrace",
        " (active",
        " (idle)",
        "Python v3.",
    )
    follow = 130
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        open_: dict[int | None, _Dump] = {}  # by rank: the dumps of several ranks interleave
        events: list[Event] = []
        for record in records:
            if record.line.gap:
                events.extend(event for dump in open_.values() for event in _close(dump, context))
                open_.clear()
            dump = open_.get(record.rank)
            if dump and (len(dump.records) >= _MOST_LINES or not _goes_on(dump, record)):
                events.extend(_close(open_.pop(record.rank), context))
                dump = None
            if dump is None and (begun := _begins(record)):
                open_[record.rank] = begun
        events.extend(event for dump in open_.values() for event in _close(dump, context))
        yield from sorted(events, key=lambda event: (event.line, event.column))


def _begins(record: Record) -> _Dump | None:
    text = record.text
    if match := _FATAL.search(text):
        words = match["text"].split(": ")[0].strip()
        return _Dump("fatal", [record], {"exception": match["text"].strip(), "signal": _SIGNALS.get(words)})
    if match := _WINDOWS.search(text):
        return _Dump("fatal", [record], {"exception": match["text"].strip(), "signal": 11})
    if match := _TIMEOUT.search(text):
        seconds = int(match["h"]) * 3600 + int(match["m"]) * 60 + float(match["s"])
        return _Dump("timeout", [record], {"after_ms": round(seconds * 1000)})
    if match := _UCX.match(text):
        found: dict[str, Value] = {"host": match["host"], "pid": int(match["pid"]), "signal": int(match["signal"])}
        return _Dump("mpi-signal", [record], found)
    if (match := _MPI.match(text)) and "*** Process received signal ***" in match["rest"]:
        return _Dump("mpi-signal", [record], {"host": match["host"], "pid": int(match["pid"])})
    if match := _PY_SPY.fullmatch(text):
        return _Dump("py-spy", [record], {"pid": int(match["pid"]), "command": match["command"]})
    if match := _THREAD.match(text):
        # A dump asked for (dump_traceback, SIGUSR1) has no headline.
        dump = _Dump("dump", [record], {})
        _thread(dump, match)
        return dump
    return None


def _goes_on(dump: _Dump, record: Record) -> bool:
    """Take a line into the dump, if it belongs there."""
    text = record.text
    if dump.kind == "py-spy":
        taken = _py_spy(dump, text)
    elif dump.kind == "mpi-signal":
        taken = _mpi(dump, text)
    else:
        taken = _faulthandler(dump, text)
    if taken:
        dump.records.append(record)
    return taken


def _thread(dump: _Dump, match: re.Match[str]) -> None:
    name = match["name"] or match["id"]
    dump.threads.append((name, ""))
    dump.fresh = True
    dump.deciding = match["current"] == "Current thread" or (dump.kind != "fatal" and len(dump.threads) == 1)


def _faulthandler(dump: _Dump, text: str) -> bool:
    if match := _THREAD.match(text):
        _thread(dump, match)
    elif match := _FRAME.match(text):
        if dump.fresh and dump.threads:
            place = f"{match['function']} ({match['file']}:{match['line']})"
            dump.threads[-1] = (dump.threads[-1][0], place)
            if dump.deciding:
                line = int(match["line"]) if match["line"].isdecimal() else None
                dump.fields.update(file=match["file"], file_line=line, function=match["function"])
        dump.fresh = dump.deciding = False
    elif not _REST.match(text):
        return False
    return True


def _py_spy(dump: _Dump, text: str) -> bool:
    if match := _PY_SPY_THREAD.match(text):
        state = match["state"].replace("+", " with ").replace("gil", "the GIL")
        dump.threads.append((f"{match['name'] or match['id']} ({state})", ""))
        dump.fresh = True
    elif match := _PY_SPY_FRAME.match(text):
        if dump.fresh and dump.threads:
            place = f"{match['function']} ({match['file']}:{match['line']})"
            dump.threads[-1] = (dump.threads[-1][0], place)
            if len(dump.threads) == 1:  # the main thread comes first
                dump.fields.update(file=match["file"], file_line=int(match["line"]), function=match["function"])
        dump.fresh = False
    elif not _PY_SPY_REST.match(text):
        return False
    return True


def _mpi(dump: _Dump, text: str) -> bool:
    match = _MPI.match(text)
    if match is None:
        return _BACKTRACE.match(text) is not None
    if found := _MPI_SIGNAL.search(match["rest"]):
        dump.fields["signal"] = int(found["signal"])
    return int(match["pid"]) == dump.fields.get("pid")


def _close(dump: _Dump, context: Context) -> Iterator[Event]:
    """Yield the dump, without the blank lines and other people's lines at its end."""
    while len(dump.records) > 1 and not dump.records[-1].text.strip():
        dump.records.pop()
    if dump.kind == "py-spy" and not dump.threads:
        return  # a line `Process 12: ...` of somebody else
    fields = dict(dump.fields)
    if dump.threads:
        fields["threads"] = len(dump.threads)
        fields["innermost"] = tuple(f"{name}: {place}" for name, place in dump.threads[:64])
    event = quote("stack", dump.kind, dump.records[:_QUOTED_LINES], context, fields)
    last = dump.records[-1].line
    yield replace(event, end_line=max(last.end, last.number))


PARSER = StackDump()
