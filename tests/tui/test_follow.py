"""A run that goes on: what it writes is shown, what is found anew is told, and silence has a length."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forensics.sources import find
from forensics.tui import app as module
from forensics.tui import watch
from forensics.tui.app import Browser
from forensics.tui.watch import Watch
from tests.cli.program import OOM
from tests.tui.screen import browse, line, press, rows, until

STEPS = "".join(f"2026-11-29 12:00:{n:02d} step {n}/100 loss 2.5\n" for n in range(20))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.05)
    monkeypatch.setattr(module, "REST", 0.0)
    monkeypatch.setattr(watch, "SEARCH_S", 0.05)


def test_what_is_written_appears_and_findings_are_told(tmp_path: Path) -> None:
    """New lines are shown to a reader at the end, a new file is listed, and a new finding is announced."""
    log = tmp_path / "train.log"
    log.write_text(STEPS)

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "G")
        assert line(app) == 20
        assert any("following" in row for row in rows(app))
        with log.open("a") as file:
            file.write("2026-11-29 12:00:21 step 21/100 loss 2.5\n")
        await until(pilot, lambda: line(app) == 21)
        (tmp_path / "second.log").write_text("step 1/10 loss 1.0\n")
        await until(pilot, lambda: any("second.log" in row for row in rows(app)))
        await press(app, pilot, "g")
        with log.open("a") as file:
            file.write(OOM)
        await until(pilot, lambda: any("FAILED" in row for row in rows(app)))
        await until(pilot, lambda: any("new finding" in row for row in rows(app)))
        assert line(app) == 1

    browse([tmp_path], script, (100, 30), follow=True)


def test_a_log_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    """A log that was cut shows what it holds now."""
    log = tmp_path / "train.log"
    log.write_text(STEPS)

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        log.write_text("a new try\n")
        await until(pilot, lambda: any("a new try" in row for row in rows(app)))

    browse([tmp_path], script, follow=True)


def test_a_filter_goes_on(tmp_path: Path) -> None:
    """Lines that are written later pass through the filter as well."""
    log = tmp_path / "train.log"
    log.write_text(STEPS)

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "f", "“step", "enter", "G")
        with log.open("a") as file:
            file.write("noise\nstep 22/100 loss 2\n")
        await until(pilot, lambda: line(app) == 22)

    browse([tmp_path], script, follow=True)


def test_silence_has_a_length(tmp_path: Path) -> None:
    """A run that writes nothing is silent for as long as its last byte is old."""
    log = tmp_path / "train.log"
    log.write_text(STEPS)
    old = time.time() - 754
    os.utime(log, (old, old))
    seen = Watch([str(tmp_path)], find([str(tmp_path)]))
    assert seen.silence(old + 754) == "silent for 12 min 34 s"
    assert seen.silence(old + 5) == ""

    async def script(app: Browser, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: any("silent for 12 min" in row for row in rows(app)))

    browse([tmp_path], script, follow=True)


def test_a_look_tells_what_changed(tmp_path: Path) -> None:
    """Between two looks only what grew is named, and a run that has gone is nothing new."""
    (tmp_path / "a.log").write_text("step 1\n")
    (tmp_path / "b.log").write_text("step 1\n")
    seen = Watch([str(tmp_path)], find([str(tmp_path)]))
    assert seen.look(100.0) == ([], 0)
    with (tmp_path / "b.log").open("a") as file:
        file.write("step 2\n")
    (tmp_path / "c.log").write_text("step 1\n")
    changed, new = seen.look(200.0)
    assert new == 1
    assert set(changed) == {"b.log", "c.log"}
    for name in "abc":
        (tmp_path / f"{name}.log").unlink()
    tmp_path.rmdir()
    assert seen.look(300.0) == ([], 0)
