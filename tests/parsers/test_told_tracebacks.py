"""Tracebacks that were only told, and messages that somebody broke into lines."""

from __future__ import annotations

import pytest

from forensics.model import Event
from forensics.parsers.python_exception import PARSER
from tests.voices import CONTEXT, records


def parse(text: str) -> list[Event]:
    return list(PARSER.parse(records(text.strip("\n").split("\n")), CONTEXT))


HEAD = "W1129 12:50:43.835000 490 torch/_dynamo/convert_frame.py:1125] "
SUPPRESSED = f"""
{HEAD}WON'T CONVERT forward /w/m.py line 31
{HEAD}due to:
{HEAD}Traceback (most recent call last):
{HEAD}  File "/venv/torch/_dynamo/output_graph.py", line 1446, in call_user_compiler
{HEAD}    raise BackendCompilerFailed(self.compiler_fn, e)
{HEAD}torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
{HEAD}AssertionError: expected size 4==8
"""
OLDER = """
[2023-04-29 12:43:33,835] torch._dynamo.convert_frame: [ERROR] WON'T CONVERT forward /w/m.py line 31
due to:
Traceback (most recent call last):
  File "/venv/torch/_dynamo/output_graph.py", line 670, in call_user_compiler
    compiled_fn = compiler_fn(gm, inputs)
AssertionError: expected size 4==8

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/venv/torch/_dynamo/output_graph.py", line 675, in call_user_compiler
    raise BackendCompilerFailed(self.compiler_fn, e) from e
torch._dynamo.exc.BackendCompilerFailed: debug_wrapper raised AssertionError: expected size 4==8
"""


@pytest.mark.parametrize("text", [SUPPRESSED, OLDER])
def test_what_the_compiler_suppressed_was_not_raised(text: str) -> None:
    """The function runs uncompiled: neither the error nor those of its chain ended anything."""
    events = parse(text)
    assert events
    assert {e.kind for e in events} == {"ignored"}
    assert not any("AssertionError" in e.message for e in events)


def test_what_is_raised_after_a_suppressed_error_counts() -> None:
    """Only the traceback right below the compiler's words is the suppressed one."""
    text = SUPPRESSED + 'step 1\nTraceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: boom\n'
    assert parse(text)[-1].kind == "exception"


def test_a_level_before_each_line_does_not_make_a_traceback_harmless() -> None:
    """A collector stamps whatever a program prints; only the compiler's own records are asides."""
    stamp = "2026-11-29 12:50:42,001 INFO "
    (event,) = parse(
        f'{stamp}Traceback (most recent call last):\n{stamp}  File "t.py", line 1, in f\n'
        f"{stamp}torch.OutOfMemoryError: CUDA out of memory."
    )
    assert (event.kind, event.fields["exception"]) == ("exception", "torch.OutOfMemoryError")


BOX = """
╭──────────── Traceback (most recent call last) ─────────────╮
│ /w/train.py:412 in <module>                                │
╰────────────────────────────────────────────────────────────╯
"""


def test_a_message_broken_by_rich_is_one_line_again() -> None:
    """Rich breaks at the width of the terminal, so a sentence that is searched for would not be found."""
    (event,) = parse(
        BOX + "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.21 \nGiB. GPU 0 has a total capacity\n"
    )
    assert (
        event.message == "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.21 GiB. GPU 0 has a total capacity"
    )


def test_lines_that_the_program_ended_itself_stay_lines() -> None:
    """A word that would have fitted into the line above was not moved by rich."""
    (event,) = parse(BOX + "ValueError: bad\nfield\nand a long line that sets the width of all of these\n")
    assert event.message.split("\n")[:2] == ["ValueError: bad", "field"]


def test_a_message_without_a_box_keeps_its_lines() -> None:
    """Python itself never breaks a message."""
    (event,) = parse(
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: one two three\nlonger than the first\n'
    )
    assert event.message == "ValueError: one two three\nlonger than the first"


def test_the_quoted_error_belongs_to_its_wrapper_also_where_each_line_has_a_time() -> None:
    """Otherwise the wrapper would be blamed for what the inner error says."""
    text = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in f\n'
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nOutOfMemoryError: CUDA out of memory."
    )
    (event,) = parse("\n".join(f"2026-11-29T12:50:42.123456Z {line}" for line in text.split("\n")))
    assert event.message.endswith("raised:\nOutOfMemoryError: CUDA out of memory.")


def test_a_level_before_each_line_takes_nothing_from_the_frames() -> None:
    """Which tensor was asked for, and where, is read in the frames."""
    stamp = "2026-11-29 12:50:42,001 ERROR "
    lines = (
        "Traceback (most recent call last):",
        '  File "/w/t.py", line 7, in forward',
        "    y = q @ k",
        "ValueError: boom",
    )
    (event,) = parse("\n".join(f"{stamp}{line}" for line in lines))
    assert (event.fields["file"], event.fields["file_line"]) == ("/w/t.py", 7)
    assert event.fields["frames"] == '  File "/w/t.py", line 7, in forward\n    y = q @ k'
