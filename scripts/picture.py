"""Draw the picture of README: what `analyze` prints for a run, as an SVG with no outside parts."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from forensics.analyze import analyze
from forensics.render.terminal import document

WIDTH = 100
TARGET = Path(__file__).resolve().parent.parent / "docs" / "analyze.svg"


def main(path: str) -> None:
    """Analyse a run and write the picture."""
    console = Console(width=WIDTH, record=True, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(document(analyze([path]), WIDTH))
    title = f"dflash-forensics analyze {path}"
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="analyze")
    # Why: the fonts would be fetched from elsewhere; any fixed-width one at hand will do.
    TARGET.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), encoding="utf-8")
    print(TARGET)


if __name__ == "__main__":
    main(sys.argv[1])
