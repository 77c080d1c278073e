"""`render(analysis) -> str`: the whole page, self-contained and bounded.

The content security policy of the page names its one style and its one script by their hashes
and forbids everything else, so that no text of a log can load, send or run anything even if it
were taken for markup. The templates escape every text; see `display` for what comes before that.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from forensics.analyze import Analysis
from forensics.model import Finding, Report
from forensics.render import facts, words
from forensics.render.html.around import Around
from forensics.render.html.clock import Clock, Moment
from forensics.render.html.display import finalize, line, prose
from forensics.render.html.evidence import Quotes
from forensics.render.html.findings import MOST, Shown, answer, show
from forensics.render.html.memory import Memory, memory
from forensics.render.html.plots import Moments, Plot, plot
from forensics.render.html.series import figures
from forensics.render.html.timeline import timeline
from forensics.render.moments import iso
from forensics.text.sizes import format_size

MOST_SOURCES, MOST_EXPECTED, MOST_NOTES, MOST_FACTS = 300, 100, 100, 60
NOTHING: Around = {}

STATES = {
    "failed": "The run failed, and the evidence does not say of what",
    "degraded": "The run finished, but something cost speed or quality",
    "healthy": "Nothing is wrong with this run",
    "unknown": "The evidence cannot tell what became of this run",
}
"""The title where there is no root."""


def render(analysis: Analysis, around: Around = NOTHING) -> str:
    """Return the page on a run, to be written as UTF-8; `around` holds the lines around its evidence."""
    report = analysis.report
    quotes, clock = Quotes(report, around), Clock(analysis)
    style, script = _asset("style.css"), _asset("behaviour.js")
    page = {
        "policy": _policy(style, script),
        "style": Markup(style),  # noqa: S704 - the package's own
        "script": Markup(script),  # noqa: S704 - the package's own
        **_sections(analysis, quotes, clock),
    }
    return _environment().get_template("page.html.j2").render(page)


def _sections(analysis: Analysis, quotes: Quotes, clock: Clock) -> Mapping[str, object]:
    """Return what the template shows. Evidence of the root is quoted first, so that others refer to it."""
    report = analysis.report
    root = report.root
    told = facts.headline(report)
    proof: tuple[Shown, ...] = () if root is None else (show(root, quotes, root=True),)
    chain = [(depth, f) for depth, f in words.chain(report) if depth]
    followed = tuple(show(f, quotes, min(depth, 6), told) for depth, f in chain[:MOST])
    others = words.beside(report)
    beside = tuple(show(f, quotes) for f in others[:MOST])
    hazards = _hazards(report)
    launched = tuple(show(f, quotes) for f in hazards[:MOST])
    drawn = memory(report)
    moment = _failure(report, clock)
    lanes = timeline(analysis, quotes, clock, moment.time if moment else None)
    plots = _plots(analysis, moment)
    title = line(root.title if root is not None else STATES[report.verdict])
    first = answer(report, quotes, title)
    page: dict[str, object] = {
        "report": report,
        "answer": first,
        "root": proof[0] if proof else None,
        "rest": proof[0].explanation.removeprefix(first.told).lstrip() if proof else "",
        "restart": words.RESTARTS[report.restart_helps],
        "followed": followed,
        "followed_title": words.followed(report),
        "beside": beside,
        "hazards": launched,
        "left_out": _left_out({"followed": len(chain), "beside": len(others), "hazards": len(hazards)}),
        "memory": drawn,
        "memory_href": _memory_href(drawn, quotes),
        "timeline": lanes,
        "plots": plots,
        "facts": list(facts.table(report))[:MOST_FACTS],
        "product": facts.arithmetic(root) if root is not None else "",
        "expected": report.expected[:MOST_EXPECTED],
        "expected_left": max(0, len(report.expected) - MOST_EXPECTED),
        "sources": report.sources[:MOST_SOURCES],
        "sources_left": max(0, len(report.sources) - MOST_SOURCES),
        "reading": words.reading(report.sources),
        "notes": words.notes(report)[:MOST_NOTES],
        "notes_left": max(0, len(words.notes(report)) - MOST_NOTES),
    }
    return {**page, "contents": list(_contents(page))}


def _contents(page: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the sections that the page has, as (anchor, title)."""
    root = page["root"]
    for key, anchor, title in (
        ("root", "evidence", "Evidence"),
        ("root", "fixes", "Fix"),
        ("followed", "chain", str(page["followed_title"])),
        ("memory", "memory", "Memory"),
        ("timeline", "timeline", "Timeline"),
        ("plots", "plots", "Plots"),
        ("facts", "facts", "Facts"),
        ("expected", "expected", "Promised files"),
        ("hazards", "launch", "Launch"),
        ("beside", "beside", "Also seen" if root else "Seen"),
        ("sources", "sources", "Sources"),
        ("notes", "notes", "Notes"),
    ):
        if page[key] and not (anchor == "fixes" and isinstance(root, Shown) and not root.fixes):
            yield anchor, title


def _hazards(report: Report) -> list[Finding]:
    shown = {id(f) for _, f in words.chain(report)} | {id(f) for f in words.beside(report)}
    return [f for f in report.findings if id(f) not in shown]


def _left_out(counts: Mapping[str, int]) -> Mapping[str, int]:
    return {name: max(0, count - MOST) for name, count in counts.items()}


def _memory_href(drawn: Memory | None, quotes: Quotes) -> str:
    return quotes.anchor(drawn.anchor_path, drawn.anchor_line) if drawn is not None else ""


def _failure(report: Report, clock: Clock) -> Moment | None:
    """Return when the run failed, as far as its root tells; None for a run that did not."""
    if report.root is None or report.verdict == "healthy":
        return None
    return clock.when(report.root)


def _plots(analysis: Analysis, moment: Moment | None) -> list[Plot]:
    report = analysis.report
    marks: list[tuple[float, str, str]] = []
    root = report.root
    if report.run.last_checkpoint_step is not None:
        marks.append((float(report.run.last_checkpoint_step), "checkpoint", "checkpoint"))
    if root is not None and report.verdict != "healthy":
        step = next((s for name in ("first_nan_step", "last_step") if (s := root.facts.get(name)) is not None), None)
        step = report.run.last_step if not isinstance(step, int) else step
        if step is not None:
            marks.append((float(step), "failure" if report.verdict == "failed" else "root", "failure"))
    times: tuple[tuple[float, str, str], ...] = ()
    if moment is not None and math.isfinite(moment.time):
        what = "failure" if report.verdict == "failed" else "root"
        label = {"": what, "≈": f"≈ {what}", "≥": f"{what} after this", "≤": f"{what} before this"}[moment.mark]
        times = ((moment.time, label, "failure"),)
    kept = Moments(tuple(marks), times)
    return [plot(figure, kept) for figure in figures(analysis, root.ranks if root is not None else ())]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("forensics.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        prose=prose, line=line, whole=escape, size=format_size, iso=lambda seconds: iso(seconds) or "", path=words.path
    )
    made.globals.update(condition=words.condition, is_whole=words.is_whole, place=words.place, count=words.count)
    return made


@cache
def _asset(name: str) -> str:
    return (files("forensics.render.html") / name).read_text(encoding="ascii")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
