"""The page in a real browser: it asks for nothing, runs nothing of a log, and answers keys and mouse."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from forensics.analyze import conclude
from forensics.render.html import render
from forensics.render.html.around import around
from forensics.rulebook.load import load
from forensics.sources import find
from tests.cli.program import ROOT
from tests.render.analyses import AROUND, DIED, analysis, hostile
from tests.render.browser import Browser, program
from tests.render.reports import EVERY

SAMPLES = (
    "001-story",
    "002-dense-276",
    "003-compiled-ok",
    "006-recompile-limit",
    "007-nan-loss",
    "010-collective-mismatch",
)
SCROLLING = "'.scroll, svg, #tip, .skip, .run'"
CTRL = 2


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this file."""
    executable = program()
    if executable is None:
        pytest.skip("there is no Chromium here, and nothing stands in for it")
    mine = Browser(executable)
    try:
        yield mine
    finally:
        mine.close()


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Browser:
    """A browser of desktop size that shows the page on a run that died."""
    browser.media("screen", prefers_color_scheme="light")
    browser.scripts(on=True)
    browser.size(1280, 900)
    browser.open(written(tmp_path, render(DIED, AROUND)))
    return browser


def written(folder: Path, page: str) -> Path:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def quiet(browser: Browser, path: Path) -> bool:
    """Tell whether a page asked for itself only, and its console stayed empty."""
    assert browser.complaints == []
    return browser.asked == [path.resolve().as_uri()]


def overflowing(browser: Browser) -> list[str]:
    """Return what reaches over the right edge of the window, but for what scrolls on its own."""
    found = browser.evaluate(
        "[...document.body.querySelectorAll('*')].filter(one => !one.closest(" + SCROLLING + ")"
        " && getComputedStyle(one).display !== 'none' && one.getBoundingClientRect().right > innerWidth + 1)"
        ".map(one => one.outerHTML.slice(0, 120))"
    )
    assert browser.evaluate("document.documentElement.scrollWidth") <= browser.evaluate("innerWidth")
    return list(found)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_opens_without_a_request_or_a_complaint(browser: Browser, tmp_path: Path, sample: str) -> None:
    """On a desk and on a telephone, in light and in dark; the answer is in the first screen."""
    found = find([str(ROOT / "samples" / sample / "run")])
    made = conclude(found, load())
    path = written(tmp_path, render(made, around(found, made.report)))
    for width, height, scheme in ((1280, 900, "light"), (390, 844, "dark")):
        browser.media("screen", prefers_color_scheme=scheme)
        browser.size(width, height)
        browser.open(path)
        assert quiet(browser, path)
        assert overflowing(browser) == []
        for answer in (".verdict", "h1", ".why h2", *([".todo .first"] if made.report.root else [])):
            bottom = browser.evaluate(f"document.querySelector({answer!r}).getBoundingClientRect().bottom")
            assert bottom <= height, answer
        assert len(browser.picture()) > 10_000


@pytest.mark.parametrize("name", EVERY)
def test_every_verdict_opens(browser: Browser, tmp_path: Path, name: str) -> None:
    """Each verdict, and a report that a hostile log wrote."""
    path = written(tmp_path, render(analysis(EVERY[name])))
    browser.open(path)
    assert quiet(browser, path)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hostile_log_runs_and_overflows_nothing(browser: Browser, tmp_path: Path, width: int) -> None:
    """Scripts, handlers, overrides and megabytes stay text within their columns."""
    path = written(tmp_path, render(hostile(300), {"huge.log": {1: "\x1b[31m" * 400}}))
    browser.size(width, 844)
    browser.open(path)
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert quiet(browser, path)
    assert browser.evaluate("document.title").startswith("FAILED: ")
    assert browser.evaluate("document.scripts.length") == 1
    assert overflowing(browser) == []


def test_what_would_run_is_refused_even_as_markup(browser: Browser, tmp_path: Path) -> None:
    """Were a text ever taken for markup, the policy of the page would still let nothing of it run or load."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        outside = f"http://127.0.0.1:{server.getsockname()[1]}"
        bad = (
            f"<script>document.title='owned'</script><script src='{outside}/s.js'></script>"
            f"<img src='{outside}/x' onerror=\"document.title='owned'\"><object data='{outside}/o'></object>"
            f"<style>@import '{outside}/c.css'; h1 {{ display: none }}</style><link rel=icon href='{outside}/z'>"
        )
        path = written(tmp_path, render(DIED).replace("</main>", bad + "</main>"))
        browser.open(path)
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert browser.evaluate("document.title") != "owned"
    assert browser.evaluate("getComputedStyle(document.querySelector('h1')).display") == "block"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_colours_follow_the_system_and_the_button(shown: Browser) -> None:
    """Light and dark come from the system until somebody decides, and the button says what is chosen."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light = shown.evaluate(ground)
    shown.media("screen", prefers_color_scheme="dark")
    dark = shown.evaluate(ground)
    assert light != dark
    shown.evaluate("document.querySelector('#theme').click()")
    assert shown.evaluate("document.querySelector('#theme').textContent") == "Theme: light"
    assert shown.evaluate(ground) == light
    shown.evaluate("document.querySelector('#theme').click()")
    shown.media("screen", prefers_color_scheme="light")
    assert shown.evaluate(ground) == dark
    shown.evaluate("document.querySelector('#theme').click()")
    assert shown.evaluate(ground) == light


def test_keys_go_from_mark_to_mark_and_to_the_evidence(shown: Browser) -> None:
    """Of the marks one is a stop for Tab; arrows move in time and between lanes, Enter leads to the quote."""
    focused = "document.activeElement.getAttribute('aria-label')"
    assert shown.evaluate("document.querySelectorAll('a.spot[tabindex=\"0\"]').length") == 1
    shown.evaluate("document.querySelector('a.spot[tabindex=\"0\"]').focus()")
    assert "in math_attention" in shown.evaluate(focused)
    shown.press("ArrowRight")
    assert "OutOfMemoryError" in shown.evaluate(focused)
    assert "OutOfMemoryError" in shown.evaluate("document.querySelector('#tip').textContent")
    shown.press("ArrowUp")
    assert "Watchdog" in shown.evaluate(focused)
    shown.press("Enter")
    shown.evaluate("new Promise(done => setTimeout(done, 50))")
    target = shown.evaluate("location.hash")
    assert shown.evaluate(f"document.querySelector('{target}').textContent.includes('Watchdog')")
    assert shown.evaluate("document.activeElement.id") == target[1:]


def test_the_timeline_zooms_by_keys_wheel_and_buttons(shown: Browser) -> None:
    """Each makes the same events lie further apart; the whole comes back, and the failure is looked at."""
    apart = (
        "(() => { const xs = [...document.querySelectorAll('a.spot path')].map(one => one.transform.baseVal[0].matrix.e);"
        " return Math.max(...xs) - Math.min(...xs); })()"
    )
    whole = shown.evaluate(apart)
    shown.evaluate("document.querySelector('.lanes').focus()")
    shown.press("+")
    keyed = shown.evaluate(apart)
    assert keyed == pytest.approx(2 * whole, rel=0.05)
    shown.press("0")
    assert shown.evaluate(apart) == whole
    x, y = shown.evaluate(
        "(() => { const one = document.querySelector('.lanes'); one.scrollIntoView({ behavior: 'instant', block: 'center' });"
        " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    shown.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120, modifiers=CTRL)
    shown.evaluate("new Promise(done => setTimeout(done, 50))")
    assert shown.evaluate(apart) > whole * 1.1
    shown.evaluate("document.querySelector('[data-zoom=all]').click()")
    assert shown.evaluate(apart) == whole
    shown.evaluate("document.querySelector('[data-zoom=failure]').click()")
    assert shown.evaluate(apart) > whole
    assert shown.complaints == []


def test_plots_tell_their_values(shown: Browser) -> None:
    """Arrows go along a curve, and each value says how much, where, and in which line."""
    shown.evaluate("document.querySelector('#p-loss svg').focus()")
    shown.press("ArrowRight")
    shown.press("ArrowRight")
    assert shown.evaluate("document.querySelector('#tip').textContent") == "8.16667  at step 1\nline 2"
    apart = (
        "document.querySelector('#tip').getBoundingClientRect().top"
        " - document.querySelector('#p-loss svg').getBoundingClientRect().top"
    )
    before = shown.evaluate(apart)
    shown.evaluate("scrollTo({ top: scrollY > 200 ? 0 : scrollY + 300, behavior: 'instant' })")
    assert shown.evaluate("document.querySelector('#tip').hidden") is False
    assert shown.evaluate(apart) == pytest.approx(before, abs=1)  # the tip goes along with its plot
    shown.press("Escape")
    assert shown.evaluate("document.querySelector('#tip').hidden") is True


def test_evidence_is_copied_without_its_surroundings(shown: Browser) -> None:
    """What lands in the clipboard is what the evidence says."""
    shown.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    shown.evaluate("document.querySelector('#e1 .copy').click()")
    copied = shown.evaluate("new Promise(done => setTimeout(() => done(window.copied), 20))")
    assert copied.startswith("  in math_attention\n")
    assert "next" not in copied
    shown.evaluate("document.querySelector('#fix-1 .copy[data-copy$=diff]').click()")
    diff = shown.evaluate("new Promise(done => setTimeout(() => done(window.copied), 20))")
    assert diff == DIED.report.findings[0].fixes[0].script.rstrip("\n")


def test_a_link_into_what_is_folded_unfolds_it(shown: Browser, tmp_path: Path) -> None:
    """A row of the table of events is seen when something leads to it."""
    shown.open(written(tmp_path, render(DIED, AROUND)), "#t2")
    assert shown.evaluate("document.querySelector('#t2').closest('details').open")


def test_without_scripts_the_page_says_the_same(browser: Browser, tmp_path: Path) -> None:
    """No control is there that does nothing, and everything that matters is."""
    path = written(tmp_path, render(DIED, AROUND))
    browser.scripts(on=False)
    browser.size(1280, 900)
    browser.open(path)
    browser.scripts(on=True)
    seen = "(selector) => [...document.querySelectorAll(selector)].filter(one => one.getBoundingClientRect().height > 0).length"
    assert browser.evaluate(f"({seen})('button')") == 0
    assert browser.evaluate(f"({seen})('h1, .todo, .quote, .curve, a.spot')") > 10
    assert browser.evaluate(f"({seen})('a.spot[href]')") == 3


def test_on_paper_everything_is_unfolded_and_no_control_is_left(shown: Browser) -> None:
    """Printing opens what is folded, hides what only a screen can use, and is light even for a dark screen."""
    shown.media("print", prefers_color_scheme="dark")
    seen = "(selector) => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility()).length"
    assert shown.evaluate(f"({seen})('button, nav, kbd')") == 0
    assert shown.evaluate(f"({seen})('#t-table tbody tr')") == 3
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.paper().startswith(b"%PDF")
    assert shown.complaints == []


def test_a_run_of_many_ranks_stays_usable(browser: Browser, tmp_path: Path) -> None:
    """Sixty-four ranks of thousands of steps open as quickly as one, and fit."""
    told = tuple(
        replace(step, rank=rank, line=n * 64 + rank + 1) for n, step in enumerate(DIED.steps * 40) for rank in range(64)
    )
    path = written(tmp_path, render(replace(DIED, steps=told), AROUND))
    browser.size(390, 844)
    browser.open(path)
    assert quiet(browser, path)
    assert overflowing(browser) == []
