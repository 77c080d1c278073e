"""What every output of nvidia-smi amounts to: the state of some GPUs at one time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from forensics.model import Context, Event, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote_lines
from forensics.text.sizes import parse_size
from forensics.text.timestamps import leading_time

MOST_SNAPSHOTS = 2000
"""More snapshots than this of one file are thinned out; `decimated` in their fields says so."""
_QUOTED_LINES = 60
_LOST = lazy(r"\[?(?:ERR!|GPU is lost|Unknown Error|GPU requires reset)\]?")
_INTEGER = lazy(r"\s*(\d{1,15})(?:\.\d+)?\s*(?:%|C|MiB|MB|MHz)?\s*")
_REAL = lazy(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*W?\s*")

REASONS = (
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
)
"""Why the clocks are low: bits of NVML's clocks event reasons (nvml.h), without `idle`."""
FAULTY_REASONS = frozenset({"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"})
"""The reasons that are findings; a power cap or idleness is normal."""


class Gpu(Struct):
    """One GPU: sizes in bytes, utilization in per cent, temperature in C, SM clock in MHz. None is unknown."""

    index: int | None = None
    name: str | None = None
    pci: str | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    utilization: int | None = None
    temperature: int | None = None
    power_w: float | None = None
    clock_mhz: int | None = None
    uncorrected: int | None = None
    throttle: tuple[str, ...] = ()


class Process(Struct):
    """A process on a GPU; its memory in bytes, None where the table had no room for it."""

    pid: int
    gpu: int | None
    memory: int | None
    name: str


class Snapshot(Struct):
    """The GPUs at one time. `processes` is None where the output does not list them.

    `clock_s` is the time of day in seconds, where no date stands beside it.
    """

    line: int
    end_line: int
    text: list[str]
    time: float | None = None
    clock_s: int | None = None
    driver: str | None = None
    cuda: str | None = None
    gpus: list[Gpu] = field(default_factory=list)
    processes: list[Process] | None = None
    mig_devices: int = 0
    decimated: bool = False  # stands for others that were not kept


Lines = Sequence[tuple[int, str]]
"""Lines with their numbers, counted from 1."""


def integer(text: str) -> int | None:
    """Read `33`, `33C`, `0 %`; None for `N/A`, `-` and errors."""
    match = _INTEGER.fullmatch(text)
    return int(match[1]) if match else None


def real(text: str) -> float | None:
    """Read `71.23 W`, `71W`; None for `N/A` and errors."""
    match = _REAL.fullmatch(text)
    return float(match[1]) if match else None


def mebibytes(text: str) -> int | None:
    """Read `81559 MiB`, or a bare number of MiB, as bytes."""
    text = text.strip()
    return parse_size(text + "MiB" if text.isdecimal() else text)


def is_lost(text: str) -> bool:
    """Tell whether a cell says that the GPU does not answer (`N/A` says that it has no such thing)."""
    return _LOST.search(text) is not None


def reasons(mask: str) -> tuple[str, ...]:
    """Read `0x0000000000000044` as the reasons whose bits are set."""
    try:
        bits = int(mask.strip(), 16) if len(mask) < 40 else 0
    except ValueError:
        return ()
    return tuple(name for bit, name in REASONS if bits & bit)


def when(text: str, context: Context) -> float | None:
    """Read the time that a line begins with."""
    return leading_time(text.strip(), year=context.default_year, utc_offset_s=context.utc_offset_s)[0]


def pci_address(bus_id: str) -> str:
    """Bring `00000000:BD:00.0` to the form in which the kernel names it: `0000:bd:00`."""
    parts = bus_id.strip().lower().split(".")[0].split(":")
    return ":".join((parts[0][-4:], *parts[1:])) if len(parts) == 3 else bus_id.strip().lower()


def told(
    context: Context,
    kind: str,
    where: tuple[int, str],
    fields: dict[str, Value],
    time: float | None = None,
) -> Event:
    """Build the event of one line."""
    line, text = where
    return quote_lines("nvidia-smi", kind, [text], line, context, fields, time)


def events(snapshots: Sequence[Snapshot], context: Context) -> Iterator[Event]:
    """Yield an event `snapshot` for each, thinned out to `MOST_SNAPSHOTS`."""
    kept = thin(snapshots)
    for snapshot in kept:
        snapshot.decimated |= len(kept) < len(snapshots)
        yield _event(snapshot, context)


def thin(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Keep the first, the last, the extremes and an even choice of the rest."""
    count = len(snapshots)
    if count <= MOST_SNAPSHOTS:
        return list(snapshots)
    kept = {0, count - 1}
    measures: tuple[Callable[[Gpu], float | None], ...] = (
        lambda gpu: gpu.memory_used,
        lambda gpu: gpu.utilization,
        lambda gpu: gpu.temperature,
        lambda gpu: gpu.power_w,
    )
    for measure in measures:
        sums = [(sum(measure(gpu) or 0 for gpu in snapshot.gpus), at) for at, snapshot in enumerate(snapshots)]
        kept |= {max(sums)[1], min(sums)[1]}
    step = count / (MOST_SNAPSHOTS - len(kept))
    kept |= {int(at * step) for at in range(MOST_SNAPSHOTS - len(kept))}
    return [snapshots[at] for at in sorted(kept) if at < count]


def _event(snapshot: Snapshot, context: Context) -> Event:
    gpus = snapshot.gpus
    fields: dict[str, Value] = {}
    if gpus or snapshot.processes is None:
        fields = {
            "gpus": len(gpus),
            "indices": tuple(gpu.index for gpu in gpus),
            "memory_used_bytes": tuple(gpu.memory_used for gpu in gpus),
            "memory_total_bytes": tuple(gpu.memory_total for gpu in gpus),
            "utilization": tuple(gpu.utilization for gpu in gpus),
            "temperature": tuple(gpu.temperature for gpu in gpus),
            "power_w": tuple(gpu.power_w for gpu in gpus),
        }
    if any(gpu.clock_mhz for gpu in gpus):
        fields["clock_mhz"] = tuple(gpu.clock_mhz for gpu in gpus)
    if any(gpu.throttle for gpu in gpus):
        fields["throttle_reasons"] = tuple(" ".join(gpu.throttle) for gpu in gpus)
    if any(gpu.uncorrected for gpu in gpus):
        fields["uncorrected_errors"] = tuple(gpu.uncorrected for gpu in gpus)
    if any(gpu.name for gpu in gpus):
        fields["names"] = tuple(gpu.name for gpu in gpus)
    if snapshot.processes is not None:
        fields["pids"] = tuple(process.pid for process in snapshot.processes)
        fields["process_memory_bytes"] = tuple(process.memory for process in snapshot.processes)
        fields["process_gpus"] = tuple(process.gpu for process in snapshot.processes)
        fields["process_names"] = tuple(process.name for process in snapshot.processes)
    optional: dict[str, Value] = {
        "driver": snapshot.driver,
        "cuda": snapshot.cuda,
        "mig_devices": snapshot.mig_devices or None,
        "decimated": snapshot.decimated or None,
        "clock_s": snapshot.clock_s,
    }
    fields.update({name: value for name, value in optional.items() if value is not None})
    text = "\n".join(snapshot.text[:_QUOTED_LINES])
    return Event(
        speaker="nvidia-smi",
        kind="snapshot",
        path=context.source.path,
        line=snapshot.line,
        end_line=snapshot.end_line,
        text=text,
        message=text,
        time=snapshot.time,
        rank=context.source.rank,
        host=context.source.host,
        fields=fields,
    )
