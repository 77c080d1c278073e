"""Pictures of each screen, approved by a person: `SNAPSHOTS=write make test TESTS=tests/tui` draws them again."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forensics.tui.app import Browser
from tests.cli.program import ROOT
from tests.tui.screen import browse, drawn, painted, press, settled

FOLDER = Path(__file__).parent / "snapshots"
SIZES = {"80x24": (80, 24), "160x48": (160, 48)}
SCREENS: dict[str, tuple[str, tuple[str, ...]]] = {
    "root": ("002-dense-276", ()),
    "story": ("001-story", ()),
    "why": ("001-story", ("1", "z")),
    "timeline": ("010-collective-mismatch", ("2", "comma", "plus")),
    "plots": ("007-nan-loss", ("3",)),
    "cards": ("005-foreign-process", ("3", "end")),
    "memory": ("005-foreign-process", ("4",)),
    "attempts": ("001-story", ("5",)),
    "ranks": ("010-collective-mismatch", ("f", "“rank:1 level:error", "enter", "g")),
    "search": ("002-dense-276", ("slash", "“attention", "enter")),
    "wrapped": ("002-dense-276", ("w",)),
    "light": ("010-collective-mismatch", ("d", "right_square_bracket")),
    "healthy": ("003-compiled-ok", ()),
    "prompt": ("002-dense-276", ("f",)),
    "help": ("002-dense-276", ("question_mark",)),
    "export": ("002-dense-276", ("x",)),
}


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("screen", list(SCREENS))
def test_the_screen_is_as_it_was_approved(screen: str, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and colours of the screen are those of the picture."""
    monkeypatch.chdir(ROOT)
    sample, keys = SCREENS[screen]
    pictures: list[str] = []

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        for key in keys:
            await press(app, pilot, key)
        if (blinking := getattr(app.focused, "cursor_blink", None)) is not None and blinking:
            app.focused.cursor_blink = False  # type: ignore[union-attr]
        await settled(app, pilot)
        await pilot.pause(0.1)
        pictures.append(app.export_screenshot())

    browse([f"samples/{sample}/run"], script, SIZES[size], made=True)
    _compare(FOLDER / f"{screen}-{size}.svg", pictures[0])


def _compare(path: Path, svg: str) -> None:
    # The fonts would be fetched from elsewhere; any fixed-width one at hand will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    if os.environ.get("SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg, encoding="utf-8")
        return
    approved = path.read_text(encoding="utf-8")
    assert drawn(svg) == drawn(approved)
    assert painted(svg) == painted(approved)
