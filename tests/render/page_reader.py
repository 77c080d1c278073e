"""The page as a person or a screen reader meets it: parsed strictly, and read out as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

import html5lib

SPACE = "{http://www.w3.org/1999/xhtml}"
SKIPPED = frozenset({"style", "script", "head", "svg", "button", "clipPath", "defs"})
BLOCKS = frozenset({
    "section", "p", "h1", "h2", "h3", "h4", "li", "tr", "figure", "figcaption", "pre", "summary", "nav", "header",
    "html", "body", "thead", "tbody", "main", "footer", "div", "ul", "ol", "table", "details", "article",
})  # fmt: skip


def parsed(page: str) -> Element:
    """Return the tree of a page; an error of its markup is an error here."""
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True)
    tree: Any = parser.parse(page)
    return tree  # type: ignore[no-any-return]


def name(element: Element) -> str:
    """Return the tag of an element without its name space."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def find(tree: Element, *tags: str) -> list[Element]:
    """Return the elements of some tags, in the order of the page."""
    return [element for element in tree.iter() if name(element) in tags]


def words(element: Element) -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(element.itertext()).split())


def read_out(tree: Element) -> str:
    """Return the page as text: a line for each block, headings marked, cells separated, rows with their numbers."""
    return "".join(f"{line}\n" for line in _lines(tree) if line.strip())


def _lines(element: Element) -> Iterator[str]:
    tag = name(element)
    if tag in SKIPPED or element.get("hidden") is not None:
        return
    if tag in {"h1", "h2", "h3", "h4"}:
        yield f"\n{'#' * int(tag[1])} {words(element)}".lstrip("\n")
    elif tag == "tr":
        yield " | ".join(words(cell) for cell in element)
    elif tag == "pre":
        rows = [row for row in element.iter() if row.get("class", "").startswith("row")]
        for row in rows:
            yield f"{'>' if 'cited' in row.get('class', '') else ' '} {row.get('data-n', ''):>4} {words(row)}"
        if not rows:
            yield from (f"    {line}" for line in "".join(element.itertext()).splitlines())
    elif any(name(child) in BLOCKS for child in element):
        yield " ".join((element.text or "").split())
        for child in element:
            yield from _lines(child)
            yield " ".join((child.tail or "").split())
    else:
        yield _inline(element)


def _inline(element: Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if name(child) not in SKIPPED and child.get("hidden") is None:
            parts.append(_inline(child))
        parts.append(child.tail or "")
    return " ".join("".join(parts).split())
