"""What healthy runs print, some megabytes of it, to measure anchors against.

An anchor says which lines of a log are looked at. One that stands on every progress line makes
an analysis twenty times slower and finds nothing, so this is made of what logs are full of:
progress in the forms of common trainers again and again, reports now and then, and what stands
once at a begin or an end. The lines are in benign.txt.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

RUNS = 2
RUN_BYTES = 1_000_000
RANKS = 8
EVERY = 40
"""Steps from one report to the next."""


@cache
def corpus() -> str:
    """Return the logs of some healthy runs, one after another; the same text each time."""
    forms = _forms()
    return "\n".join(line for run in range(RUNS) for line in _run(run, forms))


@cache
def megabytes() -> float:
    """Return the size of the corpus in units of 1e6 bytes."""
    return len(corpus().encode()) / 1e6


def example(literal: str) -> str:
    """Return the first line of the corpus that holds a literal."""
    text = corpus()
    at = text.index(literal)
    return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]


def _forms() -> dict[str, list[str]]:
    """Return the lines of benign.txt by their section: `steady`, `now and then`, `begin`, `end`."""
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_name("benign.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line[1:-1] in {"steady", "now and then", "begin", "end"}:
            section = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            section.append(line)
    return sections


def _run(run: int, forms: dict[str, list[str]]) -> Iterator[str]:
    steady, seldom = forms["steady"], forms["now and then"]
    yield from (line.format(**_values(run, 0)) for line in forms["begin"])
    size = step = 0
    while size < RUN_BYTES:
        step += 1
        said = [steady[(step + run) % len(steady)]]
        if step % EVERY == 0:
            said.append(seldom[step // EVERY % len(seldom)])
        for form in said:
            line = form.format(**_values(run, step))
            size += len(line) + 1
            yield line
    yield from (line.format(**_values(run, step)) for line in forms["end"])


def _values(run: int, step: int) -> dict[str, object]:
    """Return what is filled in at a step: numbers that go up, go down, and scatter."""
    scatter = step * 7 + run
    percent = step // 50 % 100
    return {
        "step": step * 10,
        "n": 10_000 + scatter * 37 % 90_000,
        "clock": f"{10 + step // 3600 % 12}:{step // 60 % 60:02d}:{step % 60:02d}",
        "ms": 50 + scatter % 997 / 3,
        "ms3": f"{scatter * 13 % 1000:03d}",
        "lr": 3e-4 / (1 + step / 900),
        "loss": 1.5 + 9 / (1 + step / 70) + scatter % 83 / 1000,
        "norm": 0.3 + scatter % 101 / 100,
        "epoch": step / 2000,
        "whole": step // 2000,
        "percent": percent,
        "bar": "█" * (percent // 10),
        "rank": step % RANKS,
    }
