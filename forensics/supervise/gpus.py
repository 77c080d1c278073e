"""The GPUs while a run goes on, in the words of `nvidia-smi --query-gpu=... --format=csv -l`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

EVERY_S = 5.0
FILE = "gpu.csv"
HEADER = (
    "timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], temperature.gpu, "
    "power.draw [W]\n"
)
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU now; what it does not tell is None."""

    index: int
    name: str
    used_bytes: int | None
    total_bytes: int | None
    busy_percent: int | None
    celsius: int | None
    watts: float | None
    pids: tuple[int, ...] = ()
    lost: bool = False
    """Whether it does not answer: what a board merely lacks is no such thing."""


@contextlib.contextmanager
def nvml() -> Iterator[Any]:
    """Lend NVML; None where there is no NVIDIA driver."""
    try:
        import pynvml  # type: ignore[import-untyped]

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - no package, no driver, a driver that does not fit: all mean no GPUs
        yield None
        return
    try:
        yield pynvml
    finally:
        with contextlib.suppress(Exception):
            pynvml.nvmlShutdown()


def driver(library: Any) -> tuple[str, int]:
    """Return the driver's version, and the newest CUDA that it runs, as 12080 for 12.8."""
    return _text(library.nvmlSystemGetDriverVersion()), int(library.nvmlSystemGetCudaDriverVersion_v2())


def look(library: Any) -> list[Gpu]:
    """Return how the GPUs are; one that has fallen off the bus tells nothing."""
    return [_look(library, index) for index in range(library.nvmlDeviceGetCount())]


def buses() -> list[str]:
    """Return the PCI addresses of this machine's GPUs in their order; none where there is no driver."""
    with nvml() as library:
        if library is None:
            return []
        handles = [library.nvmlDeviceGetHandleByIndex(n) for n in range(library.nvmlDeviceGetCount())]
        return [_text(library.nvmlDeviceGetPciInfo(handle).busId) for handle in handles]


def _look(library: Any, index: int) -> Gpu:
    try:
        handle = library.nvmlDeviceGetHandleByIndex(index)
    except library.NVMLError:
        return Gpu(index, "", None, None, None, None, None, lost=True)
    lost = False

    def ask(name: str, *more: Any) -> Any:
        nonlocal lost
        try:
            return getattr(library, name)(handle, *more)
        except library.NVMLError as error:
            lost = lost or error.value in {library.NVML_ERROR_GPU_IS_LOST, library.NVML_ERROR_UNKNOWN}
            return None

    memory, use = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    power = ask("nvmlDeviceGetPowerUsage")
    processes = ask("nvmlDeviceGetComputeRunningProcesses") or ()
    return Gpu(
        index,
        _text(ask("nvmlDeviceGetName") or ""),
        None if memory is None else int(memory.used),
        None if memory is None else int(memory.total),
        None if use is None else int(use.gpu),
        ask("nvmlDeviceGetTemperature", 0),
        None if power is None else power / 1000,
        tuple(int(process.pid) for process in processes),
        lost,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def row(gpu: Gpu, when: datetime) -> str:
    """Return the line that nvidia-smi prints for a GPU."""
    lacking = "[GPU is lost]" if gpu.lost else "[N/A]"

    def cell(value: object, unit: str) -> str:
        return lacking if value is None else f"{value}{unit}"

    cells = (
        f"{when:%Y/%m/%d %H:%M:%S}.{when.microsecond // 1000:03d}",
        str(gpu.index),
        gpu.name,
        cell(None if gpu.used_bytes is None else gpu.used_bytes // _MIB, " MiB"),
        cell(None if gpu.total_bytes is None else gpu.total_bytes // _MIB, " MiB"),
        cell(gpu.busy_percent, " %"),
        cell(gpu.celsius, ""),
        cell(None if gpu.watts is None else f"{gpu.watts:.2f}", " W"),
    )
    return ", ".join(cells) + "\n"


def sample(folder: Path, stop: threading.Event) -> None:
    """Write the GPUs down every few seconds until told to stop; in a thread, for a lost GPU can hang its asker."""
    with contextlib.suppress(Exception), nvml() as library:
        if library is None or library.nvmlDeviceGetCount() == 0:
            return
        path = folder / FILE
        with path.open("a", encoding="utf-8") as file:
            if not file.tell():
                file.write(HEADER)
            while True:
                when = datetime.now(UTC)
                with contextlib.suppress(OSError):
                    file.write("".join(row(gpu, when) for gpu in look(library)))
                    file.flush()
                if stop.wait(EVERY_S):
                    return
