"""The program as its users run it: a process of its own, at a pipe or at a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-m", "forensics"]

OOM = """\
step 1/10 loss 2.5
Traceback (most recent call last):
  File "/root/train.py", line 10, in <module>
    main()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 15.00 GiB \
of which 14.00 GiB is free. Including non-PyTorch memory, this process has 1.00 GiB memory in use. Of the allocated \
memory 512.00 MiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.
"""


def environment(**changes: str) -> dict[str, str]:
    """Return an environment without anything that decides on colours, plus changes."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CI", "COLUMNS", "DFLASH_DEBUG")}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, "TERM": "xterm", **changes}


def run(*args: str, given: bytes = b"", **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end with pipes on all sides."""
    return subprocess.run([*COMMAND, *args], input=given, capture_output=True, env=environment(**changes), check=False)


def interrupted(name: str) -> tuple[int, bytes, bytes]:
    """Start a command on a pipe that nobody closes, and press Ctrl-C; return status, stdout and stderr."""
    with subprocess.Popen(
        [*COMMAND, name, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"step 1\n" * 50_000)  # more than a pipe holds: once written, it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.wait()  # before its input is closed, the end of which it may see sooner than the key
        out, err = process.communicate()
    return process.returncode, out, err


def run_on_terminal(*args: str, **changes: str) -> str:
    """Run the program with a terminal as its standard output; return what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *args], stdout=theirs, env=environment(**changes)):
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux reports the other side's end as an error
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode()
