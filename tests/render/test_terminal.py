"""The report at a terminal."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from forensics.model import Evidence, Finding, Report, Run, Source
from forensics.render import markdown
from forensics.render.terminal import render
from tests.render.reports import DEGRADED, EVERY, FAILED, HEALTHY, HOSTILE, PRODUCT, UNKNOWN, inert


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", EVERY)
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    """No row is wider than the screen, whatever the report holds."""
    assert max(cell_len(line) for line in render(EVERY[name], width).splitlines()) <= width


@pytest.mark.parametrize("color", [False, True])
def test_nothing_from_a_log_reaches_the_terminal_alive(*, color: bool) -> None:
    """Escape sequences, control characters and markup of a log are shown, never obeyed."""
    out = render(HOSTILE, 100, color=color)
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        out = out.replace(style, "")
    assert "[bold red]markup[/bold red]" in out
    assert "\x1b[2J" not in out
    assert "\x1b]" not in out
    assert not set("\x07\x08\r\x7f\x9b\u202e\udc80") & set(out)


def test_plain_text_holds_no_escape_sequence() -> None:
    """Without colour the text is plain: line ends are its only control characters."""
    for report in EVERY.values():
        assert inert(render(report, 80))


def test_colour_is_only_decoration() -> None:
    """With the colours taken out, the coloured text is the plain one, verdict word included."""
    from forensics.text.ansi import strip

    colored = render(FAILED, 80, color=True)
    assert "\x1b[" in colored
    plain = "".join(f"{strip(line).rstrip()}\n" for line in colored.splitlines())
    assert plain == render(FAILED, 80)


def test_answer_comes_first() -> None:
    """The first line is the verdict and the root's title; its id and first rank follow."""
    lines = render(FAILED, 80).splitlines()
    assert lines[0] == "FAILED  Attention ran dense instead of as a fused kernel"
    assert lines[1].startswith("compile.dense-fallback · confidence high · rank 3 first, then 0-2")


def test_evidence_stands_with_its_place() -> None:
    """Each deciding line is quoted under its path and line, the way editors take it."""
    out = render(FAILED, 80)
    assert "  train.log:97\n  │ torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 276.00 GiB.…\n" in out
    assert "train.log:90 to 91\n" in out
    assert out.count("torch.OutOfMemoryError: CUDA") == 1


def test_the_order_is_that_of_use() -> None:
    """What to do stands right after what proves it; what is context only comes last."""
    lines = render(FAILED, 80).splitlines()
    heads = ["Evidence", "Fix", "What followed from it", "Facts", "Promised, but not there", "Also seen", "Notes"]
    assert [line for line in lines if line in heads] == heads
    assert "  raised at model.py:46 in forward" in lines[lines.index("Evidence") : lines.index("Fix")]


def test_facts_are_those_of_one_finding() -> None:
    """The table holds the root's facts only, and a consequence tells its own few, none of them twice."""
    out = render(FAILED, 100)
    table = out.partition("\nFacts\n")[2].partition("\n\n")[0]
    assert "rank 3's last step  23" in table
    assert "file_line" not in table
    assert "free" not in table
    assert "    free 134.40 GiB\n" in out


def test_the_arithmetic_stands_by_itself() -> None:
    """The product that names a tensor is a line of its own, under its finding or, of the root, in the headline."""
    assert f"\n    {PRODUCT}\n" in render(FAILED, 100)
    root = replace(FAILED.findings[1], role="root", because=())
    lines = render(replace(FAILED, findings=(root,)), 120).splitlines()
    assert lines[3:6] == [PRODUCT, "", "An unfused attention holds the whole matrix."]


def test_a_broken_capture_causes_nothing() -> None:
    """What goes with a fault of the capture is said to be seen with it, and the doubt has no confidence."""
    root = replace(FAILED.findings[0], id="capture.log-missing")
    other = replace(FAILED.findings[1], because=(root.id,))
    report = replace(FAILED, findings=(root, other), verdict="unknown")
    for out in (render(report), markdown.render(report)):
        assert "Seen with it" in out
        assert "ollowed from it" not in out
        assert "because of" not in out
        assert "confidence" not in out


def test_what_is_no_part_of_the_failure_is_labelled() -> None:
    """A finding of an earlier attempt says so where it is listed."""
    assert "setup.tracker  The tracker was offline  (earlier attempt)\n" in render(FAILED, 80)


def test_a_long_report_ends_in_a_recap() -> None:
    """On a screen lower than the report, the last rows are verdict, cause, deciding place and first fix."""
    full = render(FAILED, 80)
    assert render(FAILED, 80, height=200) == full
    recapped = render(FAILED, 80, height=24)
    assert recapped.startswith(full)
    assert recapped.splitlines()[-3:] == [
        "FAILED  Attention ran dense instead of as a fused kernel",
        "compile.dense-fallback · train.log:90",
        "Fix: Call flex_attention through torch.compile",
    ]
    for report in EVERY.values():
        assert max(map(cell_len, render(report, 40, height=1).splitlines())) <= 40


def test_files_read_whole_are_counted() -> None:
    """Where nothing is odd about the files, they are a line."""
    assert "Read in runs/ok: 1 file, read whole\n" in render(HEALTHY, 80)
    out = render(FAILED, 120)
    assert "Read in runs/2026-11-29: 3 files, 2 of them read whole\n" in out
    assert "launch.sh  script" not in out


def test_the_zone_is_told_where_a_time_is() -> None:
    """That times were read in some zone is said only beside a time."""
    note = "times without a zone were read as UTC"
    assert note in render(replace(FAILED, notes=(note,)))
    assert note not in render(replace(HEALTHY, notes=(note,)))


def test_a_line_too_long_is_cut_in_its_middle() -> None:
    """A very long line keeps its beginning and its end."""
    text = "BEGIN " + "x" * 3_000_000 + " END"
    root = replace(DEGRADED.findings[0], evidence=(Evidence("t.log", 1, 1, text),))
    out = render(replace(DEGRADED, findings=(root,)), 80)
    assert "│ BEGIN xxx" in out
    assert "xxx END\n" in out
    assert "…" in out
    assert len(out) < 2000


def test_chain_leads_from_the_root_to_what_was_seen() -> None:
    """Consequences stand below their cause, further in with each step, and a note stands apart."""
    lines = render(FAILED, 100).splitlines()
    first = next(line for line in lines if "memory.dense-attention-oom" in line)
    second = next(line for line in lines if "comm.collective-timeout" in line)
    assert first.index("→") < second.index("→")
    assert "(ranks 0-2, 4-7)" in second
    assert lines.index("Also seen") > lines.index(second)


def test_sizes_are_said_twice() -> None:
    """A size is given in units and exactly."""
    assert re.search(r"requested_bytes +276\.00 GiB \(296352743424 bytes\)\n", render(FAILED, 80))


def test_fix_shows_the_change_and_what_a_restart_does() -> None:
    """A fix lists its environment, arguments and diff, and the advice on restarting stands beside it."""
    out = render(FAILED, 80)
    assert "environment  PYTORCH_ALLOC_CONF=expandable_segments:True" in out
    assert "environment  unset TORCH_COMPILE_DISABLE" in out
    assert "arguments    --attention flex" in out
    assert "+python -u train.py" in out
    assert "A plain restart does not help" in out


def test_missing_files_name_their_promise() -> None:
    """A promised file that is not there is named with the line that promised it."""
    out = render(FAILED, 100)
    assert "/workspace/train_stdout_3.log  missing; promised by launch.sh:12; nearest here: train.log" in out


def test_damage_of_sources_is_said() -> None:
    """The table of sources tells which were cut or read in part, and why."""
    assert "cut, read in part: ends inside a line" in render(FAILED, 120)


@pytest.mark.parametrize("report", [HEALTHY, UNKNOWN])
def test_a_verdict_without_root_gives_its_reason(report: Report) -> None:
    """Healthy says what proves it; unknown says why and what would settle it; neither advises a restart."""
    out = render(report, 200)
    assert report.reason in " ".join(out.split())
    assert "restart" not in out


def test_many_of_a_kind_are_counted() -> None:
    """Hundreds of files are cut to a screenful, the damaged ones kept, and the rest counted."""
    sources = tuple(
        Source(f"rank{n}.log", "training-log", 10, 1, "torn" if n % 8 == 0 else "whole") for n in range(512)
    )
    out = render(Report(Run("r"), "unknown", "maybe", sources), 80)
    assert "512 files, 448 of them read whole" in out
    assert "rank120.log" in out
    assert "and 48 more files" in out


def test_a_circle_of_causes_ends() -> None:
    """Findings that name each other as their cause are shown once each."""
    evidence = (Evidence("a", 1, 1, "x"),)
    one = Finding("a.a", "A", "error", "high", "root", evidence, because=("a.b",))
    two = Finding("a.b", "B", "error", "high", "cause", evidence, because=("a.a",))
    out = render(Report(Run("r"), "failed", "no", (), findings=(one, two)), 80)
    assert out.count("a.b") == 1
