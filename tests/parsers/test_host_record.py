"""What commands told about the machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.host_record import PARSER


def parse(text: str) -> list[Event]:
    data = text.strip("\n").encode()
    return list(PARSER.parse(data, Context(Source("df.txt", "host-record", len(data)))))


DF = """
Filesystem      Size  Used Avail Use% Mounted on
overlay         1.8T  911G  812G  53% /
tmpfs            64M     0   64M   0% /dev
/dev/loop3       64M   64M     0 100% /snap/core20/1974
shm              64M   64M   64K 100% /dev/shm
/dev/vdb        1.0T 1007G   17G  99% /workspace/output dir
"""


def test_full_filesystems_and_the_shared_memory_are_told() -> None:
    """Read-only images are full by nature; /dev/shm is told whatever it holds."""
    events = parse(DF)
    assert [(e.line, e.fields["mount"], e.fields["use_percent"]) for e in events] == [
        (5, "/dev/shm", 100),  # noqa: S108
        (6, "/workspace/output dir", 99),
    ]
    assert (events[0].fields["size_bytes"], events[0].fields["free_bytes"]) == (64 << 20, 64 << 10)


@pytest.mark.parametrize(
    ("head", "row", "size"),
    [
        ("Filesystem     1K-blocks      Used Available Use% Mounted on", "/dev/sda1 1048576 1048576 0 100% /data", 1 << 30),
        ("Filesystem      1B-blocks          Used     Available Use% Mounted on", "/dev/vdb 1024 1024 0 100% /data", 1024),
        ("Filesystem     1M-blocks   Used Available Use% Mounted on", "/dev/sda1 1024 1024 0 100% /data", 1 << 30),
        ("Filesystem     Type     1K-blocks     Used Available Use% Mounted on", "/dev/sda1 ext4 1024 1024 0 100% /data", 1 << 20),
        ("Filesystem           1K-blocks      Used Available Use% Mounted on\nnas01:/export/very/long/name",
         "                      1024 1024 0 100% /data", 1 << 20),
    ],
    ids=["default", "-B1", "-BM", "-T", "wrapped name"],
)  # fmt: skip
def test_the_unit_of_the_header_counts(head: str, row: str, size: int) -> None:
    """Blocks of any size, with or without the type, with a long name on a line of its own."""
    (event,) = parse(f"{head}\n{row}")
    assert (event.fields["mount"], event.fields["size_bytes"]) == ("/data", size)


def test_inodes_run_out_too() -> None:
    """`df -i` counts files, not bytes."""
    (event,) = parse("Filesystem      Inodes  IUsed   IFree IUse% Mounted on\n/dev/sda1 1000 1000 0 100% /data")
    assert event.fields["inodes"] is True
    assert "size_bytes" not in event.fields


@pytest.mark.parametrize(
    ("row", "total"),
    [
        ("Mem:      131901696    17633280    82989056      626688    31279616   112456704", 131901696 << 10),
        ("Mem:         128811       17220       81044         612       30546      109820", 128811 << 20),
        ("Mem:            125          16          79           0          29         107", 125 << 30),
        ("Mem:   135067336704 18056478720 84980793344   641728512 32029802496 115154616320", 135067336704),
        ("Mem:           125Gi        16Gi        79Gi       612Mi        29Gi       107Gi", 125 << 30),
        ("Mem:            126G         17G         79G        612M         30G        107G", 126 << 30),
    ],
    ids=["KiB", "-m", "-g", "-b", "-h", "old -h"],
)
def test_free_prints_no_unit_and_is_understood(row: str, total: int) -> None:
    """The size of a machine that trains tells kibibytes from mebibytes."""
    (event,) = parse(
        f"               total        used        free      shared  buff/cache   available\n{row}\nSwap:     0     0     0"
    )
    assert (event.kind, event.end_line) == ("memory", 3)
    assert event.fields["total_bytes"] == total
    assert event.fields["swap_total_bytes"] == 0


def test_meminfo_is_the_same_fact() -> None:
    """/proc/meminfo counts in KiB and says so."""
    (event,) = parse(
        "MemTotal:       24683652 kB\nMemFree:        23301448 kB\nMemAvailable:   24161492 kB\nBuffers: 1 kB"
    )
    assert (event.fields["total_bytes"], event.fields["available_bytes"]) == (24683652 << 10, 24161492 << 10)


BASH = """
core file size              (blocks, -c) 0
file size                   (blocks, -f) unlimited
max locked memory           (kbytes, -l) 64
open files                          (-n) 1024
POSIX message queues         (bytes, -q) 819200
stack size                  (kbytes, -s) 8192
max user processes                  (-u) 4096
virtual memory              (kbytes, -v) unlimited
"""


def test_what_stat_prints_is_a_listing_too() -> None:
    """Time, size and name, as `stat -c '%y %s %n'` gives them."""
    (event,) = parse("2026-03-17 18:31:05.250000000 +0000 32168 out/train.log")
    assert (event.fields["name"], event.fields["size_bytes"], event.time) == ("out/train.log", 32168, 1773772265.25)


@pytest.mark.parametrize(
    ("when", "time"),
    [
        ("2026-03-17 18:31", 1773772260.0),
        ("2026-03-17 18:31:05.250000000 +0000", 1773772265.25),
        ("Mar 17 18:31", 1773772260.0),
        ("Mar  7 18:31", 1772908260.0),
    ],
)
def test_a_listing_dates_its_files_in_every_style(when: str, time: float) -> None:
    """Names, sizes and times; the style that prints no year takes that of the file."""
    data = f"-rw-rw-r-- 1 u u 32168 {when} train.log".encode()
    (event,) = PARSER.parse(data, Context(Source("ls.txt", "host-record", len(data)), default_year=2026))
    assert (event.kind, event.fields["name"], event.time) == ("listing", "train.log", time)


@pytest.mark.parametrize(
    "text",
    [
        BASH,
        "-n: file descriptors                1024\n-u: processes                       4096\n-l: locked memory (kbytes)  64",
        "nofiles              1024\nprocess              4096\nlocked memory(kbytes) 64",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max processes             4096                 63432                processes\n"
        "Max open files            1024                 1048576              files\n"
        "Max locked memory         65536                65536                bytes",
    ],
    ids=["bash", "zsh", "dash", "/proc"],
)
def test_limits_are_read_in_every_form(text: str) -> None:
    """The soft limit counts; unlimited is no number."""
    (event,) = parse(text)
    assert event.kind == "limits"
    assert (event.fields["open_files"], event.fields["processes"]) == (1024, 4096)
    assert event.fields["locked_memory_bytes"] == 65536
    assert "virtual_memory_bytes" not in event.fields


def test_a_limit_asked_for_in_a_session_is_read() -> None:
    """The answer stands on the line after the prompt, and other tables further down."""
    limits, full, _ = parse(f"u12@node:~$ ulimit -u\n4096\nu12@node:~$ df -h\n{DF.strip()}")
    assert (limits.line, limits.end_line, limits.fields) == (1, 2, {"processes": 4096})
    assert (full.line, full.fields["mount"]) == (8, "/dev/shm")  # noqa: S108


@pytest.mark.parametrize(
    "text",
    [
        "USER         PID %CPU %MEM     STAT START   TIME COMMAND\nu7  88110  0.3  0.1 Sl 08:51 0:14 /usr/bin/top",
        "torch==2.9.0\nnumpy==2.1.0",
        "total 24\n-rw-r--r-- 1 root root 171094 Mar  1 20:31 train.log",
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda  252G   25G   78G  24% /",
        "open files are many, max user processes few",
    ],
)
def test_other_records_give_nothing(text: str) -> None:
    """Lists of processes, packages and files; filesystems with room."""
    assert parse(text) == []


@given(
    lines=st.lists(
        st.sampled_from([*DF.split("\n"), *BASH.split("\n"), "Mem: 1 2 3", " total used free"]) | st.text(max_size=60)
    )
)
def test_any_text_gives_events_in_order(lines: list[str]) -> None:
    """Whatever the lines are, nothing raises and the numbers of lines do not fall."""
    events = parse("\n".join(lines))
    assert [e.line for e in events] == sorted(e.line for e in events)


@pytest.mark.parametrize(
    ("table", "pids"),
    [
        ("    PID STAT     ELAPSED     TIME CMD\n  20933 Rl      03:38:52 04:11:09 python main.py -gr 2000", [20933]),
        ("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
         "root       1 0.0 0.0 1 1 ? Ss Jul01 0:01 /sbin/init\nme 42 99.0 3.2 41231 843 pts/1 Rl+ 09:01 251:09 /v/bin/python3 t.py", [42]),
        ("me  4242 99.0  3.2 41231244 8432100 ?  Rl  09:01 251:09 torchrun train.py", [4242]),
        ("me  4242 99.0  3.2 41231244 8432100 ?  Z   09:01 251:09 [python] <defunct>", []),
        ("    PID STAT CMD\n  20933 T    python main.py", []),
        ("    PID TTY          TIME CMD\n  20933 pts/0    00:00:01 python main.py", []),
        ("me  4243  0.0  0.0 9144 2100 pts/3  S+  09:01 0:00 grep python train.py", []),
        ("PID CMD\n\n20933 Rl python main.py", []),
    ],
    ids=["-o", "aux", "aux, only the row", "zombie", "stopped", "no state", "grep itself", "the table is over"],
)  # fmt: skip
def test_programs_at_work_are_told(table: str, pids: list[int]) -> None:
    """Only what `ps` shows to run or to wait, and only what may train."""
    assert [e.fields["pid"] for e in parse(table) if e.kind == "process"] == pids


@pytest.mark.parametrize("month", ["Jul ", "juil.", "июл ", "7月 "])
def test_a_listing_speaks_the_language_of_its_machine(month: str) -> None:
    """The same moment, in four locales."""
    data = f"-rw-rw-r-- 1 gest gest 22 {month} 4 13:02 nohup.out".encode()
    (event,) = PARSER.parse(data, Context(Source("ls.txt", "host-record", len(data)), default_year=2026))
    assert event.time is not None
    assert event.time % 86400 == (13 * 60 + 2) * 60
    assert event.fields["name"] == "nohup.out"
