"""A gate's decision for GitHub Actions: workflow commands, and a summary of the step.

    ::error file=run/train.log,line=97,title=memory.gpu-oom::CUDA out of memory ...

Escapes: `%`, CR and LF in messages, `:` and `,` too in properties. Source:
docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from forensics.model import Check, Decision
from forensics.render import gate_text, places
from forensics.render.markdown import code, escape, prose
from forensics.render.markdown import render as report_as_markdown
from forensics.text.ansi import visible

MOST = 10
"""Annotations of one kind that GitHub shows for a step."""
LONGEST = 4000
_ORDER = {"error": 0, "warning": 1, "note": 2}
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def commands(decision: Decision, base: str = "") -> str:
    """Return at most ten workflow commands, the most severe first, then a line that counts the rest."""
    chosen = _told(decision)
    lines = [_command(decision, check, base) for check in chosen[:MOST]]
    lines.append(f"{gate_text.HEADS[decision.status]}: {len(chosen)} to look at, {min(MOST, len(chosen))} annotated")
    return "\n".join(lines) + "\n"


def _told(decision: Decision) -> list[Check]:
    """Return what a reader must see: what failed, then what is open, then warnings that did not fail it."""
    worst = [*decision.of("fail"), *decision.of("unknown")]
    found = any(check.finding is not None for check in worst)
    # The verdict only repeats the finding that it rests on.
    worst = [check for check in worst if not (found and check.name == "gate.verdict")]
    mild = [c for c in decision.of("pass") if c.finding is not None and c.finding.role != "note"]
    mild = [c for c in mild if c.level != "note" and c.finding is not None and c.finding.role != "consequence"]
    return [*sorted(worst, key=lambda c: _ORDER[c.level]), *mild]


def _command(decision: Decision, check: Check, base: str) -> str:
    # A failed check is an error whatever the finding's level: it stops the job.
    level = "error" if check.standing == "fail" else "warning" if check.standing == "unknown" else check.level
    place = places.first(check)
    properties = {"title": check.name}
    if place is not None:
        properties["file"] = places.path(base, place)
        if place.line:
            properties |= {"line": str(place.line), "endLine": str(max(place.line, place.end_line))}
    message = check.text
    if check.finding is not None and check.finding.fixes:
        message += f"\n{check.finding.fixes[0].title}"
    if check.finding is None and not place:
        message += f" ({decision.report.run.path})"
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[level]} {listed}::{_message(message[:LONGEST])}"


def _message(text: str) -> str:
    return visible(text, keep="\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def summary(decision: Decision, base: str = "") -> str:
    """Return the step summary in Markdown: the decision as a table, and the report folded below it."""
    lines = [f"## {gate_text.HEADS[decision.status].title()}: {escape(decision.report.run.path)}", ""]
    rows = decision.of("fail", "unknown", "known", "ignored")
    if rows:
        lines += ["| | what | where |", "| --- | --- | --- |"]
    for check in rows:
        place = places.first(check)
        where = code(f"{places.path(base, place)}:{place.line}", cell=True) if place is not None else ""
        reason = f" ({escape(check.reason)})" if check.reason else ""
        lines.append(f"| {check.standing} | {code(check.name, cell=True)} {prose(check.text)}{reason} | {where} |")
    report = report_as_markdown(decision.report).split("\n")
    lines += ["", "<details><summary>The report</summary>", "", *map(gate_text.uncommanded, report), "</details>", ""]
    return "\n".join(lines)
