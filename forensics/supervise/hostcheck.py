"""What of this machine would stop a run, asked before it starts: disk, memory, limits, ports, GPUs, tmux."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from forensics.supervise import arguments, gpus
from forensics.supervise.checkpoints import places
from forensics.supervise.probe import Probe
from forensics.supervise.surroundings import packages

Severity: TypeAlias = Literal["ok", "warning", "error"]

GIB = 1 << 30
LEAST_DISK = 2 * GIB
LOW_DISK = 20 * GIB
LOW_SHM = GIB
LOW_FILES = 4096
LOW_PROCESSES = 4096
FOREIGN = 512 << 20
"""Bytes in use on a GPU before the run that are worth a word: a context alone takes about as much."""
_PORT = 29500
_CUDA = {"11": (450, 80), "12": (525, 60), "13": (580, 65)}
"""The oldest driver that runs a CUDA major version, by NVIDIA's table of minor-version compatibility."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the run needs: where it writes, its environment beyond ours, its command, the CUDA version of its torch."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()
    cuda: str | None = None

    def variable(self, name: str) -> str | None:
        """Return a variable as the run would have it."""
        return self.environment.get(name, os.environ.get(name))


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `id` names the cause that it would be."""

    id: str
    severity: Severity
    text: str


def check(needs: Needs) -> list[Check]:
    """Look at everything; what cannot be looked at here is left out."""
    found: list[Check] = []
    for look in (_disks, _shm, _limits, _ports, _tmux, _gpus):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            found += look(needs)
    return found


def _disks(needs: Needs) -> Iterator[Check]:
    wanted = {"the run": needs.folder, "temporary files": Path(needs.variable("TMPDIR") or "/tmp")}  # noqa: S108 - asked about, not used
    for place in places(arguments.all_words(needs.command), Path.cwd()):
        wanted[f"checkpoints in {place}"] = place
    told: set[int] = set()
    for what, folder in wanted.items():
        there = next((p for p in (folder.absolute(), *folder.absolute().parents) if p.exists()), Path("/"))
        device = there.stat().st_dev
        if device in told:
            continue
        told.add(device)
        free = shutil.disk_usage(there).free
        inodes = os.statvfs(there)
        severity: Severity = "error" if free < LEAST_DISK else "warning" if free < LOW_DISK else "ok"
        yield Check("host.disk-full", severity, f"{_size(free)} free for {what} ({there})")
        if inodes.f_files and inodes.f_favail < 10_000:
            yield Check("host.disk-full", "error", f"only {inodes.f_favail} files can still be made in {there}")
        if not os.access(there, os.W_OK):
            yield Check("host.permission", "error", f"{there} cannot be written")


def _shm(_needs: Needs) -> Iterator[Check]:
    if Path("/dev/shm").is_dir():  # noqa: S108 - asked about, not used
        use = shutil.disk_usage("/dev/shm")  # noqa: S108
        severity: Severity = "warning" if use.free < LOW_SHM else "ok"
        text = f"/dev/shm has {_size(use.free)} free of {_size(use.total)}; data loaders with workers and NCCL use it"  # noqa: S108 - words
        yield Check("memory.shm-exhausted", severity, text)


def _limits(_needs: Needs) -> Iterator[Check]:
    for name, which, least, cause in (
        ("open files", resource.RLIMIT_NOFILE, LOW_FILES, "host.too-many-files"),
        ("processes and threads", resource.RLIMIT_NPROC, LOW_PROCESSES, "host.too-many-threads"),
    ):
        soft, hard = resource.getrlimit(which)
        low = soft not in {resource.RLIM_INFINITY, -1} and soft < least
        most = "unlimited" if hard in {resource.RLIM_INFINITY, -1} else str(hard)
        text = f"limit of {name}: {'unlimited' if soft == resource.RLIM_INFINITY else soft}"
        yield Check(cause, "warning" if low else "ok", f"{text} (may be raised to {most})" if low else text)
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft != resource.RLIM_INFINITY:
        yield Check("host.quota", "warning", f"files may not grow beyond {_size(soft)}")


def _ports(needs: Needs) -> Iterator[Check]:
    words = arguments.all_words(needs.command)
    named = [needs.variable("MASTER_PORT"), *(arguments.value_of(words, n) for n in ("--master-port", "--master_port"))]
    endpoint = arguments.value_of(words, "--rdzv-endpoint") or arguments.value_of(words, "--rdzv_endpoint") or ""
    named.append(endpoint.rpartition(":")[2] if ":" in endpoint else None)
    ports = {int(p) for p in named if p and p.isdecimal() and 0 < int(p) < 65536}
    launched = any(Path(w).name == "torchrun" or w == "torch.distributed.run" for w in words)
    for port in sorted(ports or ({_PORT} if launched and "--standalone" not in words else set())):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                asked.bind(("", port))
            except OSError as error:
                yield Check("comm.port-in-use", "error", f"port {port} cannot be had: {error.strerror}{_holder(port)}")
            else:
                yield Check("comm.port-in-use", "ok", f"port {port} is free")


def _holder(port: int) -> str:
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("inet"):
            if one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN and one.pid:
                return f"; pid {one.pid} has it ({psutil.Process(one.pid).name()})"
    return ""


def _tmux(needs: Needs) -> Iterator[Check]:
    text = " ".join(needs.command)
    if "tmux" not in text:
        return
    if shutil.which("tmux") is None:
        yield Check("capture.tmux-no-server", "error", "tmux is not installed")
        return
    done = subprocess.run(["tmux", "ls", "-F", "#S"], capture_output=True, text=True, timeout=5, check=False)  # noqa: S607 - the user's tmux
    sessions = done.stdout.split("\n")
    for name in re.findall(r"new(?:-session)?\b[^;|&]*?\s-s\s+(\S+)", text):
        if name.strip("'\"") in sessions:
            yield Check("capture.tmux-duplicate", "error", f"a tmux session {name} is there already")
    yield Check("capture.tmux-no-server", "ok", "a tmux server runs" if not done.returncode else "tmux will start")


def _gpus(needs: Needs) -> Iterator[Check]:
    with gpus.nvml() as library:
        if library is None:
            return
        version, newest = gpus.driver(library)
        yield from _driver(version, newest, needs.cuda or torch_cuda(packages(needs.command, Path.cwd())))
        visible = needs.variable("CUDA_VISIBLE_DEVICES")
        chosen = set(visible.split(",")) if visible else None
        for gpu in gpus.look(library):
            if chosen is None or str(gpu.index) in chosen or not all(c.isdecimal() for c in chosen):
                yield from _gpu(gpu)


def _driver(version: str, newest: int, cuda: str | None) -> Iterator[Check]:
    has = f"driver {version} runs CUDA up to {newest // 1000}.{newest % 1000 // 10}"
    if cuda is None:
        yield Check("gpu.driver-too-old", "ok", has)
        return
    least = _CUDA.get(cuda.partition(".")[0])
    numbers = tuple(int(n) for n in version.split(".")[:2] if n.isdecimal())
    if least is not None and numbers and numbers < least:
        yield Check("gpu.driver-too-old", "error", f"{has}, and torch was built for {cuda}")
    else:
        yield Check("gpu.driver-too-old", "ok", f"{has}; torch was built for {cuda}")


def _gpu(gpu: gpus.Gpu) -> Iterator[Check]:
    if gpu.lost:
        yield Check("gpu.fell-off-bus", "error", f"GPU {gpu.index} does not answer")
    if gpu.total_bytes is None or gpu.used_bytes is None:
        return
    free = gpu.total_bytes - gpu.used_bytes
    text = f"GPU {gpu.index} ({gpu.name}): {_size(free)} free of {_size(gpu.total_bytes)}"
    others = ", ".join(f"pid {pid} ({_name(pid)})" for pid in gpu.pids[:4])
    taken = gpu.used_bytes > FOREIGN and bool(gpu.pids)
    severity: Severity = "warning" if taken or free < gpu.total_bytes // 2 else "ok"
    yield Check("memory.gpu-oom-foreign", severity, f"{text}; in use by {others}" if others else text)


def _name(pid: int) -> str:
    import psutil

    try:
        return psutil.Process(pid).name()
    except (psutil.Error, OSError):
        return "of another container"


def probed(found: Probe) -> Check:
    """Return what came of trying the first compile."""
    match found.survives:
        case "both":
            return Check("compile.fx-trace-race", "ok", f"the first compile survived its threads on {found.device}")
        case "lock":
            lost = next(trial for trial in found.trials if not trial.passed)
            how = "hangs" if lost.hung and not lost.failed else "fails"
            why = ": ".join(part for part in (lost.exception, lost.message.partition("\n")[0][:200]) if part)
            text = (
                f"the first compile in {found.shape.threads} threads at once {how} ({why}); behind one lock it passes"
            )
            return Check("compile.fx-trace-race", "error", text)
        case "neither":
            return Check("compile.backend-failure", "error", "the compile fails even behind a lock")
        case _:
            return Check("compile.fx-trace-race", "warning", f"the first compile was not tried: {found.why}")


def torch_cuda(packages: Mapping[str, Any]) -> str | None:
    """Return the CUDA version of a torch, from its own (`2.11.0+cu130` is 13.0) or from the libraries beside it."""
    version = str(packages.get("torch", ""))
    if found := re.search(r"\+cu(\d{2})(\d)\b", version):
        return f"{found[1]}.{found[2]}"
    beside = next((m[1] for name in packages if (m := re.search(r"^nvidia-\w+-cu(\d{2})$", name))), None)
    return beside if version and "+" not in version else None


def _size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"
