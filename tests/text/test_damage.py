"""Damage is told from the text alone, and tables and fixed formats are not damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.damage import (
    display_width,
    is_limit,
    looks_torn,
    nul_runs,
    pane_width,
    rejoin,
    trailing_nuls,
)

STEPS = [
    f"step {i:6d} | loss {9 - i / 250:.4f} | lr {i * 3.75e-6:.2e} | grad_norm 1.3{i % 10}0 | tok/s {48211 + i} | "
    f"q_target 12 | mem 71.2/96.0 GiB | accept_len 2.{i % 10}0"
    for i in range(60)
]
TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/root/train/dflash/fake_train.py", line 12, in <module>',
    '    if mode=="exc" and s==120: raise RuntimeError("token id 151999 out of range for vocabulary of 151936")',
    "RuntimeError: token id 151999 out of range for vocabulary of 151936",
]


def wrapped(lines: list[str], width: int) -> list[str]:
    """Break lines as tmux's capture-pane shows them: at the width, without blanks at the end."""
    return [line[i : i + width].rstrip() for line in lines for i in range(0, max(len(line), 1), width)]


@pytest.mark.parametrize("width", [80, 90, 100, 110, 120])
def test_a_wrapped_capture_tells_its_width_and_is_put_together_again(width: int) -> None:
    """The width of the pane is found, and every logical line comes back with the lines it spans."""
    lines = ["loading data", *STEPS, *TRACEBACK]
    capture = wrapped(lines, width)
    assert pane_width(capture) == width
    joined = rejoin(capture, width)
    assert [text for _, _, text in joined] == lines
    assert [i for first, last, _ in joined for i in range(first, last + 1)] == list(range(len(capture)))


def test_a_blank_lost_at_every_wrap_is_put_back() -> None:
    """Where all lines wrap on a blank, none shows the full width; the blank is part of the message all the same."""
    lines = [
        f"step {i:7d} | loss 7.9{i:03d} | lr 6.00e-04 | mem 71.2/96.0 GiB {'x' * 8} | len {i:04d}" for i in range(40)
    ]
    capture = wrapped(lines, 70)
    assert {len(line) for line in capture[::2]} == {69}
    assert pane_width(capture) == 70
    assert [text for _, _, text in rejoin(capture, 70)] == lines


def test_one_wrap_is_proof_only_where_a_terminal_is_known() -> None:
    """A short capture shows one long message; the same text in a file may be as wide as it happens to be."""
    for width in (90, 80):  # inside a word, and at a blank
        capture = wrapped(TRACEBACK, width)
        assert pane_width(capture) is None
        assert pane_width(capture, known=True) == width
    assert pane_width(TABLE, known=True) is None


DEAD = [*[""] * 20, "Pane is dead (status 1, Sun Nov 29 13:00:38 2026)"]


@pytest.mark.parametrize(
    "next_one",
    ["bash: ", "sh: 1: ", "/usr/bin/bash: line 3: ", "python3: ", "/opt/venv/bin/python: ", "run7.sh: line 4: "],
)
def test_complaints_below_one_another_are_not_one_line(next_one: str) -> None:
    """A first complaint that happens to be as long as a terminal may be wide does not swallow the second."""
    first = "tee: /workspace/logs/runs/0007/train.log: No such file or directory".ljust(69, ".")
    lines = [first, f"{next_one}/root/start.sh: No such file or directory", *DEAD]
    assert pane_width(lines, known=True) is None
    assert [text for _, _, text in rejoin(lines, 70)] == lines


def test_a_wrap_before_a_blank_keeps_the_blank() -> None:
    """Where the first character of the next row is the blank, the terminal shows it there."""
    tee = "tee: /workspace/run007/train.log: No such file or directory"
    complaint = (
        "/opt/venv/bin/python: can't open file '/workspace/run007/trian.py': [Errno 2] No such file or directory"
    )
    lines = [*wrapped([tee, complaint], 80), *DEAD]
    assert lines[2].startswith(" such")
    assert pane_width(lines, known=True) == 80
    assert [text for _, _, text in rejoin(lines, 80)] == [tee, complaint, *DEAD]


TABLE = ["+" + "-" * 70 + "+", *(["| " + "x" * 68 + " |"] * 9), "+" + "-" * 70 + "+"]
PROSE = [
    "The quick brown fox jumps over the lazy dog and then it goes on to say that the",
    "training of large models is an expensive thing that nobody should do more often",
    "than strictly needed, which is why logs ought to be kept, read, and understood",
    "by whoever comes next. A second paragraph would say the same in other words, but",
    "there is none.",
] * 4


@pytest.mark.parametrize(
    "lines",
    [
        STEPS,
        TABLE * 3,
        PROSE,
        ["2026-11-29 12:00:00 INFO step %03d loss 3.25 and some more text to reach a width" % i for i in range(50)],  # noqa: UP031
        [f"[rank{i}]: /opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:429: UserWarning: torch.utils"
         for i in range(8) for _ in (0,)] + ["  warnings.warn("] * 8,
        [x for i in range(8) for x in (f"[rank{i}]: UserWarning: the reentrant parameter should be passed explicitly to it",
                                       "  warnings.warn(")],
        ["short", "lines", "only"],
        ["x" * 5000, "y"] * 5,
        [],
    ],
    ids=["fixed format", "table", "folded prose", "stamped", "warnings", "warnings of ranks", "short", "long", "nothing"],
)  # fmt: skip
def test_what_no_terminal_wrapped_has_no_width(lines: list[str]) -> None:
    """Equal widths alone prove nothing: tables, records of one format, prose and repeated warnings stay whole."""
    assert pane_width(lines) is None


def test_wide_characters_take_two_columns() -> None:
    """A terminal wraps by columns, not by characters."""
    assert (display_width("日本"), display_width("e\u0301"), display_width("ab")) == (4, 1, 2)


@given(st.lists(st.text(max_size=130), max_size=30), st.integers(40, 120))
def test_rejoining_covers_every_line_once(lines: list[str], width: int) -> None:
    """Each physical line is in exactly one logical line, in order, whatever the lines are."""
    joined = rejoin(lines, width)
    assert [i for first, last, _ in joined for i in range(first, last + 1)] == list(range(len(lines)))
    pane_width(lines)


@pytest.mark.parametrize(
    ("last", "torn"),
    [
        (STEPS[7][:40], True),
        (STEPS[7][:-30], True),
        (STEPS[7], False),
        ("{'loss': 2.31, 'grad_nor", True),
        ("{'loss': 2.31, 'epoch': 0.1}", False),
        ("half a character \ufffd", True),
        ("", False),
        ("a line of its own kind", False),
    ],
)
def test_a_last_line_is_torn_where_its_siblings_go_on(last: str, *, torn: bool) -> None:
    """Shorter than its siblings, an open brace, half a character: torn; complete or unique: not."""
    assert looks_torn(last, STEPS) is torn


def test_a_progress_bar_is_compared_with_its_own_records() -> None:
    """Only the last record of a line counts, and the length of a bar does not matter."""
    bars = "\r".join(
        f"Loading:  {i * 3}%|{'█' * i}{' ' * (9 - i)}| {i}/30 [00:{i:02d}<01:13, 6.10s/it]" for i in range(9)
    )
    assert looks_torn(bars + "\rLoading:  60%|██████▎  | 19/3", [])
    assert not looks_torn(bars, [])


def test_nul_bytes_are_counted_where_they_are() -> None:
    """Holes in the middle and at the end are told apart."""
    assert nul_runs(b"a\0\0b\0") == [(1, 2), (4, 1)]
    assert nul_runs(b"") == []
    assert (trailing_nuls(b"a\0\0b\0\0\0"), trailing_nuls(b"ab"), trailing_nuls(b"\0\0")) == (3, 0, 2)


def test_block_multiples_are_what_a_full_disk_leaves() -> None:
    """24576 bytes is six blocks; an empty file is no block at all."""
    assert is_limit(24576)
    assert is_limit(60000)
    assert not is_limit(24575)
    assert not is_limit(0)


def test_the_shipped_capture_of_a_terminal_is_recognised() -> None:
    """A real capture, 80 columns wide, is put together without losing a line."""
    run = Path(__file__).parents[2] / "samples" / "011-tmux-wrapped" / "run" / "pane.txt"
    lines = run.read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert pane_width(lines) == 80
    assert 'raise RuntimeError("token id 151999 out of range for vocabulary of 151936")' in rejoin(lines, 80)[-3][2]
