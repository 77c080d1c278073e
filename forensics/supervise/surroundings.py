"""What a run was started in: the machine, the packages of its Python, the state of its code."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forensics.supervise.secrets import redact_text

_BOUND_S = 20.0
_MOST_CHANGES = 50
_PACKAGES = (
    "torch", "triton", "numpy", "transformers", "accelerate", "deepspeed", "datasets", "tokenizers", "safetensors",
    "flash-attn", "xformers", "bitsandbytes", "vllm", "lightning", "pytorch-lightning", "torchtitan", "megatron-core",
    "transformer-engine", "peft", "trl", "wandb", "mlflow", "ray", "jax", "jaxlib", "tensorflow", "polars",
    "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-cublas-cu12",
)  # fmt: skip
_ASK = """
import importlib.metadata as m, json, sys
found = {"python": sys.version.split()[0]}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except Exception:
        pass
print(json.dumps(found))
"""


def host() -> dict[str, Any]:
    """Return what machine this is; nothing is run for it."""
    found: dict[str, Any] = {
        "name": socket.gethostname(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
    }
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("SLURM_JOB_ID", "SLURM_NODELIST", "PBS_JOBID", "LSB_JOBID", "HOSTNAME"):
        if os.environ.get(name):
            found[name.lower()] = os.environ[name]
    return found


def git(folder: Path) -> dict[str, Any]:
    """Return the commit of the code and what was changed since; empty where there is no repository."""
    commit = _run(["git", "rev-parse", "HEAD"], folder)
    if not commit:
        return {}
    changed = _run(["git", "status", "--porcelain", "--untracked-files=no"], folder).splitlines()
    return {
        "commit": commit,
        "branch": _run(["git", "rev-parse", "--abbrev-ref", "HEAD"], folder),
        "remote": redact_text(_run(["git", "config", "--get", "remote.origin.url"], folder)),
        "changed": [line[3:] for line in changed[:_MOST_CHANGES]],
        "changed_files": len(changed),
    }


def packages(command: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the versions that the program's own Python has; nothing of them is imported."""
    python = python_of(command, folder)
    if python is None:
        return {}
    try:
        found = json.loads(_run([python, "-c", _ASK, *_PACKAGES], folder))
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def python_of(command: Sequence[str], folder: Path) -> str | None:
    """Return the Python of a command: itself, or that of the script's first line, as torchrun has it."""
    for word in command[:8]:
        if Path(word).name.startswith("python"):
            return shutil.which(word)
    if not command:
        return None
    path = shutil.which(command[0]) or str(folder / command[0])
    with contextlib.suppress(OSError):
        with Path(path).open("rb") as file:
            first = file.readline(300).decode("utf-8", "replace")
        words = first.removeprefix("#!").split()
        if first.startswith("#!") and words and "python" in words[-1]:
            return shutil.which(words[-1])
    return None


def _run(words: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - git and the program's Python, with our own words
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_BOUND_S,
            check=False,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "PYTHONWARNINGS": "ignore"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout.rstrip() if done.returncode == 0 else ""
