"""Stacks that are not tracebacks: faulthandler, py-spy, MPI and UCX."""

from __future__ import annotations

import pytest

from forensics.parsers.stack_dump import PARSER
from tests.cutting import check_laws, one, parse

FATAL = """
step 3 loss 8.95
Fatal Python error: Segmentation fault

Thread 0x00007f3ef6f49141 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 355 in wait

Current thread 0x00007f3ef6f49140 (most recent call first):
  File "/usr/lib/python3.12/ctypes/__init__.py", line 525 in string_at
  File "/root/train/misc.py", line 107 in <module>

Extension modules: numpy._core._multiarray_umath, torch._C (total: 2)
step 4 loss 8.90
"""


def test_a_fatal_error_names_the_signal_and_the_innermost_frame_of_the_thread_that_died() -> None:
    """The current thread decides, wherever it stands among the others."""
    event = one(PARSER, FATAL)
    assert (event.kind, event.line, event.end_line) == ("fatal", 2, 11)
    assert (event.fields["signal"], event.fields["exception"]) == (11, "Segmentation fault")
    assert (event.fields["file"], event.fields["file_line"]) == ("/usr/lib/python3.12/ctypes/__init__.py", 525)
    assert (event.fields["function"], event.fields["threads"]) == ("string_at", 2)


@pytest.mark.parametrize(
    ("words", "signal"),
    [
        ("Aborted", 6),
        ("Bus error", 7),
        ("Floating-point exception", 8),
        ("Illegal instruction", 4),
        ("Segmentation fault", 11),
        ("PyEval_SaveThread: the function must be called with the GIL held", None),
    ],
)
def test_the_headline_tells_the_signal(words: str, signal: int | None) -> None:
    """A fatal error of the interpreter itself has none."""
    event = one(PARSER, f"Fatal Python error: {words}")
    assert event.fields.get("signal") == signal
    assert event.fields["exception"] == words


def test_a_timeout_dump_tells_after_how_long() -> None:
    """faulthandler.dump_traceback_later: the program is stuck, not dead. Names come with 3.14."""
    event = one(
        PARSER,
        "Timeout (0:05:00)!\n"
        "Thread 0x00007f99ab3836c0 [MainThread] (most recent call first):\n"
        '  File "a.py", line 3 in work\n  File "a.py", line 9 in <module>\n  ...\n'
        "Thread 0x00007f99ab3836c1 (most recent call first):\n  <no Python frame>",
    )
    assert (event.kind, event.fields["after_ms"], event.fields["threads"]) == ("timeout", 300_000, 2)
    assert event.fields["innermost"] == ("MainThread: work (a.py:3)", "0x00007f99ab3836c1: ")


def test_a_py_spy_dump_lists_what_each_thread_does() -> None:
    """Main thread first, innermost frame first; arguments and locals belong to it."""
    event = one(
        PARSER,
        "Process 4242: python train.py --config x.yaml\nPython v3.11.4 (/usr/bin/python3.11)\n\n"
        'Thread 4242 (idle): "MainThread"\n    wait (threading.py:320)\n    get (queue.py:171)\n        Arguments:\n'
        '            self: <Queue>\nThread 0x7F12 (active+gil): "Thread-1 (drafter)"\n    run (x.py:3)\n\nstep 5 loss 3',
    )
    assert (event.kind, event.line, event.end_line) == ("py-spy", 1, 10)
    assert (event.fields["pid"], event.fields["threads"]) == (4242, 2)
    assert event.fields["innermost"] == (
        "MainThread (idle): wait (threading.py:320)",
        "Thread-1 (drafter) (active with the GIL): run (x.py:3)",
    )


def test_signal_blocks_of_mpi_and_ucx_tell_process_and_signal() -> None:
    """Two handlers, two forms."""
    events = parse(
        PARSER,
        "[node1:55] *** Process received signal ***\n[node1:55] Signal: Segmentation fault (11)\n"
        "[node1:55] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f]\n[node1:55] *** End of error message ***\n"
        "[node1:56:0:56] Caught signal 7 (Bus error: nonexistent physical address)\n==== backtrace (tid:     56) ====\n"
        " 0 0x0000000000014420 __funlockfile()  ???:0\n=================================",
    )
    assert [(e.kind, e.fields["pid"], e.fields["signal"], e.end_line) for e in events] == [
        ("mpi-signal", 55, 11, 4),
        ("mpi-signal", 56, 7, 8),
    ]


def test_dumps_of_two_ranks_that_interleave_are_kept_apart() -> None:
    """The launcher's prefix tells whose line it is."""
    events = parse(
        PARSER,
        "[rank0]: Fatal Python error: Aborted\n[rank1]: Fatal Python error: Segmentation fault\n[rank0]: \n"
        "[rank0]: Current thread 0x01 (most recent call first):\n[rank1]: Current thread 0x02 (most recent call first):\n"
        '[rank0]:   File "a.py", line 1 in f\n[rank1]:   File "b.py", line 2 in g',
    )
    assert [(e.rank, e.fields["signal"], e.fields["file"]) for e in events] == [(0, 6, "a.py"), (1, 11, "b.py")]


@pytest.mark.parametrize(
    "line",
    [
        "Process 3: finished epoch 2",
        "Timeout (60 s) while waiting for the store",
        "Thread 7 (idle) joined",
        "Caught signal handler for SIGTERM",
        'print("Fatal error")',
        "[node1:55] mca_base_component_repository_open: unable to open mca_btl_openib",
    ],
)
def test_look_alikes_stay_silent(line: str) -> None:
    """Words of dumps without a dump."""
    assert parse(PARSER, line) == []


def test_a_dump_of_a_thousand_lines_is_quoted_in_part() -> None:
    """Its extent is told all the same."""
    frames = "\n".join(f'  File "a.py", line {n} in f' for n in range(1000))
    event = one(PARSER, f"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n{frames}")
    assert event.end_line == 1003
    assert event.text.count("\n") < 300


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other."""
    check_laws(PARSER, [*FATAL.strip().split("\n"), "Timeout (0:00:10)!", "Process 1: python", 'Thread 1 (idle): "M"'])
