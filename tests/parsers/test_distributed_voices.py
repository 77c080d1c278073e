"""The process group, NCCL and the launcher: what each of their lines becomes."""

from __future__ import annotations

import pytest

from forensics.model import Event, LineParser
from forensics.parsers import c10d, device_assert, dynamo, nccl, python_warning, torchrun, usage
from tests.voices import CONTEXT, records


def parse(parser: LineParser, text: str) -> list[Event]:
    return list(parser.parse(records(text.strip("\n").split("\n")), CONTEXT))


WORK = "WorkNCCL(SeqNum=25, OpType=ALLREDUCE, NumelIn=7, NumelOut=7, Timeout(ms)=20000) ran for 20020 milliseconds"


@pytest.mark.parametrize(
    "line",
    [
        f"[rank1]:[E1129 12:56:00.428789601 ProcessGroupNCCL.cpp:689] [Rank 1] Watchdog caught collective operation "
        f"timeout: {WORK} before timing out.",
        f"[E ProcessGroupNCCL.cpp:474] [Rank 1] Watchdog caught collective operation timeout: {WORK} before timing out.",
        "[E ProcessGroupNCCL.cpp:821] [Rank 1] Caught collective operation timeout: WorkNCCL(SeqNum=25, OpType=ALLREDUCE, "
        "TensorShape=[7], Timeout(ms)=20000) ran for 20020 milliseconds before timing out.",
    ],
    ids=["2.2 and later", "2.1", "1.13 and 2.0"],
)
def test_a_timeout_tells_rank_sequence_and_operation_in_every_release(line: str) -> None:
    """The sentence grew; its facts did not change."""
    (event,) = parse(c10d.PARSER, line)
    assert (event.kind, event.rank) == ("timeout", 1)
    assert (event.fields["seq"], event.fields["collective"], event.fields["timeout_ms"]) == (25, "ALLREDUCE", 20000)


def test_a_timeout_began_before_it_was_reported() -> None:
    """Who failed first is looked for before the moment at which the waiting began."""
    (event,) = parse(
        c10d.PARSER,
        f"[rank1]:[E1129 12:56:00.428789601 ProcessGroupNCCL.cpp:689] [Rank 1] Watchdog caught collective operation "
        f"timeout: {WORK} before timing out.",
    )
    assert event.time is not None
    assert event.fields["waiting_since"] == pytest.approx(event.time - 20.02)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence id: 25 PG status: "
         "last enqueued work: 60, last completed work: 24 ProcessGroupNCCL", "group-status"),
        ("[rank0]:[E1129 1:2:3.4 ProcessGroupNCCL.cpp:750] [Rank 0] Some NCCL operations have failed or timed out.", "teardown"),
        ("[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", "bind"),
        ("[W socket.cpp:663] [c10d] The client socket has failed to connect to [node0]:29500 (errno: 111 - x).", "connect"),
        ("[rank0]:[W1129 1:2:3.4 ProcessGroupNCCL.cpp:1] using GPU 0 to perform barrier as devices used by this process "
         "are currently unknown.", "device-guess"),
    ],
)  # fmt: skip
def test_other_lines_have_their_kinds(line: str, kind: str) -> None:
    """What follows a failure is told from the failure."""
    assert [e.kind for e in parse(c10d.PARSER, line)] == [kind]


def test_the_echo_of_a_timeout_in_an_exception_is_not_a_second_one() -> None:
    """The same sentence stands in `what()` and in frames; the exception's parser has it."""
    assert not parse(c10d.PARSER, f"  what():  [Rank 1] Watchdog caught collective operation timeout: {WORK}")


def test_nccl_warns_with_and_without_its_head() -> None:
    """2.26 put a time and a file before WARN."""
    old = "node1:693:901 [0] misc/socket.cc:483 NCCL WARN Connection closed by remote peer node2<5000>"
    new = "[2026-11-29 12:55:15] node1:693:901 [0] misc/socket.cc:483 NCCL WARN Connection closed by remote peer node2"
    for line in (old, new, "NCCL WARN Connection closed by remote peer node2"):
        (event,) = parse(nccl.PARSER, line)
        assert event.kind == "warn"
        assert event.message.startswith("Connection closed")


def test_healthy_nccl_says_nothing_but_who_takes_part() -> None:
    """INFO is for reading, not for alarm."""
    lines = """
vm:691:691 [0] NCCL INFO NET/IB : No device found.
vm:691:691 [0] NCCL INFO ncclCommInitRank comm 0x3 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x8 - Init COMPLETE
vm:691:691 [0] NCCL INFO Failed to open libibverbs.so[.1]
"""
    (event,) = parse(nccl.PARSER, lines)
    assert (event.kind, event.rank, event.fields["nranks"]) == ("init", 1, 2)


REPORT = """
E1129 12:55:16.518000 583 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: -9) local_rank: 1 (pid: 697) of binary: /usr/bin/python
Failures:
[1]:
  time      : 2026-11-29_12:55:16
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 696)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 696
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_12:55:16
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 697)
============================================================
"""


def test_the_launchers_report_says_who_was_first_and_who_was_only_told_to_stop() -> None:
    """Rank, pid and signal of each entry, and whether the agent calls it the root cause."""
    failed, other, first = parse(torchrun.PARSER, REPORT)
    assert (failed.kind, failed.fields["signal"], failed.pid) == ("failed", 9, 697)
    assert (other.rank, other.fields["signal"], other.fields["root_cause"]) == (0, 15, False)
    assert (first.rank, first.fields["signal"], first.fields["root_cause"], first.line, first.end_line) == (
        1,
        9,
        True,
        12,
        16,
    )


def test_a_report_cut_in_the_middle_gives_what_is_whole() -> None:
    """An entry without its exit code claims nothing."""
    cut = "\n".join(REPORT.strip("\n").split("\n")[:5])
    assert [e.kind for e in parse(torchrun.PARSER, cut)] == ["failed"]


def test_a_recompile_limit_keeps_its_function_and_reason() -> None:
    """The lines after the limit say which function and why."""
    (event,) = parse(
        dynamo.PARSER,
        """
W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8] torch._dynamo hit config.recompile_limit (8)
W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8]    function: 'f' (/root/train.py:72)
W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8]    last reason: 0/7: size mismatch at index 0
""",
    )
    assert event.fields == {
        "limit": 8, "name": "recompile_limit", "function": "f", "where": "/root/train.py:72",
        "reason": "0/7: size mismatch at index 0",
    }  # fmt: skip
    assert event.end_line == 3


def test_a_thousand_threads_of_one_assertion_are_one_event() -> None:
    """The kernel prints once a thread."""
    line = "/pytorch/aten/Idx.cu:16: gather: block: [7,0,0], thread: [{},0,0] Assertion `ind < size` failed."
    (event,) = parse(device_assert.PARSER, "\n".join(line.format(i) for i in range(64)))
    assert (event.line, event.end_line, event.fields["count"]) == (1, 64, 64)
    assert event.fields["assertion"] == "ind < size"


def test_a_python_assertion_is_not_the_devices() -> None:
    """Assert lines of a C program or a test have no block and thread."""
    assert not parse(device_assert.PARSER, "a.out: main.c:3: main: Assertion `x > 0` failed.")


def test_a_warning_is_heard_with_its_category() -> None:
    """The text after the category is the message."""
    (event,) = parse(python_warning.PARSER, "/v/flex_attention.py:1704: UserWarning: flex_attention called without")
    assert (event.message, event.fields["category"]) == ("flex_attention called without", "UserWarning")


@pytest.mark.parametrize(
    ("line", "argument"),
    [
        ("train.py: error: unrecognized arguments: --flash", "--flash"),
        ("train.py: error: argument --lr: invalid float value: 'x'", "--lr"),
        ("train.py: error: the following arguments are required: --data", "--data"),
        ("Error: No such option: --flash", "--flash"),
        ("ERROR: The function received no value for the required argument: data", "data"),
    ],
)
def test_a_refused_command_line_names_the_argument(line: str, argument: str) -> None:
    """argparse, click and fire refuse in their own words."""
    (event,) = parse(usage.PARSER, line)
    assert event.fields["argument"] == argument
