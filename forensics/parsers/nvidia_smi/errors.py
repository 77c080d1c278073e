"""What nvidia-smi and NVML say when they cannot reach the driver or a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from forensics.model import Event, Value
from forensics.parsers.nvidia_smi.snapshot import pci_address
from forensics.text.lazy import lazy

TRIGGERS = (
    "NVIDIA-SMI has failed",
    "Failed to initialize NVML",
    "NVML library version: ",
    "No devices were found",
    "Unable to determine the device handle",
    "GPU is lost",
    "GPU requires reset",
    "Driver Not Loaded",
    "NVRM version: NVIDIA",
)


def _form(topic: str, *parts: str) -> tuple[str, re.Pattern[str]]:
    return topic, lazy("".join(parts))


_FORMS = (
    _form("driver-unreachable", r"NVIDIA-SMI has failed because it couldn'?t communicate with the NVIDIA driver"),
    _form(
        "driver-unreachable",
        r"(?:Failed|Impossible) to initialize (?:nvidia-smi )?(?:NVML|nvml) ?: (?P<reason>Driver Not Loaded)",
    ),
    _form("driver-mismatch", r"Failed to initialize NVML: (?P<reason>Driver/library version mismatch)"),
    _form("nvml-failed", r"Failed to initialize NVML: (?P<reason>[A-Z][\w ,/]{2,80})"),
    _form("library-version", r"NVML library version: (?P<library>[\d.]{1,20})"),
    _form("no-devices", r"No devices were found"),
    _form(
        "gpu-lost",
        r"Unable to determine the device handle for (?:GPU|gpu) ?(?P<device>\d{1,3})?:? ?",
        r"(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])?: (?P<reason>[A-Z][\w .]{2,100})",
    ),
    _form("gpu-lost", r"(?P<reason>GPU is lost|GPU requires reset)"),
    _form(
        "kernel-module",
        r"NVRM version: NVIDIA UNIX .{0,80}?Kernel Module.{0,40}? {1,4}(?P<kernel_module>\d[\d.]{1,20}) ",
    ),
)


_BEFORE = lazy(r"\[(?:[\w-]{1,40}: )?nvidia-smi(?:\((?:stdout|stderr)\))?\]:? ?|^(?:\[[\w.-]{1,40}\] )+")
"""What a wrapper puts before each line of it that it passes on."""
_ANY = lazy("|".join(re.escape(words) for words in (*TRIGGERS, "Impossible to initialize")))


def complaint(text: str) -> tuple[str, dict[str, Value]] | None:
    """Return the topic and the facts of an error text, or None.

    A line that has the words in its middle is a program's that quotes them.
    """
    if _ANY.search(text) is None:
        return None
    for topic, pattern in _FORMS:
        match = pattern.search(text)
        if match is None or _BEFORE.sub("", text[: match.start()]).strip().strip("[$>#"):
            continue
        facts: dict[str, Value] = {k: v for k, v in match.groupdict().items() if v is not None}
        if "device" in facts:
            facts["device"] = int(str(facts["device"]))
        if "pci" in facts:
            facts["pci"] = pci_address(str(facts["pci"]))
        return topic, facts
    return None


def kind_of(topic: str) -> str:
    """Return the kind of event: a bare version is no error."""
    return "version" if topic in {"library-version", "kernel-module"} else "error"


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """Join `Failed to initialize NVML` with the library's version on the next line, which NVML adds from 535 on."""
    held: Event | None = None
    for event in events:
        if (
            held is not None
            and event.fields.get("topic") == "library-version"
            and event.line == held.end_line + 1
            and held.fields.get("topic") in {"driver-mismatch", "nvml-failed"}
        ):
            held = replace(
                held,
                end_line=event.end_line,
                text=f"{held.text}\n{event.text}",
                message=f"{held.message}\n{event.message}",
                fields={**held.fields, "library": event.fields.get("library")},
            )
            continue
        if held is not None:
            yield held
        held = event
    if held is not None:
        yield held
