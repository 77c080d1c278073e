"""Reports made by hand: one for each verdict, and one that a hostile log wrote."""

from __future__ import annotations

import unicodedata

from forensics.model import Evidence, Expected, Finding, Fix, Report, Run, Source


def inert(text: str) -> bool:
    """Tell whether a text holds nothing but what shows, and line ends."""
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n" for c in text)


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 276.00 GiB. GPU 0 has a total capacity of "
    "139.80 GiB of which 134.40 GiB is free. Including non-PyTorch memory, this process has 5.39 GiB memory in "
    "use. Of the allocated memory 2.94 GiB is allocated by PyTorch, and 1.79 GiB is reserved by PyTorch but "
    "unallocated."
)
CALL = "    scores = query.to(working_precision) @ key.to(working_precision).transpose(-2, -1)"
PRODUCT = "32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB = attention scores"
LAUNCH = 'tmux new-session -d -s train "bash start.sh 2>&1 | tee /workspace/train_stdout_3.log"'

FAILED = Report(
    run=Run(
        path="runs/2026-11-29",
        started=1_795_956_606.0,
        ended=1_795_960_215.5,
        last_step=24,
        total_steps=59_815,
        exit_code=1,
        world_size=8,
        programs=("torch 2.11.0", "nccl 2.28.9"),
    ),
    verdict="failed",
    restart_helps="no",
    sources=(
        Source("train.log", "training-log", 7268, 97),
        Source("dmesg.txt", "kernel-log", 812_000, 9000, "cut", "partial", "ends inside a line"),
        Source("launch.sh", "script", 400, 14),
    ),
    expected=(
        Expected("/workspace/train_stdout_3.log", "missing", Evidence("launch.sh", 12, 12, LAUNCH), "train.log"),
        Expected("train.log", "present", Evidence("launch.sh", 13, 13, "tee train.log")),
    ),
    findings=(
        Finding(
            id="compile.dense-fallback",
            title="Attention ran dense instead of as a fused kernel",
            severity="error",
            confidence="high",
            role="root",
            ranks=(3, 0, 1, 2),
            time=1_795_960_215.5,
            evidence=(
                Evidence("train.log", 90, 91, "  in math_attention\n" + CALL),
                Evidence("train.log", 97, 97, OOM),
            ),
            facts={
                "requested_bytes": 296_352_743_424,
                "device": 0,
                "heads": 32,
                "timeout_ms": 600_000,
                "shape": (32, 32768, 70656),
                "loss": float("nan"),
                "exception": "torch.OutOfMemoryError",
                "file": "model.py",
                "file_line": 46,
                "function": "forward",
                "last_step": 23,
            },
            explanation=(
                "flex_attention was called without torch.compile, so the scores are formed as one matrix. "
                "32 heads x 32768 x 70656 x 4 bytes = 276 GiB, more than the card has."
            ),
            fixes=(
                Fix(
                    id="compile-attention",
                    title="Call flex_attention through torch.compile",
                    detail="Compile it once and warm it up with gradients.",
                    safe=True,
                    env={"TORCH_COMPILE_DISABLE": None, "PYTORCH_ALLOC_CONF": "expandable_segments:True"},
                    args={"--attention": "flex"},
                    script="--- a/launch.sh\n+++ b/launch.sh\n@@ -1 +1 @@\n-python train.py\n+python -u train.py\n",
                ),
            ),
            restart="no",
        ),
        Finding(
            id="memory.dense-attention-oom",
            title="The failed allocation is a matrix of attention scores",
            severity="error",
            confidence="high",
            role="consequence",
            evidence=(Evidence("train.log", 97, 97, OOM),),
            ranks=(3,),
            because=("compile.dense-fallback",),
            facts={
                "requested_bytes": 296_352_743_424,
                "free_bytes": 144_310_901_146,
                "tensor": "attention scores",
                "heads": 32,
                "exception": "torch.OutOfMemoryError",
                "last_step": 21,
            },
            explanation=f"{PRODUCT}. An unfused attention holds the whole matrix.",
        ),
        Finding(
            id="comm.collective-timeout",
            title="A collective timed out",
            severity="error",
            confidence="medium",
            role="consequence",
            evidence=(Evidence("train.log", 99, 99, "[rank0]: Watchdog caught collective operation timeout", 12),),
            ranks=(0, 1, 2, 4, 5, 6, 7),
            because=("memory.dense-attention-oom",),
        ),
        Finding(
            id="setup.tracker",
            title="The tracker was offline",
            severity="warning",
            confidence="low",
            role="note",
            evidence=(Evidence("train.log", 3, 3, "wandb: offline"),),
            explanation="This belongs to an earlier attempt. The tracker could not be reached.",
        ),
    ),
    notes=("times without a zone were taken as UTC",),
    rules_digest="3f0c",
    version="0.1.0",
)

HEALTHY = Report(
    run=Run(path="runs/ok", last_step=1000, total_steps=1000, exit_code=0),
    verdict="healthy",
    restart_helps="no",
    sources=(Source("train.log", "training-log", 100, 3),),
    reason="train.log:1000 reports the last step, 1000 of 1000, and exit_code is 0.",
)

UNKNOWN = Report(
    run=Run(path="runs/tail"),
    verdict="unknown",
    restart_helps="maybe",
    sources=(Source("out.log", "training-log", 100, 60, "window"),),
    reason="out.log is the last 60 lines of something longer and ends mid-line; run `dmesg -T | tail` on the host.",
)

DEGRADED = Report(
    run=Run(path="runs/slow"),
    verdict="degraded",
    restart_helps="maybe",
    sources=(Source("train.log", "training-log", 100, 3),),
    findings=(
        Finding(
            id="compile.recompile-limit",
            title="Dynamo stopped recompiling",
            severity="warning",
            confidence="high",
            role="root",
            evidence=(Evidence("train.log", 2, 2, "hit config.recompile_limit (8)"),),
        ),
    ),
)

ATTACK = (
    "\x1b[2J\x1b]0;owned\x07[bold red]markup[/bold red] [link=http://evil]x[/link] `` ``` | <script>alert(1)</script> "
    "\u202eabc \x9b31m \x7f @admin #1 \udc80 **bold** \r | | \n```\n# heading\n~~~~\n</details>"
)

HOSTILE = Report(
    run=Run(path=f"runs/{ATTACK}", programs=(ATTACK,)),
    verdict="failed",
    restart_helps="maybe",
    sources=(Source(ATTACK, ATTACK, 1, 1, why=ATTACK),),
    expected=(Expected(ATTACK, "missing", Evidence(ATTACK, 1, 1, ATTACK), ATTACK),),
    findings=tuple(
        Finding(
            id=f"setup.python-exception{suffix}",
            title=ATTACK,
            severity="error",
            confidence="high",
            role="root" if not suffix else "consequence",
            evidence=(Evidence(ATTACK, 1, 2, ATTACK), Evidence("huge.log", 1, 1, "\x1b[31m" * 400_000)),
            facts={ATTACK: ATTACK, "huge": 2**80},
            because=("setup.python-exception",) if suffix else (),
            explanation=ATTACK,
            fixes=(Fix(ATTACK, ATTACK, ATTACK, env={ATTACK: ATTACK}, args={ATTACK: ATTACK}, script=ATTACK),),
        )
        for suffix in ("", "-2")
    ),
    notes=(ATTACK,),
    reason=ATTACK,
)

EVERY = {
    "failed": FAILED,
    "degraded": DEGRADED,
    "healthy": HEALTHY,
    "unknown": UNKNOWN,
    "hostile": HOSTILE,
}
