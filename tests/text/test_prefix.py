"""Prefixes come off; the message, its indentation and everything uncertain stay."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Line, Record, Source
from forensics.text.prefix import peel

CONTEXT = Context(Source("train.log", "training-log", 0), default_year=2026)


def record(text: str, context: Context = CONTEXT) -> Record:
    return peel(Line(1, 0, 0, text), context)


def facts(text: str) -> dict[str, object]:
    """What the prefixes of a line told, apart from the time."""
    peeled = record(text)
    names = ("rank", "lane", "host", "pid", "level")
    return {name: value for name in names if (value := getattr(peeled, name)) is not None}


@pytest.mark.parametrize(
    ("line", "message", "told"),
    [
        ("[rank3]: Traceback (most recent call last):", "Traceback (most recent call last):", {"rank": 3}),
        ('[rank1]:   File "x.py", line 3, in f', '  File "x.py", line 3, in f', {"rank": 1}),
        ("[default3]:RuntimeError: x", "RuntimeError: x", {"rank": 3}),
        ("[worker0]: hello", "hello", {"rank": 0}),
        ("[rank: 0] Global seed set to 123", "Global seed set to 123", {"rank": 0}),
        ("[Rank 2] hello", "hello", {"rank": 2}),
        ("rank 0: config", "config", {"rank": 0}),
        ("3: step 12 | loss", "step 12 | loss", {"rank": 3}),
        ("  3: step 12 | loss", "step 12 | loss", {"rank": 3}),
        ("3:   File", "  File", {"rank": 3}),
        ("[1,3]<stderr>: RuntimeError: x", "RuntimeError: x", {"rank": 3}),
        ("(Actor pid=12, ip=10.0.0.1) hello", "hello", {"lane": "Actor", "pid": 12, "host": "10.0.0.1"}),
        ("\x1b[36m(TaskRunner pid=4242)\x1b[0m   File", "  File", {"lane": "TaskRunner", "pid": 4242}),
        ("(VllmWorker rank=1 pid=7) hello", "hello", {"lane": "VllmWorker", "rank": 1, "pid": 7}),
        ("train\tRun tests\t2025-03-03T10:00:00.1234567Z   File", "  File", {}),
        ("(task, pid=4211) hello", "hello", {"lane": "task", "pid": 4211}),
        (
            "(worker1, rank=1, pid=7, ip=10.0.0.7) hello",
            "hello",
            {"lane": "worker1", "rank": 1, "pid": 7, "host": "10.0.0.7"},
        ),
        ("(raylet) hello", "hello", {"lane": "raylet"}),
        ("[pod/trainer-0/pytorch] Traceback", "Traceback", {"host": "trainer-0"}),
        ("trainer-1  | Traceback", "Traceback", {"host": "trainer-1"}),
        ("vllm-chat_1 | ERROR:    text", "ERROR:    text", {"host": "vllm-chat_1", "level": "error"}),
        ("node17: hello", "hello", {"host": "node17"}),
        ("172.31.21.63:   File", "  File", {"host": "172.31.21.63"}),
        ("172.31.21.63: KeyError: 'x'", "KeyError: 'x'", {"host": "172.31.21.63"}),
        ("[drafter 2] crashed", "crashed", {"lane": "drafter 2"}),
        ("[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog", "[Rank 1] Watchdog", {"level": "error"}),
        ("INFO:torch.distributed.run:Starting", "Starting", {"level": "info"}),
        ("[INFO|trainer.py:2048] 2024-01-01 12:00:00,123 >> ***", "***", {"level": "info"}),
        ("[NeMo W 2026-11-29 12:50:41 nemo_logging:393] text", "text", {"level": "warning"}),
        ("kern  :err   : [123.456789] NVRM: Xid", "NVRM: Xid", {"level": "error"}),
        (
            "10.0.0.7: kern: warning: [2026-04-22T21:26:20.5Z]: NVRM: Xid",
            "NVRM: Xid",
            {"host": "10.0.0.7", "level": "warning"},
        ),
        (
            "gpu-7.lab: kern:     err: [2026-04-22T21:26:20.5Z]: NVRM: Xid",
            "NVRM: Xid",
            {"host": "gpu-7.lab", "level": "error"},
        ),
        ("<3>[  123.456789] NVRM: Xid", "NVRM: Xid", {}),
        ("[2023-09-13T09:17:11.70Z] a5884739 | Traceback", "Traceback", {}),
        ("[2023-09-13T09:17:11.70Z] a5884739 [rank=3] || ERROR: x", "x", {"rank": 3, "level": "error"}),
        ("[task 2025-06-09T01:25:20.048+00:00] Failed to initialize NVML", "Failed to initialize NVML", {}),
        ("[taskcluster:error] exit status 75", "[taskcluster:error] exit status 75", {}),
    ],
)
def test_a_prefix_without_a_time_comes_off(line: str, message: str, told: dict[str, object]) -> None:
    """Launchers, collectors and loggers tell rank, lane, host, process and level."""
    assert (record(line).text, facts(line)) == (message, told)


@pytest.mark.parametrize(
    ("line", "message", "told"),
    [
        ("2026-11-29 12:50:41,000 - INFO - trainer - step=0 loss=9", "step=0 loss=9", {"level": "info"}),
        ("2026-11-29 12:50:41,000 - mmdet - WARNING - text", "text", {"level": "warning"}),
        ("2026-11-29 12:50:41,000 - lmdeploy - ERROR - base.py:24 - text", "text", {"level": "error"}),
        ("2026-11-29 12:50:41,000 - INFO: Global seed", "Global seed", {"level": "info"}),
        ("2026-11-29 12:50:41 | INFO | args {}", "args {}", {"level": "info"}),
        ("2026-11-29 12:50:41 | INFO | [drafter 2] step 0/5", "step 0/5", {"level": "info", "lane": "drafter 2"}),
        ("2026-11-29 12:50:41.000 [177/train/577 (pid 28936)] OSError: x", "OSError: x", {}),
        (
            "2026-11-29 12:50:41.000 [177/train/577 (pid 28936)] [09c561ee-a44c-4795-967c-7183a83b3160]   File",
            "  File",
            {},
        ),
        ("2026-11-29 12:50:41.000 | INFO     | mod.sub:fn:12 - text", "text", {"level": "info"}),
        ("2026-11-29 12:50:41,000 [rank0] INFO train: iteration 1/500", "iteration 1/500", {"rank": 0, "level": "info"}),
        ("2026-11-29 12:50:41 [INFO]\tEpoch=3, loss=0.04", "Epoch=3, loss=0.04", {"level": "info"}),
        ("2026-11-29 12:50:41,000 INFO    MainThread:77 [wandb_init.py:init():123] x", "x", {"level": "info", "pid": 77}),
        ("2026-11-29 12:50:41,000: rank0[123][MainThread]: INFO: composer.utils: hi", "hi", {"rank": 0, "pid": 123, "level": "info"}),
        ("2026-11-29 12:50:41.000000: W tensorflow/x.cc:55] Could not", "Could not", {"level": "warning"}),
        ("[2026-11-29 12:50:41,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=3", "step=3", {"rank": 0, "level": "info"}),
        ("[2026-11-29 12:50:41,000] [INFO] [axolotl.train.fn:12] [PID:33] [RANK:1] x", "x", {"rank": 1, "pid": 33, "level": "info"}),
        ("[2026-11-29 12:50:41,000][main.Trainer][INFO] - index: 100", "index: 100", {"level": "info"}),
        ("[2026-11-29 12:50:41,000] torch.distributed.run: [WARNING] ****", "****", {"level": "warning"}),
        ("[2026-11-29 12:50:41 TP3] MLA", "MLA", {"rank": 3, "lane": "TP3"}),
        ("[titan] 2026-11-29 12:50:41,000 - root - INFO - step:  1  loss: 7", "step:  1  loss: 7", {"level": "info"}),
        ("I1129 12:50:41.000000 139727290783488 writer.py:48] [5150] loss=2.1", "[5150] loss=2.1", {"level": "info"}),
        ("2026-11-29 12:50:41.000000: E T:\\src\\cuda_event.cc:48] failed to query", "failed to query", {"level": "error"}),
        ("(EngineCore_DP0 pid=77) ERROR 11-29 12:50:41 [core.py:700] died", "died", {"lane": "EngineCore_DP0", "pid": 77, "level": "error"}),
        ("[rank7]:[E1129 12:50:41.000000000 ProcessGroupNCCL.cpp:684] [PG ID 0 Rank 7] x", "[PG ID 0 Rank 7] x", {"rank": 7, "level": "error"}),
        ("W1129 12:50:41.000000 1145 torch/distributed/run.py:851] Setting", "Setting", {"pid": 1145, "level": "warning"}),
        ("[rank0]:V1129 12:50:41.000000 12 torch/_dynamo/x.py:1] [0/0] [__recompiles] why", "[0/0] [__recompiles] why", {"rank": 0, "pid": 12, "level": "debug"}),
        ("Nov 29 12:50:41 gn07 kernel: [123.456789] NVRM: Xid", "NVRM: Xid", {"host": "gn07"}),
        ("Nov 29 12:50:41 gn07 python[12]:   File", "  File", {"host": "gn07", "pid": 12}),
        ("Nov 29 12:50:41 gn07 python[12]: iter 10: loss 2.3", "iter 10: loss 2.3", {"host": "gn07", "pid": 12}),
        ("Nov 29 12:50:41 gn07 systemd-coredump[12]: Process 3", "systemd-coredump[12]: Process 3", {"host": "gn07", "pid": 12}),
        ("Nov 29 12:50:41 gn07 slurmd: error: x", "slurmd: error: x", {"host": "gn07"}),
        ("2026-11-29T12:50:41+00:00 gn07 kernel: NVRM: Xid", "NVRM: Xid", {"host": "gn07"}),
        ("2026-11-29T12:50:41.000000000Z stderr F   File", "  File", {}),
        ("E0000 00:00:1795956641.000000   77 cuda_dnn.cc:8310] text", "text", {"pid": 77, "level": "error"}),
    ],
)  # fmt: skip
def test_a_head_with_a_time_comes_off(line: str, message: str, told: dict[str, object]) -> None:
    """Every logger's head gives the same moment, and only the message is left."""
    assert (record(line).text, facts(line)) == (message, told)
    assert record(line).time == datetime(2026, 11, 29, 12, 50, 41, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA out of memory",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB",
        "tee: /workspace/x.log: No such file or directory",
        "python3: can't open file 'x.py'",
        "bash: line 3: foo: command not found",
        "libcudart.so.12: cannot open shared object file",
        "slurmstepd: error: *** JOB 1 ON gn07 CANCELLED ***",
        "nvidia-nvswitch0: SXid (PCI:0000:01:00.0): 12028",
        "NVRM: Xid (PCI:0000:3d:00): 79, pid=3",
        "step 12 | loss 3.2 | lr 1e-4",
        "step     66 | loss 8.8360",
        "epoch_1 | loss 8.8360",
        "layer-1 | 4096 | fp16",
        "gn07:123:456 [0] NCCL INFO Bootstrap",
        "10.0.0.3:29500 refused the connection",
        "10.0.0.3:",
        '  File "x.py", line 3, in f',
        "    12: code",
        "600:\tlearn: 0.59",
        "[300]\tvalid_0's l1: 0.55",
        "[gn07:1234] *** Process received signal ***",
        "{'loss': 2.3, 'epoch': 0.1}",
        "ERROR: Unexpected bus error encountered in worker.",
        "Traceback (most recent call last):",
        "Epoch: [0][10/5005]\tTime 1.2",
        "Monday is a good day",
        '{"step": 3, "loss": 2.5}',
        "",
    ],
)
def test_the_message_itself_is_never_eaten(line: str) -> None:
    """What only resembles a prefix stays: error types, program names, counters, indentation."""
    assert record(line).text == line


def test_a_message_behind_a_head_keeps_its_first_words() -> None:
    """A measure or an error type behind a level is no logger's name."""
    for message in ("loss: 3.2", "config: batch_size=16", "RuntimeError: x", "epoch - 3", "Saving - done"):
        assert record(f"2026-11-29 12:50:41 INFO {message}").text == message


@pytest.mark.parametrize("label", ["", "7: "])
def test_a_blank_before_a_time_in_brackets_hides_it_not(label: str) -> None:
    """Megatron's progress records begin with a blank, also behind a label of srun; indented text is left alone."""
    step = " [2024-04-18 22:13:18] iteration      360/    4000 | lm loss: 9.9E+00 |"
    read = record(label + step)
    assert read.time == datetime(2024, 4, 18, 22, 13, 18, tzinfo=UTC).timestamp()
    assert read.text.startswith("iteration")
    assert record(" [2024] of the run").text == " [2024] of the run"


def test_json_logs_are_unwrapped_only_where_they_carry_a_message() -> None:
    """Docker's and structured loggers' lines give message, time, level and rank; other JSON stays."""
    docker = json.dumps({"log": "step 1\n", "stream": "stdout", "time": "2026-11-29T12:50:41Z"})
    assert (record(docker).text, record(docker).time) == ("step 1", 1795956641.0)
    structured = json.dumps({"ts": 1795956641.5, "level": "ERROR", "msg": "RuntimeError: x", "rank": 3})
    peeled = record(structured)
    assert (peeled.text, peeled.time, peeled.level, peeled.rank) == ("RuntimeError: x", 1795956641.5, "error", 3)
    for other in ('{"message": {"message": "x"}}', '{"msg": 3}', '{"log": "torn', '{"msg": "x"} trailing'):
        assert record(other).text == other


def test_hints_of_the_file_name_fill_in_where_no_prefix_names_them() -> None:
    """The source's rank and host stand until a prefix says otherwise."""
    context = Context(Source("rank_3.log", "training-log", 0, rank=3, host="gn07"))
    assert (record("step 1", context).rank, record("step 1", context).host) == (3, "gn07")
    assert record("[rank5]: step 1", context).rank == 5


PIECES = st.sampled_from(
    ("[rank3]: ", "2026-11-29 12:50:41,123", " - INFO - ", "[", "]", "(", "pid=1)", "INFO", " ", "\x1b[0m", "3: ", "|", "é",
     "E1129 ", "12:00:00.1 ", "x.cpp:3] ", "[Rank 1] ", "{", '"log": "', "Nov 29 ", "host ", "kernel: ", "RuntimeError: x")
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=80))
def test_a_message_is_the_end_of_its_line(text: str) -> None:
    """Whatever comes off, what is left is the end of what was there, and peeling tells the raw line."""
    peeled = record(text)
    assert peeled.raw == text
    if not text.startswith('{"'):
        assert text.replace("\x1b[0m", "").endswith(peeled.text) or not text.isprintable()


def test_megabyte_lines_are_peeled_in_one_pass() -> None:
    """Hostile repetition of what opens a prefix does not multiply the work."""
    for piece in ("[", "(", "a.", "[rank1]: ", "a - ", "2026-11-29 ", "(a pid=1, "):
        assert record(piece * (1_000_000 // len(piece))).raw


def test_the_rank_that_torch_names_is_not_that_of_sruns_label() -> None:
    """One task may be a launcher of several ranks; where only the label names one, it is that."""
    assert record("3: [default0]:[rank12]: RuntimeError: CUDA error: uncorrectable ECC error encountered").rank == 12
    assert record("3: [rank12]: RuntimeError: boom").rank == 12
    assert record("3: RuntimeError: boom").rank == 3
    assert record("[rank3]: RuntimeError: boom").rank == 3
