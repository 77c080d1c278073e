"""The report as a page: what it says, in which order, and what a hostile log cannot make of it."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.model import Evidence, Finding
from forensics.render.html import render
from forensics.render.html.display import finalize, line, marked, plain, prose
from tests.render.analyses import AROUND, DIED, analysis, hostile
from tests.render.page_reader import find, name, parsed, read_out, words
from tests.render.reports import DEGRADED, EVERY, FAILED, HEALTHY, UNKNOWN, inert

SNAPSHOT = Path(__file__).parent / "snapshots" / "page.txt"
MOST = 2 << 20
"""Bytes that no page exceeds, whatever the run."""


def page(report_name: str) -> Element:
    return parsed(render(analysis(EVERY[report_name])))


@pytest.mark.parametrize("report_name", EVERY)
def test_every_page_is_sound_html(report_name: str) -> None:
    """A strict parser finds no error, identifiers are unique, and every link leads somewhere in the page."""
    tree = page(report_name)
    names = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(names) == len(set(names))
    links = [a.get("href", "") for a in find(tree, "a")]
    assert links
    assert all(link.startswith("#") and link[1:] in names for link in links)


@pytest.mark.parametrize("report_name", EVERY)
def test_every_page_can_be_walked_by_its_structure(report_name: str) -> None:
    """It has landmarks, one title, headings that skip no level, and a name for each region, table head and picture."""
    tree = page(report_name)
    assert [len(find(tree, tag)) for tag in ("main", "header", "footer", "h1")] == [1, 1, 1, 1]
    levels = [int(name(h)[1]) for h in find(tree, "h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for element in tree.iter():
        if element.get("role") in {"region", "img", "group"}:
            assert element.get("aria-label")
        if name(element) == "th":
            assert element.get("scope") in {"col", "row"}
        if name(element) == "button":
            assert words(element) or element.get("aria-label")


def test_the_answer_comes_first() -> None:
    """Before anything else stand the verdict, what died, the proof, and what to do."""
    text = read_out(parsed(render(DIED, AROUND)))
    order = [
        "failed",
        "# Attention ran dense",
        "## Why",
        "train.log:97",
        "## What to do",
        "Call flex_attention",
        "## Evidence",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_page_reads_as_it_did() -> None:
    """Its text is the one that a person has read and approved; HTML_SNAPSHOT=write puts down a new one."""
    text = read_out(parsed(render(DIED, AROUND)))
    if os.environ.get("HTML_SNAPSHOT") == "write":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


def test_evidence_stands_among_its_lines() -> None:
    """The lines around a place are shown with their numbers, those of a bar as it was left."""
    rows = {row.get("data-n"): row for row in find(parsed(render(DIED, AROUND)), "span") if row.get("data-n")}
    assert "cited" in rows["97"].get("class", "")
    assert "cited" not in rows["98"].get("class", "")
    assert words(rows["89"]) == "<i>"
    assert words(rows["88"]).startswith("50%")


def test_lines_that_changed_since_are_not_shown() -> None:
    """Where the source does not say any more what the evidence quotes, the evidence stands alone."""
    tree = parsed(render(DIED, {"train.log": {89: "other", 90: "something else", 98: "after"}}))
    assert "98" not in {row.get("data-n") for row in find(tree, "span")}


def test_places_beside_one_another_are_one_quote() -> None:
    """Three lines in a row are quoted once, together."""
    places = tuple(Evidence("a.log", n, n, f"loss nan at {n}") for n in (5, 6, 8))
    report = replace(FAILED, findings=(replace(FAILED.findings[0], evidence=places),))
    tree = parsed(render(analysis(report), {"a.log": {n: f"loss nan at {n}" for n in range(1, 12)}}))
    quotes = [f for f in find(tree, "figure") if f.get("class") == "quote"]
    assert len(quotes) == 1
    assert [row.get("data-n") for row in find(quotes[0], "span") if row.get("data-n")] == [str(n) for n in range(2, 11)]


def test_a_run_without_a_root_says_why() -> None:
    """A healthy run and one that cannot be judged have a title of their own, and the reason."""
    assert "Nothing is wrong" in read_out(page("healthy"))
    assert "What to do" not in read_out(page("healthy"))
    assert "out.log is the last 60 lines" in read_out(page("unknown"))
    assert render(analysis(UNKNOWN)).count('data-verdict="unknown"') == 1
    assert 'data-verdict="degraded"' in render(analysis(DEGRADED))


def test_the_policy_allows_the_page_itself_and_nothing_else() -> None:
    """Only the one style and the one script run, by their hashes, and nothing can be loaded, sent or framed."""
    tree = parsed(render(DIED, AROUND))
    policy = next(m.get("content", "") for m in find(tree, "meta") if m.get("http-equiv") == "Content-Security-Policy")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        own = find(tree, tag)
        assert len(own) == 1
        digest = base64.b64encode(hashlib.sha256((own[0].text or "").encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


@pytest.mark.parametrize("made", [DIED, hostile(), analysis(HEALTHY)])
def test_nothing_in_the_page_points_out_of_it(made: object) -> None:
    """No element loads anything, no attribute styles or runs anything."""
    tree = parsed(render(made))  # type: ignore[arg-type]
    assert not find(tree, "img", "iframe", "object", "embed", "link", "base", "form", "video", "audio", "image", "use")
    for element in tree.iter():
        for attribute, value in element.attrib.items():
            assert attribute not in {"src", "srcset", "style", "action", "formaction", "ping", "background"}
            assert not attribute.startswith("on")
            if attribute.endswith("href"):
                assert value.startswith("#")
    assert "http" not in re.sub(r"xmlns=\S+", "", (find(tree, "style")[0].text or ""))


def test_a_hostile_log_is_text() -> None:
    """Its tags, escapes and overrides show, in every place that it reaches, and none of them acts."""
    raw = render(hostile(), {"huge.log": {1: "\x1b[31m" * 400}})
    tree = parsed(raw)
    assert len(find(tree, "script")) == 1
    assert inert(raw.replace("\t", ""))
    shown = "".join(tree.itertext())
    assert '<script>document.title="owned"</script>' in shown
    assert "\\u202e" in shown
    assert "␛[2J" in shown


@pytest.mark.parametrize("size", [1, 400])
def test_the_page_is_bounded(size: int) -> None:
    """However much a log repeats itself, the page stays small, and says what it left out."""
    raw = render(hostile(size))
    assert len(raw.encode()) < MOST
    assert size == 1 or "characters left out" in raw


def test_many_findings_are_counted() -> None:
    """What is more than the page has room for is told as a number."""
    more = tuple(
        Finding(f"setup.f{n}", "x", "error", "high", "note", (Evidence("a.log", n, n, "y"),)) for n in range(1, 5000)
    )
    raw = render(analysis(replace(FAILED, findings=(*FAILED.findings, *more))))
    assert len(raw.encode()) < MOST
    assert "4960 further findings in the JSON report." in words(parsed(raw))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("step 14/30 on 2026-11-29 at 12:29", []),
        ("lost 29 of 30", ["29"]),
        ("Tried to allocate 276.00 GiB", ["276.00 GiB"]),
        ("allocate 1276.00 GiB", []),
    ],
)
def test_deciding_words_are_marked_where_they_stand_alone(text: str, found: list[str]) -> None:
    """A number in a date, a time or a larger number is no fact."""
    assert [part for part, decisive in marked(text, ("29", "276.00 GiB")) if decisive] == found


@given(st.text(max_size=400), st.lists(st.text(max_size=8), max_size=5))
def test_marking_loses_nothing(text: str, decisive: list[str]) -> None:
    """The parts of a line are the line."""
    assert "".join(part for part, _ in marked(text, decisive)) == text


@given(st.text(max_size=5000))
def test_no_text_acts(text: str) -> None:
    """Whatever goes into a template comes out visible; code spans are the only markup of a text."""
    assert inert(str(finalize(text)).replace("\t", ""))
    assert inert(line(text))
    bare = re.sub(r"</?code>", "", str(prose(text)))
    assert "<" not in bare
    assert ">" not in bare


def test_long_text_loses_its_middle_and_says_so() -> None:
    """Both ends of a megabyte stay."""
    text = plain("a" + "x" * 1_000_000 + "z")
    assert text.startswith("a")
    assert text.endswith("z")
    assert "996002 characters left out" in text


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_keep_their_contrast(scheme: int) -> None:
    """Text has at least 4.5 to 1 on every ground (AA), curves at least 3 to 1, in light and in dark."""
    style = find(page("failed"), "style")[0].text or ""
    colours = {
        found[1]: found[2 + scheme]
        for found in re.finditer(r"--([\w]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", style)
    }
    for ground in ("paper", "card", "sunk"):
        for ink in ("ink", "soft", "failed", "degraded", "healthy", "unknown", "add", "del"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        for curve in range(8):
            assert contrast(colours[f"s{curve}"], colours[ground]) >= 3, (curve, ground)
