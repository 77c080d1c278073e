"""nvidia-smi's other outputs: CSV, -q, XML, dmon, pmon, topo, nvlink, -L."""

from __future__ import annotations

import pytest

from forensics.model import Context, Event, Source
from forensics.parsers.nvidia_smi import PARSER
from forensics.parsers.nvidia_smi.snapshot import MOST_SNAPSHOTS

MIB = 1 << 20
HEADER = "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%], temperature.gpu, power.draw [W]"


def read(text: str, kind: str) -> list[Event]:
    data = text.strip("\n").encode()
    return list(PARSER.parse(data, Context(Source("gpu.csv", f"nvidia-smi-{kind}", len(data)), 2026)))


def test_rows_of_one_instant_are_one_snapshot() -> None:
    """The index begins again with each round of a loop."""
    events = read(
        f"{HEADER}\n2026/11/29 13:46:42.822, 0, 0 MiB, 143771 MiB, 100 %, 35, 113.23 W\n"
        "2026/11/29 13:46:42.830, 1, 4 MiB, 143771 MiB, 0 %, 33, 98.46 W\n"
        "2026/11/29 13:46:43.836, 0, 9 MiB, 143771 MiB, [N/A], 35, [N/A]",
        "csv",
    )
    assert [(e.line, e.end_line) for e in events] == [(2, 3), (4, 4)]
    assert events[0].time == 1795960002.822
    assert events[0].fields["memory_used_bytes"] == (0, 4 * MIB)
    assert events[0].fields["power_w"] == (113.23, 98.46)
    assert (events[1].fields["utilization"], events[1].fields["power_w"]) == ((None,), (None,))


@pytest.mark.parametrize(
    ("text", "used", "utilization"),
    [
        ("index, memory.used [MiB], utilization.gpu [%]\n0, 4, 97", 4, 97),
        ("0, NVIDIA H100 80GB HBM3, 4 MiB, 81559 MiB, 97 %, 71.23 W, 33", 4, 97),
        ("2026/11/29 13:46:42.822, 0, 97 %, 4 MiB", 4, 97),
        ("memory.used [MiB]\n4 MiB", 4, None),
        ("memory.free [MiB], memory.total [MiB], name\n96 MiB, 100 MiB, NVIDIA L4", 4, None),
    ],
    ids=["nounits", "noheader", "noheader with time", "one column", "free instead of used"],
)
def test_units_and_headers_may_be_missing(text: str, used: int, utilization: int | None) -> None:
    """What the cells themselves tell is read, the rest is left unknown."""
    (event,) = read(text, "csv")
    assert (event.fields["memory_used_bytes"], event.fields["utilization"]) == ((used * MIB,), (utilization,))


def test_bare_numbers_are_not_guessed_at() -> None:
    """Without header and units nobody knows what they count."""
    (event,) = read("2026/11/29 12:43:15.686, 0, 0, 0", "csv")
    assert (event.fields["indices"], event.fields["memory_used_bytes"]) == ((0,), (None,))


def test_rows_tell_of_lost_throttled_and_faulty_gpus_once() -> None:
    """Error texts between the rows, lost cells, clock reasons, and ECC counts."""
    text = (
        "index, pci.bus_id, memory.used [MiB], clocks_event_reasons.active, ecc.errors.uncorrected.volatile.total, "
        "remapped_rows.pending\n"
        "0, 00000000:0F:00.0, 4 MiB, 0x0000000000000005, 0, No\n"
        "1, 00000000:1F:00.0, 4 MiB, 0x0000000000000044, 3, Yes\n"
        "Unable to determine the device handle for GPU 0000:2F:00.0: Unknown Error\n"
        "3, 00000000:3F:00.0, [GPU is lost], [GPU is lost], [N/A], [N/A]\n"
    )
    events = [e for e in read(text + text, "csv") if e.kind != "snapshot"]
    assert [(e.kind, e.line, e.fields.get("pci")) for e in events] == [
        ("ecc", 3, "0000:1f:00"),
        ("ecc", 3, "0000:1f:00"),
        ("throttle", 3, "0000:1f:00"),
        ("error", 4, "0000:2f:00"),
        ("error", 5, "0000:3f:00"),
        ("error", 9, "0000:2f:00"),
    ]
    assert events[0].fields["uncorrected_errors"] == 3
    assert events[1].fields["remap_pending"] is True
    assert events[2].fields["throttle_reasons"] == ("hw_thermal_slowdown",)


def test_a_list_of_processes_may_be_empty() -> None:
    """That no row follows is the answer."""
    head = "pid, process_name, used_gpu_memory [MiB]"
    (none,) = read(head, "csv")
    assert (none.fields["pids"], "gpus" in none.fields) == ((), False)
    (two,) = read(f"{head}\n3167, python3, 113158 MiB\n77, [Not Found], [N/A]", "csv")
    assert (two.fields["pids"], two.fields["process_memory_bytes"]) == ((3167, 77), (113158 * MIB, None))


def test_a_long_loop_is_thinned_out_and_keeps_its_extremes() -> None:
    """No more than the cap; the first, the last and the fullest are among them, and it says so."""
    rows = [
        f"2026/11/29 13:{n // 60 % 60:02}:{n % 60:02}.000, 0, {9999 if n == 1234 else 5} MiB, 9 MiB, 1 %, 35, 1 W"
        for n in range(9000)
    ]
    events = read("\n".join([HEADER, *rows]), "csv")
    assert len(events) <= MOST_SNAPSHOTS
    assert (events[0].line, events[-1].line) == (2, 9001)
    assert max(e.fields["memory_used_bytes"] for e in events) == (9999 * MIB,)  # type: ignore[type-var]
    assert all(e.fields["decimated"] is True for e in events)


def test_a_very_long_loop_is_read_in_windows() -> None:
    """A day of seconds on eight GPUs; what is no row is never passed over."""
    rows = [f"2026/11/29 13:46:42.822, {n % 8}, 5 MiB, 9 MiB, 1 %, 35, 1 W" for n in range(100_000)]
    rows[50_001] = "Unable to determine the device handle for GPU 0000:2F:00.0: Unknown Error"
    events = read("\n".join([HEADER, *rows]), "csv")
    assert [e.line for e in events if e.kind == "error"] == [50_003]
    assert {e.fields["gpus"] for e in events if e.kind == "snapshot"} == {8}


QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Fri May  3 02:40:11 2024
Driver Version                            : 535.129.03
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:07:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Clocks Throttle Reasons
        Idle                              : Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 4 MiB
    BAR1 Memory Usage
        Used                              : 77 MiB
    Utilization
        Gpu                               : 97 %
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 0
            DRAM Uncorrectable            : 0
        Aggregate
            DRAM Uncorrectable            : 9
    Remapped Rows
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 33 C
    Power Readings
        Power Draw                        : 71.23 W
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 3167
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 524 MiB
GPU 00000000:BD:00.0
    Clocks Event Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 0
            DRAM Uncorrectable            : 1
    Remapped Rows
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Processes                             : None
"""


def test_the_long_query_is_a_snapshot_and_its_findings() -> None:
    """Values by their path; a count of an earlier boot is no finding; idle and power cap are normal."""
    snapshot, throttle, ecc = read(QUERY, "query")
    assert (snapshot.kind, snapshot.time, snapshot.fields["driver"]) == ("snapshot", 1714704011.0, "535.129.03")
    assert snapshot.fields["memory_used_bytes"] == (4 * MIB, None)
    assert (snapshot.fields["utilization"], snapshot.fields["temperature"]) == ((97, None), (33, None))
    assert (snapshot.fields["pids"], snapshot.fields["process_gpus"]) == ((3167,), (0,))
    assert snapshot.fields["process_memory_bytes"] == (524 * MIB,)
    assert (throttle.kind, throttle.fields["device"]) == ("throttle", 1)
    assert throttle.fields["throttle_reasons"] == ("hw_slowdown", "hw_thermal_slowdown")
    assert (ecc.kind, ecc.fields["pci"], ecc.fields["dram_uncorrectable"]) == ("ecc", "0000:bd:00", 1)
    assert ecc.fields["remap_pending"] is True
    assert ecc.text.strip() == "DRAM Uncorrectable            : 1"


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("    Remapped Rows\n        Remapping Failure Occurred        : Yes", "remap_failed"),
        ("    GPU Recovery Action                   : Drain and Reset", "recovery_action"),
        ("    Retired Pages\n        Pending Page Blacklist            : Yes", "retirement_pending"),
        (
            "    ECC Errors\n        Volatile\n            Double Bit\n                Device Memory     : 2",
            "dram_uncorrectable",
        ),
        ("    ECC Errors\n        Volatile\n            SRAM Uncorrectable Parity     : 2", "sram_uncorrectable"),
    ],
)
def test_other_states_of_memory_are_findings_too(line: str, fact: str) -> None:
    """The names of four generations."""
    events = read(f"=====NVSMI LOG=====\n\nGPU 00000000:BD:00.0\n{line}", "query")
    assert [fact in e.fields for e in events if e.kind == "ecc"] == [True]


def test_xml_says_the_same_and_may_be_a_torn_loop() -> None:
    """Several documents in one file are not XML as a whole; the last ends in the middle."""
    document = (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        "\t<timestamp>Fri May  3 02:40:11 2024</timestamp>\n\t<driver_version>535.129.03</driver_version>\n"
        '\t<gpu id="00000000:BD:00.0">\n\t\t<product_name>NVIDIA A100</product_name>\n'
        "\t\t<clocks_event_reasons>\n\t\t\t<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>\n"
        "\t\t</clocks_event_reasons>\n\t\t<fb_memory_usage>\n\t\t\t<total>81920 MiB</total>\n\t\t\t<used>4 MiB</used>\n"
        "\t\t</fb_memory_usage>\n\t\t<bar1_memory_usage>\n\t\t\t<used>7 MiB</used>\n\t\t</bar1_memory_usage>\n"
        "\t\t<ecc_errors>\n\t\t\t<volatile>\n\t\t\t\t<dram_uncorrectable>1</dram_uncorrectable>\n\t\t\t</volatile>\n\t\t</ecc_errors>\n"
        "\t\t<remapped_rows>\n\t\t\t<remapped_row_pending>Yes</remapped_row_pending>\n\t\t</remapped_rows>\n"
        "\t\t<processes>\n\t\t\t<process_info>\n\t\t\t\t<pid>3167</pid>\n\t\t\t\t<process_name>python3</process_name>\n"
        "\t\t\t\t<used_memory>524 MiB</used_memory>\n\t\t\t</process_info>\n\t\t</processes>\n\t</gpu>\n</nvidia_smi_log>\n"
    )
    events = read(document + document[:600], "xml")
    first, last = [e for e in events if e.kind == "snapshot"]
    assert (first.fields["memory_used_bytes"], first.fields["pids"]) == ((4 * MIB,), (3167,))
    assert first.fields["throttle_reasons"] == ("hw_thermal_slowdown",)
    assert "pids" not in last.fields
    ecc = next(e for e in events if e.kind == "ecc")
    assert (ecc.fields["dram_uncorrectable"], ecc.fields["remap_pending"]) == (1, True)


def test_the_monitors_give_a_snapshot_a_round() -> None:
    """The header repeats; the time and the memory are shown on request."""
    head = "#Date       Time        gpu    pwr  gtemp     sm    mem     fb\n#YYYYMMDD   HH:MM:SS    Idx      W      C      %      %     MB\n"
    rounds = read(
        f"{head} 20261129   12:43:15      0     86     33     97     27   1024\n"
        f" 20261129   12:43:15      1     80     31      0      0      -\n"
        f"{head} 20261129   12:43:16      0     86     33     97     27   1024",
        "dmon",
    )
    assert [e.line for e in rounds] == [3, 7]
    assert (rounds[0].time, rounds[0].fields["utilization"]) == (1795956195.0, (97, 0))
    assert rounds[0].fields["memory_used_bytes"] == (1024 * MIB, None)


def test_a_monitor_may_tell_the_time_of_day_alone() -> None:
    """`dmon -o T`: no date, so no time, but how long the rounds lie apart is known."""
    head = "#Time        gpu   pwr  gtemp    sm   mem    fb\n#HH:MM:SS    Idx     W      C     %     %    MB\n"
    rounds = read(
        f"{head} 14:08:00      0    63     28     0     0 21614\n 14:12:00      0    63     28     0     0 21614",
        "dmon",
    )
    assert [(e.time, e.fields["clock_s"]) for e in rounds] == [(None, 50880), (None, 51120)]


def test_the_process_monitor_lists_processes() -> None:
    """A dash is a GPU without one."""
    first, second = read(
        "# gpu         pid   type     sm    mem    command\n# Idx           #    C/G      %      %    name\n"
        "    0      12345     C     95     60    python\n    1          -     -      -      -    -\n"
        "    0      12345     C     95     60    python",
        "pmon",
    )
    assert (first.fields["pids"], first.fields["process_names"], first.fields["gpus"]) == ((12345,), ("python",), 2)
    assert second.line == 5


def test_the_topology_tells_which_pairs_lost_their_link() -> None:
    """Only where other pairs are joined by NVLink; escapes underline the header."""
    (event,) = read(
        "\t\x1b[4mGPU0\tGPU1\tGPU2\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\tNV18\t0-55\nGPU1\tNV18\t X \tSYS\t0-55\nGPU2\tNV18\tSYS\t X \t0-55",
        "topo",
    )
    assert (event.kind, event.fields["gpus"], event.fields["nvlink_pairs"]) == ("topology", 3, 2)
    assert event.fields["unlinked_pairs"] == ("GPU1-GPU2 SYS",)
    (plain,) = read("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X ", "topo")
    assert plain.fields["unlinked_pairs"] == ()


def test_links_are_counted_for_each_gpu() -> None:
    """Active, inactive, and the errors that `-e` shows."""
    first, second = read(
        "GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
        "GPU 1: NVIDIA H100 (UUID: GPU-2)\n\t Link 0: Replay Errors: 7\n\t Link 0: Recovery Errors: 1",
        "nvlink",
    )
    assert (first.fields["links"], first.fields["inactive"]) == (1, (1,))
    assert (second.fields["device"], second.fields["link_errors"]) == (1, 8)


def test_a_listing_tells_how_many_there_are() -> None:
    """`nvidia-smi -L`."""
    (event,) = read("GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)", "list")
    assert (event.kind, event.fields["gpus"]) == ("list", 2)
