"""Which facts of a report are said where: in the table, under a finding, beside the evidence.

The facts of one finding are told apart from those of another: side by side they would
make up a process that never was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from forensics.model import Evidence, Finding, Report, Value
from forensics.render.words import fact, sentences
from forensics.text.sizes import format_size

MOST = 4
"""Facts that a consequence shows; more would hide the ones of the root."""

WIDE = 80
"""Characters of a text among them."""

PLACE = ("file", "file_line", "function")
FIRST = (
    "requested_bytes", "missing_path", "exit_code", "signal", "pid", "seq", "collective", "timeout_ms", "ran_ms",
    "total_bytes", "free_bytes", "device",
)  # fmt: skip
"""Facts that tell most, in this order; other sizes and numbers come after them."""
PRODUCT = frozenset({"tensor", "shape", "itemsize", "heads", "query_len", "kv_len"})
"""Facts that the arithmetic spells out."""
ELSEWHERE = frozenset({*PRODUCT, *PLACE, "exception", "pane_width", "last_step", "rank", "local_rank"})

STANDINGS = {
    "This belongs to an earlier attempt.": "earlier attempt",
    "This is only quoted.": "quoted",
    "The run went on after this.": "recovered",
    "By its time this lies outside the run.": "another time",
}
"""How an explanation begins for what is no part of the failure, and what that is in short."""

_SPOKEN = re.compile(r"[\w./-][^\n]{2,199}")


def table(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the root's own facts as (name, value) for people."""
    root = report.root
    if root is None:
        return
    told = PLACE if raised(root) else ()
    for name, value in root.facts.items():
        if name in told:
            continue
        mine = name == "last_step" and root.ranks and value != report.run.last_step
        yield f"rank {root.ranks[0]}'s last step" if mine else name, fact(name, value)


def headline(report: Report) -> dict[str, Value]:
    """Return the facts that need no second telling: the root's, and the status in the headline."""
    own = {} if report.root is None else dict(report.root.facts)
    return {"exit_code": report.run.exit_code, "signal": report.run.signal, **own}


def telling(finding: Finding, told: dict[str, Value]) -> str:
    """Return the few facts of a consequence that say most, in a line; empty where there are none.

    What was `told` already is left out, and what is said here is added to it.
    """
    new = {n: v for n, v in finding.facts.items() if n not in ELSEWHERE and not (n in told and told[n] == v)}
    order = [name for name in FIRST if name in new]
    order += [n for n, v in new.items() if n not in FIRST and isinstance(v, int | float) and not isinstance(v, bool)]
    chosen = {name: new[name] for name in order[:MOST] if new[name] is not None}
    told |= chosen
    return " · ".join(f"{_spoken(name)} {_brief(name, value)}" for name, value in chosen.items())


def raised(finding: Finding) -> str:
    """Return where an exception was raised, `raised at train.py:46 in forward`; empty where nothing says it."""
    file, line, function = (finding.facts.get(name) for name in PLACE)
    if not file or not line:
        return ""
    return f"raised at {file}:{line}" + (f" in {function}" if function else "")


def raised_at(report: Report) -> Mapping[Evidence, str]:
    """Return, for evidence of the root, where the exception that it quotes was raised."""
    root = report.root
    if root is None:
        return {}
    found: dict[Evidence, str] = {}
    for finding in (root, *report.findings):
        place = finding.evidence[0]
        if place in root.evidence and (text := raised(finding)):
            found.setdefault(place, text)
    return found


def arithmetic(finding: Finding) -> str:
    """Return the product that names a tensor, `32 heads x ... = 276.00 GiB = attention scores`, or nothing."""
    if "tensor" not in finding.facts:
        return ""
    first = sentences(_plain(finding), 1)
    return first.rstrip(".") if " = " in first else ""


def standing(finding: Finding) -> str:
    """Return why a finding is no part of the failure, `earlier attempt`; empty where it may be one."""
    return next((short for said, short in STANDINGS.items() if finding.explanation.startswith(said)), "")


def explanation(finding: Finding, count: int) -> str:
    """Return the first sentences of an explanation, without the arithmetic, which stands by itself."""
    text = " ".join(_plain(finding).split())
    if product := arithmetic(finding):
        text = text.removeprefix(product).removeprefix(".").lstrip()
    return sentences(text, count)


def deciding(report: Report, evidence: Evidence) -> tuple[str, ...]:
    """Return the words of a place that findings rest on, as programs print them; those of the root lead."""
    resting = [finding for finding in report.findings if evidence in finding.evidence]
    resting.sort(key=lambda finding: finding.role != "root")
    words = (word for finding in resting for name, value in finding.facts.items() for word in _printed(name, value))
    return tuple(dict.fromkeys(words))


def _plain(finding: Finding) -> str:
    for said in STANDINGS:
        if finding.explanation.startswith(said):
            return finding.explanation.removeprefix(said).lstrip()
    return finding.explanation


def _printed(name: str, value: Value) -> Iterator[str]:
    if isinstance(value, bool):
        return
    if isinstance(value, int) and name.endswith("_bytes"):
        yield format_size(value)
    elif isinstance(value, int | float):
        if abs(value) >= 10:
            yield str(value)
    elif isinstance(value, str) and _SPOKEN.fullmatch(value):
        yield value


def _spoken(name: str) -> str:
    return name.removesuffix("_bytes").removesuffix("_ms").replace("_", " ")


def _brief(name: str, value: Value) -> str:
    if isinstance(value, int) and name.endswith("_bytes"):
        return format_size(value)
    if isinstance(value, str):
        return value if len(value) <= WIDE else f"{value[: WIDE // 2]}…{value[-WIDE // 2 :]}"
    return fact(name, value).partition(" (")[0] + (" ms" if name.endswith("_ms") and _under_a_second(value) else "")


def _under_a_second(value: Value) -> bool:
    return isinstance(value, int | float) and abs(value) < 1000
