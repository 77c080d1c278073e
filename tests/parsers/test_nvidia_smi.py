"""nvidia-smi as a table, in files of its own and among other people's lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.nvidia_smi import ERRORS, PARSER
from tests import cutting

MIB = 1 << 20
T580 = """
Sun Nov 29 12:52:24 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |
| N/A   35C    P0            121W /  700W |  113167MiB / 143771MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H200                    On  |   00000000:00:07.0 Off |                    2 |
| N/A   34C    P0            120W /  700W |       0MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            3167      C   python3                               11315... |
|    0   N/A  N/A            3168      C   ...envs/tune/bin/python                 524MiB |
+-----------------------------------------------------------------------------------------+
""".strip("\n")
T515 = """
| NVIDIA-SMI 515.86.01    Driver Version: 515.86.01    CUDA Version: 11.7     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA A100 80G...  Off  | 00000001:00:00.0 Off |                   On |
| N/A   39C    P0    75W / 300W |      0MiB / 81920MiB |     N/A      Default |
|                               |                      |              Enabled |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|==================+======================+===========+=======================|
|  0    3   0   0  |     11MiB /  9856MiB | 14      0 |  1   0    0    0    0 |
|                  |      0MiB / 16383MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
| Processes:                                                                  |
|  No running processes found                                                 |
""".strip("\n")
T418 = """
| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |
|===============================+======================+======================|
|   0  GeForce RTX 208...  Off  | 00000000:0A:00.0 Off |                  N/A |
| 41%   47C    P2   112W / 250W |   2903MiB / 10989MiB |     21%      Default |
+-------------------------------+----------------------+----------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0     31877      C   python                                      2895MiB |
+-----------------------------------------------------------------------------+
""".strip("\n")


def read(text: str, kind: str = "nvidia-smi-table") -> list[Event]:
    data = text.encode()
    return list(PARSER.parse(data, Context(Source("smi.txt", kind, len(data)), 2026)))


def test_a_table_is_one_snapshot() -> None:
    """Time, driver, each GPU, each process; memory that the column cut short is unknown."""
    (event,) = read(T580)
    assert (event.speaker, event.kind, event.line, event.end_line) == ("nvidia-smi", "snapshot", 1, 25)
    assert event.time == 1795956744.0
    assert event.fields == {
        "gpus": 2,
        "indices": (0, 1),
        "memory_used_bytes": (113167 * MIB, 0),
        "memory_total_bytes": (143771 * MIB, 143771 * MIB),
        "utilization": (97, 0),
        "temperature": (35, 34),
        "power_w": (121.0, 120.0),
        "uncorrected_errors": (0, 2),
        "names": ("NVIDIA H200", "NVIDIA H200"),
        "pids": (3167, 3168),
        "process_memory_bytes": (None, 524 * MIB),
        "process_gpus": (0, 0),
        "process_names": ("python3", "...envs/tune/bin/python"),
        "driver": "580.159.04",
        "cuda": "13.0",
    }
    assert event.text == T580


def test_the_narrow_table_with_mig_is_read() -> None:
    """Utilization is unknown in MIG mode, not zero; no process was found."""
    (event,) = read(T515)
    assert (event.fields["utilization"], event.fields["mig_devices"], event.fields["pids"]) == ((None,), 1, ())
    assert event.fields["memory_total_bytes"] == (81920 * MIB,)


def test_the_table_before_mig_existed_is_read() -> None:
    """Process rows without instances."""
    (event,) = read(T418)
    assert (event.fields["pids"], event.fields["process_memory_bytes"]) == ((31877,), (2895 * MIB,))
    assert (event.fields["driver"], event.fields["temperature"]) == ("418.67", (47,))


def test_a_loop_gives_a_snapshot_a_round_and_the_last_may_be_torn() -> None:
    """`-l 1 > smi.txt`, stopped in the middle of a table."""
    torn = "\n".join(T580.split("\n")[:9]) + "\n| N/A   35C    P0            121W /  700W |  1131"
    events = read(f"{T580}\n{T580}\n{torn}")
    assert [e.line for e in events] == [1, 26, 51]
    assert events[1].fields == events[0].fields
    assert (events[2].fields["memory_used_bytes"], events[2].fields["temperature"]) == ((None,), (35,))
    assert "pids" not in events[2].fields


def test_a_gpu_that_shows_errors_is_told_once() -> None:
    """All cells fail when the GPU is gone; a single one is a sensor."""
    lost = T580.replace(
        "|   1  NVIDIA H200                    On ", "|   1  ERR!                           ERR!"
    ).replace(
        "| N/A   34C    P0            120W /  700W |       0MiB / 143771MiB |      0%  ",
        "| ERR!  ERR!  ERR!           ERR! / ERR!  |     ERR! / ERR!        |   ERR!   ",
    )
    events = read(f"{lost}\n{lost}")
    assert [(e.kind, e.fields.get("topic"), e.fields.get("device")) for e in events if e.kind == "error"] == [
        ("error", "gpu-lost", 1)
    ]
    assert events[0].fields["memory_used_bytes"] == (113167 * MIB, None)
    fan = T580.replace("| N/A   34C ", "| ERR!  34C ")
    assert [e.fields["topic"] for e in read(fan) if e.kind == "error"] == ["sensor"]


COMPLAINTS = [
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
        "driver is installed and running.",
        "driver-unreachable",
        {},
    ),
    ("Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch", {}),
    ("Failed to initialize NVML: Unknown Error", "nvml-failed", {"reason": "Unknown Error"}),
    ("No devices were found", "no-devices", {}),
    (
        "Unable to determine the device handle for GPU 0000:BD:00.0: Unknown Error",
        "gpu-lost",
        {"pci": "0000:bd:00", "reason": "Unknown Error"},
    ),
    ("Unable to determine the device handle for GPU3: 0000:BD:00.0: Unknown Error", "gpu-lost", {"device": 3}),
    (
        "Unable to determine the device handle for GPU 0000:BD:00.0: GPU is lost.  Reboot the system to recover this GPU",
        "gpu-lost",
        {"pci": "0000:bd:00"},
    ),
]


@pytest.mark.parametrize(("line", "topic", "facts"), COMPLAINTS)
def test_complaints_are_heard_in_files_and_in_logs(line: str, topic: str, facts: dict[str, object]) -> None:
    """The same words, whether the file is nvidia-smi's or a session in which it was run."""
    (own,) = read(line)
    heard = cutting.one(ERRORS, f"$ nvidia-smi\n{line}", "transcript")
    for event in (own, heard):
        assert (event.kind, event.fields["topic"]) == ("error", topic)
        assert facts.items() <= event.fields.items()


def test_the_librarys_version_on_the_next_line_belongs_to_the_mismatch() -> None:
    """NVML adds it from 535 on; the module's version is a fact of its own."""
    mismatch, module = cutting.parse(
        ERRORS,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.104\n"
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  460.56  Tue Feb 23 23:31:36 UTC 2021",
    )
    assert (mismatch.fields["library"], mismatch.end_line) == ("535.104", 2)
    assert (module.kind, module.fields["kernel_module"]) == ("version", "460.56")


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: Failed to initialize NVML: Driver/library version mismatch",
        "2026-11-29 12:00:00 | WARNING | Failed to initialize NVML: Unknown Error",
        "the docs say: No devices were found",
        "0.3, 0.4, 0.5",
        "| epoch | loss |",
    ],
)
def test_those_who_quote_nvidia_smi_stay_silent(line: str) -> None:
    """An exception and a logger speak for themselves."""
    assert cutting.parse(ERRORS, line) == []


def test_a_table_in_a_session_is_a_snapshot_with_its_place() -> None:
    """Also with the rows of a query below it; a file of nvidia-smi's own is not read twice."""
    text = (
        f"$ nvidia-smi\n{T580}\n$ nvidia-smi --query-gpu=index,utilization.gpu --format=csv\n"
        "index, utilization.gpu [%], memory.used [MiB]\n0, 91 %, 10712 MiB\n1, 92 %, 10712 MiB\n$ exit"
    )
    table, rows = cutting.parse(ERRORS, text, "transcript")
    assert (table.line, table.end_line, table.time) == (2, 26, 1795956744.0)
    assert table.text == T580
    assert (rows.line, rows.end_line, rows.fields["utilization"]) == (29, 30, (91, 92))
    assert cutting.parse(ERRORS, text, "nvidia-smi-table") == []


def test_rows_without_a_time_are_of_the_date_that_was_asked_for_before() -> None:
    """`date`, then a query without a timestamp, in a session; in a log a line that is only a time says nothing."""
    text = (
        "mk@a6k:~$ date\nWed Oct 25 13:21:23 UTC 2023\n"
        "mk@a6k:~$ nvidia-smi --query-gpu=index,utilization.gpu --format=csv\nindex, utilization.gpu [%]\n0, 98 %\n1, 96 %\n"
    )
    (event,) = cutting.parse(ERRORS, text, "transcript")
    assert (event.fields["utilization"], event.time) == ((98, 96), 1698240083.0)
    (event,) = cutting.parse(ERRORS, text, "training-log")
    assert event.time is None


def test_a_complaint_between_a_date_and_a_table_keeps_its_place() -> None:
    """A date two lines above a table is not the table's, if something else was said in between."""
    header = next(line for line in T580.split("\n") if "NVIDIA-SMI" in line)
    text = f"Sun Nov 29 12:52:24 2026\nFailed to initialize NVML: Unknown Error\n{header}"
    lines = [e.line for e in cutting.parse(ERRORS, text, "transcript")]
    assert lines[0] == 2
    assert lines == sorted(lines)


def test_the_laws_hold_among_other_lines() -> None:
    """Cutting shortens the last event and alters no other."""
    voice = [*T580.split("\n")[:12], "Failed to initialize NVML: Unknown Error", "NVML library version: 5.1", "step 1"]
    cutting.check_laws(ERRORS, voice)


@given(lines=st.lists(st.sampled_from([*T580.split("\n"), *T515.split("\n")]) | st.text(max_size=60), max_size=40))
def test_any_text_gives_events_in_order(lines: list[str]) -> None:
    """Whatever the lines are, nothing raises and the numbers of lines do not fall."""
    for kind in PARSER.kinds:
        events = read("\n".join(lines), kind)
        assert [e.line for e in events] == sorted(e.line for e in events)
