"""Lines for property tests: fragments of every speaker, and arbitrary text between them."""

from __future__ import annotations

from hypothesis import strategies as st

from forensics.model import Context, Line, Record, Source
from forensics.text.prefix import peel

FRAGMENTS = (
    "Traceback (most recent call last):",
    '  File "/root/train.py", line 12, in step',
    "    loss.backward()",
    "           ^^^^^^^^^^",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 276.00 GiB. GPU 0 has a total capacity of 94.97 GiB",
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
    "KeyError: Caught KeyError in DataLoader worker process 0.",
    "Original Traceback (most recent call last):",
    "KeyError: 'input_ids'",
    "[rank1]: Traceback (most recent call last):",
    '[rank1]:   File "/root/train.py", line 25, in <module>',
    "[rank1]: RuntimeError: CUDA error: device-side assert triggered",
    "terminate called after throwing an instance of 'c10::DistBackendError'",
    "  what():  NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.21.5",
    "[rank0]:[E1129 12:56:00.426210447 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=25, OpType=ALLREDUCE, NumelIn=7, NumelOut=7, Timeout(ms)=20000) ran for 20020 milliseconds "
    "before timing out.",
    "vm:691:691 [0] NCCL INFO comm 0x3 rank 0 nranks 2 cudaDev 0 busId 60 - Init COMPLETE",
    "vm:691:691 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<5000>",
    "E1129 12:55:16.518000 583 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: -9) "
    "local_rank: 1 (pid: 697) of binary: /usr/bin/python",
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2026-11-29_12:55:16",
    "  rank      : 1 (local_rank: 1)",
    "  exitcode  : -9 (pid: 697)",
    "W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8] torch._dynamo hit config.recompile_limit (8)",
    "W1129 12:43:33.8 490 torch/_dynamo/convert_frame.py:1743] [0/8]    function: 'f' (/root/train.py:72)",
    "/pytorch/aten/IndexKernelUtils.cu:16: gather: block: [7,0,0], thread: [20,0,0] Assertion `ind < size` failed.",
    "/venv/torch/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile()",
    "train.py: error: unrecognized arguments: --flash",
    "[ 1234.567890] NVRM: Xid (PCI:0000:bd:00): 79, pid=812, name=python3, GPU has fallen off the bus.",
    "[ 1234.6] Out of memory: Killed process 812917 (python3) total-vm:1kB, anon-rss:119220000kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
    "slurmstepd: error: *** JOB 494583 ON node7 CANCELLED AT 2026-11-29T12:00:00 DUE TO TIME LIMIT ***",
    "no server running on /tmp/tmux-0/default",
    "Pane is dead (signal 9, Sun Nov 29 13:00:38 2026)",
    "tee: /workspace/logs/train.log: No such file or directory",
    "start.sh: line 3:  4242 Killed                  python3 train.py",
    "Fatal Python error: Segmentation fault",
    "Current thread 0x00007f3ef6f49140 (most recent call first):",
    "client_loop: send disconnect: Broken pipe",
    "Failed to initialize NVML: Driver/library version mismatch",
    "Training complete",
    "saved checkpoint runs/step_000200.pt",
    "2026-11-29 12:50:41 | INFO | step 5/30 | loss 2.5 | grad_norm 0.7",
    "{'loss': 2.3456, 'grad_norm': 1.2, 'learning_rate': 4.9e-05, 'epoch': 0.01}",
    "",
)

SOURCE = Source("train.log", "training-log", 1)
CONTEXT = Context(SOURCE, 2026)

texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=60), max_size=40)


def records(lines: list[str], gaps: frozenset[int] = frozenset()) -> list[Record]:
    """Return the peeled records of lines numbered from 1."""
    return [peel(Line(number, 0, 0, text, number, number in gaps), CONTEXT) for number, text in enumerate(lines, 1)]
