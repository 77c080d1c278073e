"""What is made of tracebacks: one event a traceback, and which of a chain escaped."""

from __future__ import annotations

import pytest

from forensics.model import Event
from forensics.parsers.python_exception import PARSER
from tests.voices import CONTEXT, records


def parse(text: str) -> list[Event]:
    return list(PARSER.parse(records(text.strip("\n").split("\n")), CONTEXT))


def kinds(text: str) -> list[tuple[str, str]]:
    return [(e.kind, str(e.fields["exception"])) for e in parse(text)]


TRACEBACK = """
Traceback (most recent call last):
  File "/root/train.py", line 12, in step
    loss.backward()
  File "/venv/lib/python3.12/site-packages/torch/_tensor.py", line 631, in backward
    torch.autograd.backward(
RuntimeError: boom
"""


def test_the_event_stands_at_the_last_line_and_knows_the_frame_of_the_users_code() -> None:
    """Library frames say where it surfaced; the user's own frame says where to look."""
    (event,) = parse(TRACEBACK)
    assert (event.kind, event.line, event.message) == ("exception", 6, "RuntimeError: boom")
    assert (event.fields["file"], event.fields["file_line"], event.fields["function"]) == ("/root/train.py", 12, "step")
    assert "loss.backward()" in str(event.fields["frames"])


def test_during_handling_the_last_one_escaped() -> None:
    """The first exception was being handled when the second one escaped."""
    text = (
        TRACEBACK
        + "\nDuring handling of the above exception, another exception occurred:\n"
        + TRACEBACK.replace("RuntimeError: boom", "OSError: disk")
    )
    assert kinds(text) == [("context", "RuntimeError"), ("exception", "OSError")]


def test_a_direct_cause_is_what_matters() -> None:
    """`raise X from Y`: Y is the reason."""
    text = (
        TRACEBACK
        + "\nThe above exception was the direct cause of the following exception:\n"
        + TRACEBACK.replace("RuntimeError: boom", "ValueError: wrapped")
    )
    assert kinds(text) == [("exception", "RuntimeError"), ("context", "ValueError")]


def test_a_worker_error_holds_the_original_one() -> None:
    """The wrapper's event reaches to the inner exception's line."""
    text = """
Traceback (most recent call last):
  File "/root/train.py", line 12, in <module>
    for b in loader: pass
KeyError: Caught KeyError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/root/data.py", line 40, in __getitem__
    return row["input_ids"]
KeyError: 'input_ids'
"""
    wrapper, inner = parse(text)
    assert (wrapper.kind, wrapper.line, wrapper.end_line) == ("wrapper", 4, 8)
    assert (inner.kind, inner.message, inner.fields["file"]) == ("inner", "KeyError: 'input_ids'", "/root/data.py")
    assert "'input_ids'" in wrapper.message


def test_interleaved_ranks_are_kept_apart() -> None:
    """Two ranks print line by line into one another."""
    text = """
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "/root/a.py", line 1, in <module>
[rank1]:   File "/root/b.py", line 2, in <module>
2026-11-29 12:50:41 | INFO | step 5/30 | loss 2.5
[rank0]: ValueError: zero
[rank1]: KeyError: 'one'
"""
    assert [(e.rank, e.message, e.fields["file"]) for e in parse(text)] == [
        (0, "ValueError: zero", "/root/a.py"),
        (1, "KeyError: 'one'", "/root/b.py"),
    ]


def test_a_thread_gives_its_name() -> None:
    """`Exception in thread` and a tagged crash line name the lane."""
    text = "Exception in thread drafter-2:\n" + TRACEBACK.strip() + "\n[drafter 1] crashed\n" + TRACEBACK.strip()
    assert [e.lane for e in parse(text)] == ["drafter-2", "drafter 1"]


def test_a_message_of_several_lines_stays_together() -> None:
    """What load_state_dict has to say does not fit a line."""
    text = TRACEBACK.replace(
        "boom", 'Error(s) in loading state_dict for M:\n\tMissing key(s): "a"\n\tsize mismatch for b'
    )
    (event,) = parse(text)
    assert event.message.count("\n") == 2
    assert event.end_line == 8


def test_a_last_line_without_its_traceback_is_still_heard() -> None:
    """A tail shows no more than that."""
    assert kinds("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB") == [
        ("bare", "torch.OutOfMemoryError")
    ]


def test_a_last_line_glued_to_a_progress_bar_still_ends_the_traceback() -> None:
    """The bar goes to the same stream and has no line end of its own."""
    text = TRACEBACK.replace("RuntimeError: boom", " 12%|█▏        | 12/100 [00:01<00:08, 10.2it/s]RuntimeError: boom")
    (event,) = parse(text)
    assert (event.kind, event.message, event.fields["exception"]) == ("exception", "RuntimeError: boom", "RuntimeError")


def test_a_traceback_whose_every_line_was_stamped_has_its_message() -> None:
    """A collector stamps each line, so a time before the last line of a traceback does not part it from its frames."""
    message = TRACEBACK + "  of the optimizer\n"
    stamped = "\n".join(f"2026-11-03 02:11:0{n} {line}" for n, line in enumerate(message.strip().split("\n")))
    (event,) = parse(stamped + "\n2026-11-03 02:11:09 saving nothing")
    assert (event.kind, event.fields["exception"]) == ("exception", "RuntimeError")
    assert event.message == "RuntimeError: boom\n  of the optimizer"
    assert event.fields["function"] == "step"


def test_a_bare_line_does_not_swallow_what_follows() -> None:
    """Without a traceback above, only indented lines belong to the message."""
    (event,) = parse("ValueError: bad shard\n\tin shard 7\nloading the next one\n")
    assert (event.message, event.end_line) == ("ValueError: bad shard\n\tin shard 7", 2)


def test_a_log_record_that_quotes_an_exception_is_not_one() -> None:
    """A caught and logged fault is the log's voice."""
    assert kinds("2026-11-29 12:50:41 | WARNING | ValueError: bad shard, skipped") == []
    assert kinds("retrying: CUDA out of memory. Tried to allocate 2.00 GiB") == []


def test_a_rich_box_is_read() -> None:
    """Lightning and typer draw a frame around the traceback; the last line stands free."""
    text = """
╭───── Traceback (most recent call last) ─────╮
│ /root/train.py:12 in step                   │
╰─────────────────────────────────────────────╯
ValueError: bad shard
"""
    assert kinds(text) == [("exception", "ValueError")]


def test_what_cpp_throws_has_its_type_and_text() -> None:
    """`terminate called` is C++'s traceback."""
    text = """
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  NCCL error in: x.cpp:1, unhandled system error
"""
    (event,) = parse(text)
    assert (event.kind, event.line) == ("cpp", 2)
    assert event.message.startswith("c10::DistBackendError: NCCL error")


def test_a_traceback_that_was_cut_claims_nothing() -> None:
    """Without its last line nobody knows what was raised."""
    assert [e.kind for e in parse("\n".join(TRACEBACK.strip().split("\n")[:4]))] == ["cut"]


def test_a_prefix_before_the_header_alone_does_not_part_it_from_its_frames() -> None:
    """A logger that prints a whole traceback in one record puts its prefix on the first line only."""
    text = """
[2024-12-07 02:52:27 TP3] Scheduler hit an exception: Traceback (most recent call last):
  File "/w/scheduler.py", line 9, in run
    kernel[grid](x)
triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 2, Hardware limit: 1
"""
    (event,) = parse(text)
    assert (event.kind, event.line, event.rank) == ("exception", 4, 3)
    assert "kernel[grid](x)" in str(event.fields["frames"])


def test_a_message_that_announces_the_inner_exception_holds_it() -> None:
    """Dynamo prints what the backend raised on the line below its own exception."""
    text = """
Traceback (most recent call last):
  File "/w/train.py", line 9, in <module>
    y = compiled(x)
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
OutOfMemoryError: CUDA out of memory.
"""
    (event,) = parse(text)
    assert event.message.endswith("raised:\nOutOfMemoryError: CUDA out of memory.")


def test_exceptions_without_error_in_their_name_are_heard_bare() -> None:
    """Triton's and dynamo's classes are called OutOfResources and Unsupported."""
    assert kinds("triton.runtime.errors.OutOfResources: out of resource: registers") == [
        ("bare", "triton.runtime.errors.OutOfResources")
    ]


def test_the_next_command_and_progress_are_no_part_of_a_message() -> None:
    """A log that is appended to goes on right behind the last line of a traceback."""
    raised = 'Traceback (most recent call last):\n  File "/w/train.py", line 9, in <module>\n    f()\nKeyError: 1\n'
    prompts = ("$ python train.py", "me@node:~/w$ ls", "(env) root@3a50:~/w#", "[me@node w]$ ")
    for following in (*prompts, "epoch 1/20 loss 3.9", " 3%|3 | 1/30 [00:01<00:29]"):
        (event,) = parse(raised + following)
        assert event.message == "KeyError: 1"


GROUP = """
  + Exception Group Traceback (most recent call last):
  |   File "/root/train.py", line 9, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/root/rollout.py", line 40, in fetch
    |     raise ValueError("no answer")
    | ValueError: no answer
    +---------------- 2 ----------------
    | TypeError: not a number
    +------------------------------------
Training complete
"""


def test_the_members_of_a_group_are_told_and_the_group_is_their_context() -> None:
    """A group only says how many failed; what failed stands inside its frame."""
    assert kinds(GROUP) == [("context", "ExceptionGroup"), ("exception", "ValueError"), ("bare", "TypeError")]
    member = parse(GROUP)[1]
    assert (member.message, member.fields["file"], member.line) == ("ValueError: no answer", "/root/rollout.py", 9)


def test_a_group_that_is_cut_says_what_it_can() -> None:
    """A log that ends inside a group still names its first member."""
    assert kinds(GROUP.partition("    +----------------")[0])[1] == ("exception", "ValueError")


REMOTE = """
ERROR Traceback (most recent call last):
ERROR   File "/v/engine/core.py", line 857, in run_engine_core
ERROR     self.collective_rpc("init_device")
ERROR ray.exceptions.RayTaskError(RuntimeError): ray::Worker.execute_method() (pid=908, ip=10.1.97.201)
ERROR     File "/v/worker/gpu_worker.py", line 254, in init_device
ERROR       init_environment(
ERROR     File "/v/torch/distributed/distributed_c10d.py", line 2068, in new_group
ERROR       backend_class = ProcessGroupGloo(
ERROR                       ^^^^^^^^^^^^^^^^^
ERROR   RuntimeError: Gloo connectFullMesh failed
"""


@pytest.mark.parametrize("level", ["", "ERROR 08-14 18:21:43 [core.py:866] ", "1: "], ids=["bare", "logged", "srun -l"])
def test_a_traceback_within_a_message_ends_where_its_own_line_stands(level: str) -> None:
    """The exception of a remote worker is indented as its frames are."""
    (event,) = parse(REMOTE.replace("ERROR ", level))
    assert (event.kind, event.message) == ("exception", "RuntimeError: Gloo connectFullMesh failed")


def test_a_line_of_source_that_looks_like_an_exception_ends_no_traceback() -> None:
    """It stands two blanks right of the file it is of, not left of it."""
    text = REMOTE.replace("ERROR ", "").replace("init_environment(", "RuntimeError: not yet")
    assert [e.message for e in parse(text)] == ["RuntimeError: Gloo connectFullMesh failed"]
    assert [e.kind for e in parse(text.rpartition("\n  Runtime")[0])] == ["cut"]


SPAWNED = """
Traceback (most recent call last):
  File "/v/torch/multiprocessing/spawn.py", line 158, in join
    raise Exception(msg)
Exception: died

-- Process {rank} terminated with the following error:
Traceback (most recent call last):
  File "/v/torch/multiprocessing/spawn.py", line 69, in _wrap
    fn(i, *args)
FloatingPointError: Minimum loss scale reached (0.0001).
"""


def test_the_process_that_spawn_names_is_the_rank_of_its_traceback() -> None:
    """The parent repeats what its child raised, and says which child that was."""
    *_, child = parse(SPAWNED.format(rank=3))
    assert (child.rank, child.message) == (3, "FloatingPointError: Minimum loss scale reached (0.0001).")


def test_a_traceback_that_spawn_does_not_announce_has_no_rank() -> None:
    """Words in between, a header that is cut, and the same words of another program."""
    for announced in (
        "-- Process three terminated",
        "-- Process 3 terminated with the follow",
        "-- Process 3 terminated",
    ):
        text = SPAWNED.replace("-- Process {rank} terminated with the following error:", announced)
        assert {e.rank for e in parse(text)} == {None}


NATIVE = """
Could not load bitsandbytes native library: /lib64/libc.so.6: version `GLIBC_2.34' not found
Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/bitsandbytes/cextension.py", line 85, in <module>
    lib = get_native_library()
  File "/env/lib/python3.11/ctypes/__init__.py", line 376, in __init__
    self._handle = _dlopen(self._name, mode)
OSError: /lib64/libc.so.6: version `GLIBC_2.34' not found
"""
TRITON = """
A matching Triton is not available, some optimizations will not be enabled
Traceback (most recent call last):
  File "D:\\env\\lib\\site-packages\\xformers\\__init__.py", line 57, in _is_triton_available
    import triton  # noqa
ModuleNotFoundError: No module named 'triton'
"""


@pytest.mark.parametrize("told", [NATIVE, TRITON], ids=["bitsandbytes", "xformers"])
def test_what_a_library_does_without_is_only_told_where_something_else_failed_later(told: str) -> None:
    """Its name and its words stay, but not those of the failure."""
    first, second = parse(told + "loading\n" + TRACEBACK)
    assert (first.kind, second.kind) == ("ignored", "exception")
    assert "GLIBC" not in first.message
    assert second.message == "RuntimeError: boom"


@pytest.mark.parametrize("told", [NATIVE, TRITON], ids=["bitsandbytes", "xformers"])
def test_what_a_library_does_without_may_be_the_cause_where_nothing_else_failed(told: str) -> None:
    """Or where the same library failed again: it could not do without, after all."""
    assert [e.kind for e in parse(told)] == ["exception"]
    package = "bitsandbytes" if told is NATIVE else "xformers"
    again = TRACEBACK.replace(
        "/venv/lib/python3.12/site-packages/torch/_tensor.py", f"/v/site-packages/{package}/ops.py"
    )
    assert [e.kind for e in parse(told + "loading\n" + again)] == ["exception", "exception"]
