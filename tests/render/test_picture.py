"""The picture in README."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from forensics.analyze import analyze
from forensics.render.terminal import render
from tests.cli.program import ROOT

TEXT = "{http://www.w3.org/2000/svg}text"
SAMPLE = "samples/002-dense-276/run"


def drawn() -> list[str]:
    """Return the rows of text in the picture, without its title."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for group in ET.fromstring((ROOT / "docs" / "analyze.svg").read_bytes()).iter(TEXT):  # noqa: S314 - our own file
        if "clip-path" in group.attrib:
            row = rows.setdefault(float(group.attrib["y"]), [])
            row.append((float(group.attrib["x"]), "".join(group.itertext())))
    return ["".join(text for _, text in sorted(rows[y])) for y in sorted(rows)]


def solid(lines: list[str]) -> list[str]:
    """Return lines without blanks, which a picture makes of gaps, and without empty lines."""
    return [row for line in lines if (row := "".join(line.split()))]


def test_the_picture_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture holds the words that `analyze` prints now."""
    monkeypatch.chdir(ROOT)
    now = render(analyze([SAMPLE]), 100).splitlines()
    assert solid(drawn()) == solid(now), "docs/analyze.svg is out of date: run `make picture`"


def test_the_picture_is_of_the_demonstration() -> None:
    """`make demo` and `make picture` show the same run, and the picture loads nothing from elsewhere."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^DEMO \?= {SAMPLE}$", makefile, re.MULTILINE)
    picture = (ROOT / "docs" / "analyze.svg").read_text(encoding="utf-8")
    assert f"dflash-forensics&#160;analyze&#160;{SAMPLE}" in picture
    assert "url(http" not in picture
