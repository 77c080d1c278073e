"""What a report can be written as. A further form is one more entry of `FORMS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.sources import Found

if TYPE_CHECKING:  # the engine and all parsers are the business of the other process
    from forensics.analyze import Analysis


@dataclass(frozen=True, slots=True)
class Form:
    """One form: what it is called, how its files end, and how it is made."""

    name: str
    suffix: str
    make: Callable[[Analysis, Found], bytes]


def _json(analysis: Analysis, _found: Found) -> bytes:
    from forensics.render.json_v1 import to_json

    return to_json(analysis.report)


def _markdown(analysis: Analysis, _found: Found) -> bytes:
    from forensics.render.markdown import render

    return render(analysis.report).encode("utf-8", "backslashreplace")


def _html(analysis: Analysis, found: Found) -> bytes:
    from forensics.render.html import render
    from forensics.render.html.around import around

    return render(analysis, around(found, analysis.report)).encode("utf-8", "backslashreplace")


FORMS = (
    Form("Markdown, for an issue", ".md", _markdown),
    Form("JSON, for a program", ".json", _json),
    Form("HTML, for a browser", ".html", _html),
)


def write(analysis: Analysis, found: Found, form: Form, target: str) -> Path:
    """Write a report to a file that must not exist yet.

    Raises:
        OSError: it exists, or cannot be written.
    """
    path = Path(target).expanduser()
    data = form.make(analysis, found)
    with path.open("xb") as file:
        file.write(data)
    return path
