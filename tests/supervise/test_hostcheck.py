"""Checks of the machine, on the machine there is."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from forensics.analyze import analyze_files
from forensics.model import Context, Event, Source
from forensics.parsers.nvidia_smi import PARSER
from forensics.rulebook.load import load
from forensics.supervise import hostcheck
from forensics.supervise.gpus import HEADER, Gpu, row
from forensics.supervise.hostcheck import Needs, check, torch_cuda


def test_a_port_in_use_is_an_error_and_says_who_has_it(tmp_path: Path) -> None:
    """Named by an option, by the endpoint, or by the environment."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for needs in (
            Needs(tmp_path, {}, ["torchrun", "--master-port", port, "t.py"]),
            Needs(tmp_path, {}, ["torchrun", f"--rdzv-endpoint=host:{port}", "t.py"]),
            Needs(tmp_path, {"MASTER_PORT": port}, ["python", "t.py"]),
        ):
            (found,) = [c for c in check(needs) if c.id == "comm.port-in-use"]
            assert found.severity == "error"
            assert port in found.text
    (free,) = [c for c in check(Needs(tmp_path, {"MASTER_PORT": port})) if c.id == "comm.port-in-use"]
    assert free.severity == "ok"


def test_disk_memory_and_limits_are_always_looked_at(tmp_path: Path) -> None:
    """With numbers that a person can judge."""
    found = {c.id: c for c in check(Needs(tmp_path / "not" / "there"))}
    assert {"host.disk-full", "host.too-many-files", "host.too-many-threads"} <= set(found)
    assert "free for the run" in found["host.disk-full"].text


@pytest.mark.parametrize(
    ("version", "cuda", "severity"), [("535.104", "13.0", "error"), ("580.95", "13.0", "ok"), ("525.60", "12.8", "ok")]
)
def test_a_driver_is_judged_against_the_cuda_of_torch(version: str, cuda: str, severity: str) -> None:
    """By the oldest driver that runs that major version."""
    (found,) = hostcheck._driver(version, 12080, cuda)
    assert found.severity == severity


def test_a_gpu_that_others_use_or_that_does_not_answer() -> None:
    """Foreign memory is a warning with the pid, silence is an error."""
    gib = 1 << 30
    free = Gpu(0, "H200", gib // 4, 140 * gib, 0, 30, 80.0)
    used = Gpu(1, "H200", 100 * gib, 140 * gib, 0, 30, 80.0, (1,))
    lost = Gpu(2, "", None, None, None, None, None, lost=True)
    assert [next(hostcheck._gpu(g)).severity for g in (free, used, lost)] == ["ok", "warning", "error"]
    assert "pid 1" in next(hostcheck._gpu(used)).text


def test_the_cuda_of_a_torch_is_in_its_version() -> None:
    """None for a build without."""
    assert torch_cuda({"torch": "2.11.0+cu130"}) == "13.0"
    assert torch_cuda({"torch": "2.11.0+cpu"}) is None
    assert torch_cuda({"torch": "2.11.0", "nvidia-nccl-cu13": "2.28.9"}) == "13"
    assert torch_cuda({}) is None


def test_samples_are_read_back_as_what_nvidia_smi_prints() -> None:
    """By the parser of its CSV, units and all; a lost GPU is told as lost."""
    when = datetime(2026, 11, 29, 12, 0, 0, 250_000, UTC)
    gpus = [Gpu(0, "NVIDIA H200", 5 << 30, 140 << 30, 97, 40, 512.25), Gpu(1, "NVIDIA H200", 0, 140 << 30, 0, 30, None)]
    gpus.append(Gpu(2, "", None, None, None, None, None, lost=True))
    data = (HEADER + "".join(row(g, when) for g in gpus)).encode()
    report = analyze_files({"attempt-001/gpu.csv": data}, load(()))
    assert [s.kind for s in report.sources] == ["nvidia-smi-csv"]
    events: list[Event] = list(PARSER.parse(data, Context(Source("gpu.csv", "nvidia-smi-csv", len(data)))))
    fields: dict[str, Any] = dict(events[0].fields)
    assert fields["memory_used_bytes"] == (5 << 30, 0, None)
    assert fields["utilization"] == (97, 0, None)
    assert [(e.fields["topic"], e.fields["device"]) for e in events[1:]] == [("gpu-lost", 2)]
