"""The report as Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from forensics.model import Evidence
from forensics.render.markdown import code, escape, fence, prose, render
from tests.render.reports import EVERY, FAILED, HOSTILE, UNKNOWN, inert

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def tokens(text: str) -> list[Token]:
    flat: list[Token] = []
    for token in PARSER.parse(text):
        flat.append(token)
        flat.extend(token.children or ())
    return flat


def test_headings_of_a_hostile_log_are_not_headings() -> None:
    """A log can add no heading, tag, link, emphasis or fence to the page."""
    found = tokens(render(HOSTILE))
    headings = [t.content for t in found if t.type == "inline" and t.content in ("heading", "# heading")]
    assert headings == []
    kinds = {t.type for t in found}
    assert not kinds & {"html_block", "link_open", "image", "em_open", "s_open", "hr", "blockquote_open"}
    tags = {t.content for t in found if t.type == "html_inline"}
    assert tags <= {"<!-- -->", "<sub>", "</sub>"}


def test_every_section_survives_a_hostile_log() -> None:
    """The headings are those of the renderer, in its order."""
    text = render(HOSTILE)
    parsed = PARSER.parse(text)
    headings = [parsed[n + 1].content for n, token in enumerate(parsed) if token.type == "heading_open"]
    sections = ["Evidence", "Fix", "What followed from it", "Facts", "Promised, but not there", "Read", "Notes"]
    assert headings[1:] == sections


def test_tables_keep_their_columns() -> None:
    """A bar in a value adds no column."""
    parsed = PARSER.parse(render(HOSTILE))
    rows = [n for n, token in enumerate(parsed) if token.type == "tr_open"]
    widths = set()
    for start in rows:
        end = next(n for n in range(start, len(parsed)) if parsed[n].type == "tr_close")
        widths.add(sum(token.type in ("td_open", "th_open") for token in parsed[start:end]))
    assert widths == {2, 5}


@pytest.mark.parametrize("name", EVERY)
def test_no_control_character_is_written(name: str) -> None:
    """The text holds no control character but line ends and tabs."""
    assert inert(render(EVERY[name]).replace("\t", ""))


def test_nobody_is_mentioned() -> None:
    """An at sign or a number sign in a log neither mentions a person nor links an issue."""
    assert not re.search(r"[@#]\w", escape("ask @admin about #1"))
    page = "\n".join(t.content for t in tokens(render(HOSTILE)) if t.type == "text")
    assert "@admin" not in page


def test_content_is_that_of_the_terminal() -> None:
    """Verdict, root, places, sizes, fix, missing file and notes are all there."""
    text = render(FAILED)
    for part in (
        "### failed: Attention ran dense",
        "compile.dense-fallback",
        "`train.log:97`",
        "Tried to allocate 276.00 GiB",
        "`276.00 GiB (296352743424 bytes)`",
        "`PYTORCH_ALLOC_CONF=expandable_segments:True`",
        "```diff\n--- a/launch.sh",
        "A plain restart does not help",
        "`/workspace/train_stdout_3.log` is missing; promised by launch.sh:12",
        "- times without a zone were taken as UTC",
        "rules 3f0c",
    ):
        assert part in text
    assert "dmesg" in render(UNKNOWN)


def test_texts_of_rules_keep_their_code() -> None:
    """Code spans of a rule stay code, whatever is in them, and the words around them stay words."""
    found = tokens(prose("Call `torch._dynamo.mark_dynamic(x)` on *each* `a_b`; # @all"))
    assert [t.content for t in found if t.type == "code_inline"] == ["torch._dynamo.mark_dynamic(x)", "a_b"]
    assert [t.content for t in found if t.type == "text" and t.content.strip()] == [
        "Call ",
        " on *each* ",
        "; # @",
        "all",
    ]


@given(st.text(alphabet="`<>*_[]()!#@\\ab \n|~"))
def test_no_text_filled_into_a_rule_becomes_markup(text: str) -> None:
    """Whatever a fact brings into a text of a rule, it adds code at most."""
    kinds = {t.type for t in tokens(prose(text)) if t.type != "html_inline"}
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "code_inline", "text_special"}


def test_a_line_is_quoted_once() -> None:
    """Findings that rest on one line name its place, and its words stand there once."""
    text = render(FAILED)
    assert text.count("Tried to allocate 276.00 GiB") == 1
    assert text.count("`train.log:97`") == 2
    assert "`train.log:90 to 91`" in text


@pytest.mark.parametrize("text", ["a", "`", "``", "a ``` b", "`a`", ""])
def test_code_spans_hold_any_backticks(text: str) -> None:
    """A code span shows its text whatever backticks it has."""
    spans = [t.content for t in tokens(code(text)) if t.type == "code_inline"]
    assert spans == [text or " "]


@pytest.mark.parametrize("text", ["a", "```", "```\n````\n~~~", "  ```` x", ""])
def test_fences_hold_any_text(text: str) -> None:
    """A fenced block is closed by the renderer only."""
    parsed = PARSER.parse("\n".join(fence(text)))
    assert [token.type for token in parsed] == ["fence"]
    assert parsed[0].content == f"{text}\n"


def test_long_evidence_is_shortened() -> None:
    """A huge line or block is shortened, and says so."""
    text = "x" * 1_000_000 + "\n" * 500 + "last"
    root = replace(FAILED.findings[0], evidence=(Evidence("a", 1, 1, text),))
    out = render(replace(FAILED, findings=(root,)))
    assert len(out) < 10_000
    assert "… 461 lines" in out
    assert "\nlast\n" in out
