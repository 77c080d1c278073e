"""What the text formats say alike: sizes, ranks, facts, the chain, the advice on restarting.

Everything returned is plain text that may hold what a log said; each format escapes it
in its own way.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from forensics.model import Evidence, Expected, Fields, Finding, Fix, Report, Run, Source, Value
from forensics.render.moments import iso, span
from forensics.text.sizes import format_size

RESTARTS = {
    "no": "A plain restart does not help: the same thing happens again.",
    "maybe": "A plain restart may help, but nothing in the evidence promises it.",
    "yes": "A plain restart can help.",
}

STDIN = "<stdin>"
MASKED = "capture.pipe-status-masked"
ZONE_NOTE = "times without a zone"

_STDIN_PLACE = re.compile(r"(?<![^\s(,;])-(?=:\d)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")


def fact(name: str, value: Value) -> str:
    """Return the value of a fact for people: a size or a span in units, and exactly as well."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(fact("", item) for item in value)
    if isinstance(value, int | float) and math.isfinite(value):
        if name.endswith("_bytes") and abs(value) >= 1024:
            return f"{format_size(int(value))} ({value} bytes)"
        if name.endswith("_ms") and abs(value) >= 1000:
            return f"{span(value / 1000)} ({value} ms)"
    return "" if value is None else str(value)


def count(number: int, what: str) -> str:
    """Return a number of things: `1 line`, `2 lines`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def ranks(order: Sequence[int]) -> str:
    """Return ranks as `rank 3`, `ranks 0-6`, or `rank 3 first, then 0-2, 4`; the first leads."""
    if not order:
        return ""
    if len(order) == 1:
        return f"rank {order[0]}"
    if order[0] == min(order):
        return f"ranks {_ranges(order)}"
    return f"rank {order[0]} first, then {_ranges(order[1:])}"


def _ranges(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{low}-{high}" if low != high else f"{low}" for low, high in parts)


def place(evidence: Evidence) -> str:
    """Return where evidence stands, as editors and terminals understand it: `train.log:97`."""
    if not evidence.line:
        return path(evidence.path)
    column = f":{evidence.column}" if evidence.column else ""
    return f"{path(evidence.path)}:{evidence.line}{column}"


def sentences(text: str, count: int) -> str:
    """Return the first sentences of a text, on one line."""
    return " ".join(_SENTENCE.split(" ".join(text.split()))[:count])


def chain(report: Report) -> Iterator[tuple[int, Finding]]:
    """Yield the root and what followed from it, each once, with its depth below the root."""
    if report.root is None:
        return
    children: dict[str, list[Finding]] = {}
    for finding in report.findings:
        for cause in finding.because:
            children.setdefault(cause, []).append(finding)
    seen = {id(report.root)}
    stack = [(0, report.root)]
    while stack:
        depth, finding = stack.pop()
        yield depth, finding
        below = [child for child in children.get(finding.id, ()) if id(child) not in seen]
        seen.update(map(id, below))
        stack.extend((depth + 1, child) for child in reversed(below))


def beside(report: Report) -> list[Finding]:
    """Return the findings that stand outside the chain, without the hazards of the launch."""
    linked = {id(finding) for _, finding in chain(report)}
    return [f for f in report.findings if id(f) not in linked and not _is_hazard(f)]


def hazards(report: Report) -> str:
    """Return one line for what is wrong with the launch scripts: `preflight` tells it in full, with the change."""
    found = [finding for finding in report.findings if _is_hazard(finding)]
    if not found:
        return ""
    scripts = list(dict.fromkeys(place.path for finding in found for place in finding.evidence))
    commands = " and ".join(f"`dflash-forensics preflight {_within(report.run.path, s)}`" for s in scripts[:2])
    return f"{count(len(found), 'kind')} of hazard in how the run is launched; to see what, and the change: {commands}"


def _within(run: str, path: str) -> str:
    """Return the path to type for a file of the run, which is a folder, or one or several files."""
    name = posixpath.basename(path)
    named = next((p for p in run.split(", ") if posixpath.basename(p) == name), None)
    return shlex.quote(named or posixpath.join(run, path))


def _is_hazard(finding: Finding) -> bool:
    return finding.id.startswith("launch.") and finding.role == "note"


def reason(report: Report) -> str:
    """Return what decided the verdict, unless the root says it already: a failed run failed of its root."""
    root = report.root
    if root is not None and root.severity == "error" and report.verdict == "failed":
        return ""
    return report.reason


def why(report: Report) -> str:
    """Return the reason for the verdict as a line for people; empty where the headline says it."""
    decided = reason(report).removeprefix(f"{report.verdict}: ")
    if not decided or (report.root is not None and decided.rstrip(".") == report.root.title.rstrip(".")):
        return ""
    return f"Why: {_STDIN_PLACE.sub(STDIN, decided)}"


def about(report: Report, finding: Finding) -> str:
    """Return what qualifies a finding in a line: id, confidence, ranks, time.

    Where the verdict is unknown there is no confidence: that of the finding would be read as
    that of the verdict.
    """
    parts = (
        finding.id,
        f"confidence {finding.confidence}" if report.verdict != "unknown" else "",
        ranks(finding.ranks),
        _when(report.run, finding.time),
    )
    return " · ".join(part for part in parts if part)


def name(run: Run) -> str:
    """Return what to call the run: its path as it was given."""
    return path(run.path)


def path(given: str) -> str:
    """Return what to call a file: its path, and standard input by a name that no file has."""
    return STDIN + given[1:] if given == "-" or given.startswith("-!") else given


def progress(report: Report) -> str:
    """Return how far the run came, in a line; empty where nothing is known."""
    run = report.run
    parts = []
    if run.last_step is not None:
        parts.append(f"step {run.last_step}" + (f" of {run.total_steps}" if run.total_steps else ""))
    if run.last_checkpoint_step is not None:
        parts.append(f"last checkpoint at step {run.last_checkpoint_step}")
    if run.exit_code is not None:
        parts.append(f"exit code {run.exit_code}{_meaning(report, run.exit_code)}")
    if run.signal is not None and run.signal != _signal(run.exit_code):
        parts.append(f"signal {run.signal}")
    if run.world_size is not None:
        parts.append(count(run.world_size, "rank"))
    if run.started is not None and run.ended is not None and run.ended > run.started:
        parts.append(f"ran for {span(run.ended - run.started)}")
    elif run.ended is not None:
        parts.append(f"ended {_when(run, run.ended)}")
    return " · ".join([*parts, *run.programs])


def notes(report: Report) -> tuple[str, ...]:
    """Return the notes, without the zone of the times where no time is shown."""
    if any("Z" in part for part in _times(report)):
        return report.notes
    return tuple(note for note in report.notes if not note.startswith(ZONE_NOTE))


def followed(report: Report) -> str:
    """Return the heading of the chain: a broken capture goes with what it shows, and causes none of it."""
    return "Seen with it" if is_capture(report) else "What followed from it"


def is_capture(report: Report) -> bool:
    """Tell whether the root is a fault of the capture, not of the run."""
    return report.root is not None and report.root.id.startswith("capture.")


def _times(report: Report) -> Iterator[str]:
    """Yield the times of day that the headline shows."""
    run = report.run
    if report.root is not None:
        yield _when(run, report.root.time)
    if run.started is None or run.ended is None or run.ended <= run.started:
        yield _when(run, run.ended)


def _when(run: Run, seconds: float | None) -> str:
    """Return a time to the second, and to the millisecond for a run of less than a minute."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    brief = run.started is not None and run.ended is not None and 0 < run.ended - run.started < 60
    return iso(math.floor(seconds * 1000 + 0.5) / 1000 if brief else math.floor(seconds)) or ""


def _meaning(report: Report, code: int) -> str:
    """Return what an exit code says besides its number."""
    if code == 0 and report.verdict != "healthy" and any(finding.id == MASKED for finding in report.findings):
        return " (of the last command of a pipeline)"
    if code == 124:
        return " (a time limit)"
    number = _signal(code)
    return f" (signal {number})" if number else ""


def _signal(code: int | None) -> int:
    """Return the signal that a shell's or Python's exit code stands for, 0 for none."""
    if code is None:
        return 0
    return code - 128 if 128 < code <= 192 else -code if -64 <= code < 0 else 0


def changes(fix: Fix) -> Iterator[tuple[str, str]]:
    """Yield what a fix changes, as (`environment` or `arguments`, text)."""
    for kind, fields in (("environment", fix.env), ("arguments", fix.args)):
        yield from ((kind, text) for text in _assignments(kind, fields))


def _assignments(kind: str, fields: Fields) -> Iterator[str]:
    for name, value in fields.items():
        text = "" if value is None else str(value)
        if kind == "environment":
            yield f"{name}={text}" if value is not None else f"unset {name}"
        else:
            yield f"{name} {text}" if text else name


def absent(report: Report) -> list[Expected]:
    """Return the promised files that are not there as promised."""
    return [expected for expected in report.expected if expected.state != "present"]


def promise(expected: Expected) -> str:
    """Return where a file was promised, and the nearest file there is."""
    nearest = f"; nearest here: {expected.nearest}" if expected.nearest else ""
    return f"promised by {place(expected.promised_by)}{nearest}"


def condition(source: Source) -> str:
    """Return how whole a source is and how much of it was read, with the reason where there is one."""
    parts = {"all": "", "partial": ", read in part", "skipped": ", not read"}
    return f"{source.state}{parts[source.read]}" + (f": {source.why}" if source.why else "")


def is_whole(source: Source) -> bool:
    """Tell whether a source is undamaged and was read to its end."""
    return source.state == "whole" and source.read == "all"


def reading(sources: Sequence[Source]) -> str:
    """Return how much was read: `8 files, all read whole`, `8 files, 7 of them read whole`."""
    files = count(len(sources), "file")
    whole = sum(map(is_whole, sources))
    if whole == len(sources):
        return f"{files}, read whole" if whole == 1 else f"{files}, all read whole"
    return f"{files}, {whole} of them read whole" if whole else files
