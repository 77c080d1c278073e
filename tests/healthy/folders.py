"""Folders of runs that went well, with files beside the log that could mislead."""

from __future__ import annotations

from collections.abc import Mapping

from tests.healthy.forms import bar, clock, falling, lines

RAISED = 'step 1 loss 2\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: old\n'


def steps(first: int = 1, last: int = 60, total: int = 60) -> str:
    return lines(f"step {n}/{total} | loss {falling(n):.4f} | lr 1e-4" for n in range(first, last + 1))


def stamped(day: int, *, upto: int = 60) -> str:
    return lines(
        f"2026-03-{day:02d} {clock(n)} INFO step {n}/60 | loss {falling(n):.4f} | lr 1e-4" for n in range(1, upto + 1)
    )


FOLDERS: Mapping[str, Mapping[str, str]] = {
    "progress-in-error-out": {"train.out": steps(), "error.out": "\r".join(bar(n, 60) for n in range(61)) + "\n"},
    "progress-in-train-error-log": {"train.log": steps(), "train_error.log": bar(60, 60) + "\n"},
    "progress-in-job-err": {"job.out": steps(), "job.err": bar(60, 60) + "\n"},
    "empty-error-stream": {
        "launch.sh": "#!/bin/bash\npython -u train.py > train.out 2> train.err\n",
        "train.out": steps(),
        "train.err": "",
    },
    "old-try-of-the-same-name": {"train.log": steps(), "old/train.log": RAISED},
    "old-try-of-another-name": {"nohup.out": steps(), "old/2025-01-01/train.log": RAISED},
    "old-try-of-a-job": {"slurm_77.out": steps(), "old_runs/slurm_76.out": RAISED, "old_runs/exit_code": "1\n"},
    "archived-try": {"eval.log": steps(), "archive/run3/train.log": RAISED},
    "old-try-beside-a-session": {
        "run.log": "$ python train.py --bs 64\n" + steps() + "$ ls\n",
        "old/2025-01-01/train.log": RAISED,
    },
    "backup-of-a-try": {"train.log": steps(), "backup_2026-02-01/stderr.log": RAISED},
    "previous-attempt": {"stdout.log": steps(), "previous/attempt_1/stderr.log": RAISED},
    "put-aside-logs": {"runs/exp/train.log": steps(), "logs.bak/x.log": RAISED},
    "older-by-its-times": {
        "nohup.out": stamped(9),
        "logs/first/train.log": stamped(1, upto=20) + "2026-03-01 10:01:00 ERROR stopping\n" + RAISED,
    },
    "kernel-of-another-day": {
        "train.log": stamped(5),
        "dmesg.txt": "[Mon Mar  2 09:00:00 2026] NVRM: Xid (PCI:0000:1a:00): 43, pid=4242, name=python, Ch 00000008\n"
        "[Mon Mar  2 09:00:01 2026] NVRM: Xid (PCI:0000:1a:00): 45, pid=4242, name=python, Ch 00000008\n"
        "[Tue Mar  3 01:00:00 2026] Out of memory: Killed process 991 (chrome) total-vm:1kB, anon-rss:2000000kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0\n",
    },
    "row-remapped": {
        "train.log": steps(),
        "dmesg.txt": "[12346.6] NVRM: Xid (PCI:0000:1a:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row "
        "marked for remapping, reset gpu to activate.\n",
    },
    "pod-that-succeeded": {
        "train.log": steps(),
        "pod.json": '{"kind": "Pod", "metadata": {"name": "x"}, "status": {"phase": "Succeeded", "containerStatuses": '
        '[{"name": "t", "restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}}',
    },
    "job-that-completed": {
        "slurm-77.out": steps(),
        "sacct.txt": "JobID           JobName      State ExitCode\n------------ ---------- ---------- --------\n"
        "77                train  COMPLETED      0:0\n77.batch          batch  COMPLETED      0:0\n",
    },
    "ranks": {f"rank_{r}.log": steps() for r in range(4)},
    "words-in-other-files": {
        "train.log": steps(),
        "README.md": "# Run\nIf you see `RuntimeError: CUDA out of memory` lower the batch.\n",
        "config.yaml": "retry_on:\n  - 'CUDA error: an illegal memory access was encountered'\n",
        "train.py": 'try:\n    main()\nexcept RuntimeError:\n    raise ValueError("loss is nan")\n',
        "notes.txt": "yesterday: CUDA out of memory, fixed by bs=4\nSegmentation fault before that\n",
        "help.txt": "usage: train.py [--on-oom {raise,skip}]\n  --nan-check   abort with RuntimeError: loss is nan\n",
    },
    "unused-log": {"train.log": steps(), "empty.log": "", "notes.txt": ""},
}
"""Name -> files: each of these runs is healthy, and reached step 60."""

UNFINISHED: Mapping[str, Mapping[str, str]] = {
    "bar-of-something-else": {
        "train.log": lines(f"Epoch {e}/10 - train_loss: {falling(e):.4f}" for e in range(1, 5)),
        "error.out": bar(10, 10) + "\n",
    },
    "full-bar-of-an-epoch": {
        "train.log": bar(41, 41) + "\n" + lines(["Epoch 1/10 - train_loss: 2.1000 - val_loss: 2.2000"])
    },
    "full-bar-under-a-heading": {"train.log": f"Epoch 1/10\n{bar(41, 41)}\n"},
    "keras-in-its-second-epoch": {
        "train.log": lines(
            f"Epoch {e}/5\n41/41 [{'=' * 30}] - 8s 19ms/step - loss: {falling(e):.4f} - val_loss: 0.9" for e in (1, 2)
        )
    },
    "bar-of-a-preparation": {"train.log": f"{bar(10, 10)}\n" + "\r".join(bar(n, 5000) for n in (1, 20, 40)) + "\n"},
    "fold-that-was-not-the-last": {
        "train.log": steps(last=30) + "Training finished\n" + steps(last=20),
    },
    "empty-log-beside-words": {
        "train.log": lines(f"Epoch {e}/10 - train_loss: {falling(e):.4f}" for e in range(1, 5)),
        "empty.log": "",
        "empty.txt": "",
    },
    "log-that-just-stops": {"train.log": steps(last=30)},
}
"""Name -> files: nothing failed, and nothing says that the run came to its end."""
