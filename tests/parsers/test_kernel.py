"""The kernel and the GPU driver: every wording of every version, and those who merely quote them."""

from __future__ import annotations

import pytest

from forensics.parsers.kernel import PARSER
from tests.cutting import check_laws, one, parse

STAMP = "[ 1234.567890] "


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            "NVRM: Xid (PCI:0000:bd:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has "
            "been detected on GPU in the framebuffer.",
            {"xid": 48, "pci": "0000:bd:00", "xid_role": "H"},
        ),
        (
            "NVRM: Xid (PCI:0000:BD:00): 94, pid=1797828, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No",
            {"xid": 94, "pci": "0000:bd:00", "pid": 1797828, "name": "python", "xid_action": "RESTART_APP"},
        ),
        ("NVRM: Xid (PCI:0000:3d:00): 43, pid=35521, Ch 00000008", {"xid": 43, "pid": 35521, "xid_role": "C"}),
        ("NVRM: Xid (0000:3d:00): 45, Ch 00000010", {"xid": 45, "pci": "0000:3d:00"}),
        (
            "NVRM: Xid (PCI:0000:3d:00): 45, pid=1, name=pt_main_thread, Ch 00000008 caused by previous Xid 31",
            {"xid": 45, "previous_xid": 31, "name": "pt_main_thread"},
        ),
        ("NVRM: Xid (PCI:0000:1b:00 GPU-I:05 GPU-CI:00): 31, pid=7, name=p, Ch 1", {"xid": 31, "gi": 5, "ci": 0}),
        ("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", {"xid": 79, "xid_role": "H"}),
        (
            "NVRM: Xid (PCI:0000:1b:00): 119, pid=9, name=nvidia-smi, Timeout after 6s of waiting for RPC response from "
            "GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802 0x8).",
            {"xid": 119, "name": "nvidia-smi"},
        ),
        (
            "NVRM: Xid (PCI:0000:1b:00): 149, NETIR Nonfatal XC0 i0 Link 05 (0x004505c6 0x00000000 0x1 0x2 0x3 0x4)",
            {"xid": 149},
        ),
        (
            "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            {"xid": 154, "xid_role": "C"},
        ),
        ("NVRM: Xid (PCI:0000:1b:00): 99999, something new", {"xid": 99999}),
    ],
    ids=[
        "48",
        "94",
        "before name",
        "before 460",
        "580 suffix",
        "MIG",
        "570 without pid",
        "GSP",
        "NVLink5",
        "154",
        "unknown",
    ],
)
def test_an_xid_line_gives_its_facts_in_every_grammar(line: str, facts: dict[str, object]) -> None:
    """Number, address, process and meaning, from driver 390 to 595."""
    event = one(PARSER, STAMP + line)
    assert event.kind == "xid"
    assert facts.items() <= event.fields.items()
    assert event.message == line


@pytest.mark.parametrize(
    "head",
    [
        "[ 1234.567890] ",
        "[Fri May  3 02:12:44 2024] ",
        "May  3 02:12:44 gn0713 kernel: [ 1234.567890] ",
        "2024-05-03T02:12:44+0200 gn0713 kernel: ",
        "2024-05-03T02:12:44.123456+02:00 gn0713 kernel: ",
        "kern  :err   : [ 1234.567890] ",
        "<3>[ 1234.567890] ",
        "[ 1234.567890] [ T4242] ",
        "kernel: ",
        "",
    ],
)
@pytest.mark.parametrize("kind", ["kernel-log", "training-log"])
def test_the_kernel_is_recognised_behind_every_head(head: str, kind: str) -> None:
    """All forms of dmesg, syslog, the journal; and a line pasted without any."""
    event = one(PARSER, head + "NVRM: Xid (PCI:0000:bd:00): 63, pid=1, name=p, Row Remapper: New row", kind)
    assert (event.kind, event.fields["xid"]) == ("xid", 63)


@pytest.mark.parametrize(
    "line",
    [
        "2024-05-03 02:12:44,123 - INFO - health - NVRM: Xid (PCI:0000:bd:00): 48, pid=1, name=p, quoted",
        "WARNING: health: [ 12.123456] NVRM: Xid (PCI:0000:bd:00): 48, pid=1, name=p, quoted",
        "if Xid 48 appears, restart the node",
        'grep "NVRM: Xid" /var/log/syslog',
        "step 79 | Xid 0 | loss 3.2",
        "nfs: server store01 not responding, still trying",
        "eth0: Link is down",
        "docker0: port 2(vethaf71a8) entered blocking state",
        "[ 12.123456] mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE",
        "[ 12.123456] veth12ab: Link is Down",
        "[ 12.123456] NVRM: GPU at PCI:0000:db:00: GPU-90b1ce34",
        "[ 12.123456] EXT4-fs (nvme1n1): mounted filesystem with ordered data mode. Quota mode: none.",
        "Killed process group 7",
        "[ 12.123456] oom_reaper: reaped process 812917 (python), now anon-rss:0kB, file-rss:70912kB, shmem-rss:0kB",
        "[ 12.123456] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Data {0x00000000, 0x10000030}",
        "FileNotFoundError: segfault at dawn.txt",
    ],
)
def test_those_who_quote_the_kernel_stay_silent(line: str) -> None:
    """A logger's line, a script, a metric, and the kernel's own everyday lines give nothing."""
    assert parse(PARSER, line) == []


MACHINE = """
[Wed Aug 30 05:41:12 2023] python invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
[Wed Aug 30 05:41:12 2023] CPU: 37 PID: 812915 Comm: python Tainted: P           OE     5.15.0-113-generic #123-Ubuntu
[Wed Aug 30 05:41:12 2023] [ 812917]  1004  812917 153110047 29805113      232852        0             0 python
[Wed Aug 30 05:41:12 2023] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice/user-1004.slice/session-12.scope,task=python,pid=812917,uid=1004
[Wed Aug 30 05:41:12 2023] Out of memory: Killed process 812917 (python) total-vm:612440188kB, anon-rss:119220452kB, file-rss:71120kB, shmem-rss:20188kB, UID:1004 pgtables:1127kB oom_score_adj:0
"""


def test_an_oom_kill_of_the_machine_is_one_event() -> None:
    """The line of the kill, with the line before it that says whose memory ran out."""
    event = one(PARSER, MACHINE, "kernel-log")
    assert (event.kind, event.line, event.time) == ("oom-kill", 5, 1693374072.0)
    assert event.fields["constraint"] == "global"
    assert (event.fields["pid"], event.fields["comm"]) == (812917, "python")
    assert event.fields["anon_rss_bytes"] == 119220452 * 1024
    assert event.fields["total_vm_bytes"] == 612440188 * 1024
    assert [place.line for place in event.also] == [4]
    assert "CONSTRAINT_NONE" in event.message
    assert event.text.endswith("oom_score_adj:0")


def test_a_kill_at_a_cgroup_limit_names_the_limit_and_the_job() -> None:
    """The limit stands far above the kill; Slurm's job is in the name of the cgroup."""
    stack = "\n".join(f"{STAMP}[{n:>7}]  1000 {n} 1 1 1 0 0 python" for n in range(300))
    event = one(
        PARSER,
        f"{STAMP}python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
        f"{STAMP}memory: usage 67108864kB, limit 67108864kB, failcnt 812\n"
        f"{STAMP}swap: usage 0kB, limit 9007199254740988kB, failcnt 0\n{stack}\n"
        f"{STAMP}oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/slurm/uid_1/job_77,"
        "task_memcg=/slurm/uid_1/job_77/step_0,task=python,pid=41,uid=1\n"
        f"{STAMP}Memory cgroup out of memory: Killed process 41 (python) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
        "shmem-rss:0kB, UID:1 pgtables:1kB oom_score_adj:0",
    )
    assert event.fields["constraint"] == "memcg"
    assert event.fields["limit_bytes"] == 64 << 30
    assert (event.fields["job_id"], event.fields["oom_memcg"]) == (77, "/slurm/uid_1/job_77")


@pytest.mark.parametrize(
    ("lines", "constraint"),
    [
        ("Out of memory: Kill process 9 (python) score 905 or sacrifice child", "global"),
        ("Memory cgroup out of memory: Kill process 9 (python) score 905 or sacrifice child", "memcg"),
        ("Task in /docker/ab killed as a result of limit of /docker/ab\n"
         "[ 1234.5678] Memory cgroup out of memory: Kill process 9 (python) score 905 or sacrifice child", "memcg"),
    ],
    ids=["machine", "cgroup", "cgroup with its name"],
)  # fmt: skip
def test_the_two_lines_of_old_kernels_are_one_kill(lines: str, constraint: str) -> None:
    """Up to Linux 5.0 the chosen process and the killed one, which may be its child, have a line each."""
    event = one(
        PARSER,
        f"{STAMP}{lines}\n{STAMP}Killed process 10 (pt_data_worker) total-vm:5kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB",
        "kernel-log",
    )
    assert (event.fields["pid"], event.fields["comm"]) == (10, "pt_data_worker")
    assert event.fields["constraint"] == constraint


@pytest.mark.parametrize(
    "line",
    [
        "Out of memory: Killed process 7 (python), UID 1000, total-vm:5kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB",
        "Out of memory (oom_kill_allocating_task): Killed process 7 (python) total-vm:5kB, anon-rss:4kB, file-rss:0kB",
        "Killed process 7 (python) vsz:5kB, anon-rss:4kB, file-rss:0kB",
    ],
    ids=["RHEL 8", "allocating task", "2.6.32"],
)
def test_other_wordings_of_the_kill_are_read(line: str) -> None:
    """The order of the parts differs, the facts do not."""
    event = one(PARSER, STAMP + line)
    assert (event.fields["pid"], event.fields["anon_rss_bytes"]) == (7, 4096)


def test_a_victim_named_at_the_end_of_a_cut_log_is_told() -> None:
    """The machine died before the kill was logged."""
    event = one(PARSER, "\n".join(MACHINE.strip().split("\n")[:4]), "kernel-log")
    assert (event.kind, event.line, event.fields["pid"]) == ("oom-kill", 4, 812917)


def test_killers_outside_the_kernel_are_heard() -> None:
    """systemd-oomd kills a whole scope, earlyoom one process; systemd notes what the kernel did to a unit."""
    head = "May  3 02:12:44 box "
    events = parse(
        PARSER,
        head + "systemd-oomd[9]: Killed /user.slice/user-1000.slice/tmux.scope due to memory pressure for /user.slice\n"
        + head + 'earlyoom[8]: sending SIGTERM to process 77 uid 1000 "python": badness 900, VmRSS 9 MiB\n'
        + head + "systemd[1]: tmux-spawn-3.scope: A process of this unit has been killed by the OOM killer.",
        "kernel-log",
    )  # fmt: skip
    assert [(e.kind, e.fields.get("task_memcg"), e.fields.get("pid"), e.fields.get("unit")) for e in events] == [
        ("oom-kill", "/user.slice/user-1000.slice/tmux.scope", None, None),
        ("oom-kill", None, 77, None),
        ("oom-unit", None, None, "tmux-spawn-3.scope"),
    ]


@pytest.mark.parametrize(
    ("lines", "library", "module"),
    [
        (
            "NVRM: API mismatch: the client has the version 535.54, but\n"
            "NVRM: this kernel module has the version 535.104.05.  Please\n"
            "NVRM: make sure that this kernel module and all NVIDIA driver\n"
            "NVRM: components have the same version.",
            "535.54",
            "535.104.05",
        ),
        (
            "NVRM: API mismatch: the client 'python3' (pid 55)\n"
            "NVRM: has the version 580.65.06, but this kernel module has\n"
            "NVRM: the version 580.82.07.  Please make sure that this\n"
            "NVRM: kernel module and all NVIDIA driver components\n"
            "NVRM: have the same version.",
            "580.65.06",
            "580.82.07",
        ),
    ],
    ids=["up to 570", "580"],
)
def test_an_api_mismatch_is_one_event_with_both_versions(lines: str, library: str, module: str) -> None:
    """The sentence is broken over lines differently from version to version."""
    text = "\n".join(f"May  3 02:12:44 box kernel: [ 12.345678] {line}" for line in lines.split("\n"))
    first, second = parse(PARSER, f"{text}\n{text}")
    assert (first.kind, first.fields["topic"], first.line) == ("nvrm", "api-mismatch", 1)
    assert (first.fields["library"], first.fields["kernel_module"]) == (library, module)
    assert second.line == first.end_line + 1


def test_the_driver_says_in_three_ways_that_a_gpu_is_gone() -> None:
    """At run time in one line, at load time in three; and an adapter that cannot be initialised."""
    events = parse(
        PARSER,
        f"{STAMP}NVRM: GPU 0000:bd:00.0: GPU has fallen off the bus.\n"
        f"{STAMP}NVRM: The NVIDIA GPU 0000:bd:00.0\n"
        f"{STAMP}NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        f"{STAMP}NVRM: fallen off the bus and is not responding to commands.\n"
        f"{STAMP}NVRM: GPU 0000:bd:00.0: RmInitAdapter failed! (0x26:0xffff:1482)\n"
        f"{STAMP}NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:bd:00 (printing 1 of every 30).",
    )
    assert [(e.fields["topic"], e.line, e.end_line) for e in events] == [
        ("fell-off-bus", 1, 1),
        ("fell-off-bus", 2, 4),
        ("init-failed", 5, 5),
        ("gsp-timeout", 6, 6),
    ]
    assert {e.fields["pci"] for e in events} == {"0000:bd:00"}


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up (First)",
            "sxid",
            {"sxid": 20034, "severity": "Fatal", "link": 30, "switch": 3, "pci": "0000:c1:00"},
        ),
        (
            "pt_main_thread[77]: segfault at 0 ip 00007f02 sp 00007ffe error 4 in libtorch_cuda.so[7f00+1000] likely on CPU 3",
            "segfault",
            {"comm": "pt_main_thread", "pid": 77, "module": "libtorch_cuda.so"},
        ),
        (
            "python3[78]: segfault at 10 ip 00007f02 sp 00007ffe error 6 in libnccl.so.2.21.5[1ab0,7f00+1000]",
            "segfault",
            {"pid": 78, "module": "libnccl.so.2.21.5"},
        ),
        (
            "traps: python3[78] general protection fault ip:7f02 sp:7ffe error:0 in libc.so.6[7f00+1000]",
            "segfault",
            {"pid": 78, "trap": "general protection fault", "module": "libc.so.6"},
        ),
        ("traps: python3[78] trap invalid opcode ip:7f02 sp:7ffe error:0", "segfault", {"trap": "trap invalid opcode"}),
        ("nfs: server store01 not responding, still trying", "nfs", {"server": "store01", "state": "still trying"}),
        ("nfs: server store01 not responding, timed out", "nfs", {"state": "timed out"}),
        ("nfs: server store01 OK", "nfs-ok", {"server": "store01"}),
        ("cgroup: fork rejected by pids controller in /docker/ab", "pids-cgroup", {"cgroup": "/docker/ab"}),
        ("mlx5_core 0000:3b:00.0 ib0: Link down", "net-link", {"interface": "ib0"}),
        ("mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN", "net-link", {"interface": "mlx5_5"}),
        ("bnxt_en 0000:01:00.0 eth0: NIC Link is Down", "net-link", {"interface": "eth0"}),
        ("e1000e: eth0 NIC Link is Down", "net-link", {"interface": "eth0"}),
        ("NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 7 timed out", "net-link", {"interface": "eth2"}),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "fs-readonly", {}),
        ("blk_update_request: I/O error, dev nvme0n1, sector 123", "io-error", {"disk": "nvme0n1"}),
        ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", "io-error", {"disk": "sda1"}),
        ("Buffer I/O error on dev sdb, logical block 0", "io-error", {"disk": "sdb"}),
        ("Kernel panic - not syncing: Fatal machine check", "panic", {"reason": "Fatal machine check"}),
    ],
)
def test_other_messages_have_their_kinds(line: str, kind: str, facts: dict[str, object]) -> None:
    """One line each, with the facts in it."""
    event = one(PARSER, STAMP + line)
    assert event.kind == kind
    assert facts.items() <= event.fields.items()
    assert event.fields["uptime_s"] == 1234.56789


@pytest.mark.parametrize(
    ("frame", "waits"),
    [
        ("nfs_wait_bit_killable+0x1e/0x90 [nfs]", "nfs"),
        ("jbd2_log_wait_commit+0x10/0x20", "disk"),
        ("uvm_va_space_mm_shutdown+0x1/0x2 [nvidia_uvm]", "gpu-driver"),
        ("fuse_request_wait+0x1/0x2", "fuse"),
        ("do_syscall_64+0x1/0x2", None),
    ],
)
def test_a_hung_task_says_what_it_waits_for(frame: str, waits: str | None) -> None:
    """The stack below the message tells storage from driver."""
    event = one(
        PARSER,
        f"{STAMP}INFO: task python:4242 blocked for more than 120 seconds.\n"
        f"{STAMP}      Tainted: P           OE     5.15.0-113-generic #123-Ubuntu\n"
        f'{STAMP}"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.\n'
        f"{STAMP}Call Trace:\n{STAMP} <TASK>\n{STAMP} __schedule+0x2cd/0x890\n{STAMP} {frame}\n{STAMP} </TASK>",
    )
    assert (event.kind, event.end_line) == ("hung-task", 8)
    assert (event.fields["comm"], event.fields["pid"], event.fields["blocked_ms"]) == ("python", 4242, 120_000)
    assert event.fields.get("waits_for") == waits


def test_the_laws_hold_for_the_kernels_own_lines() -> None:
    """Cutting shortens the last event and alters no other, in a kernel log and elsewhere."""
    voice = [
        *MACHINE.strip().split("\n"),
        f"{STAMP}Memory cgroup out of memory: Kill process 9 (python) score 905 or sacrifice child",
        f"{STAMP}Killed process 10 (python) total-vm:5kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB",
        f"{STAMP}memory: usage 100kB, limit 100kB, failcnt 1",
        f"{STAMP}Tasks in /a are going to be killed due to memory.oom.group set",
        f"{STAMP}NVRM: Xid (PCI:0000:bd:00): 31, pid=1, name=p, Ch 1",
        f"{STAMP}NVRM: API mismatch: the client has the version 535.54, but",
        f"{STAMP}NVRM: this kernel module has the version 535.104.05.  Please",
        f"{STAMP}INFO: task python:4242 blocked for more than 120 seconds.",
        f"{STAMP} nfs_wait+0x1/0x2",
        f"{STAMP}nfs: server store01 OK",
    ]
    check_laws(PARSER, voice)
    check_laws(PARSER, voice, "kernel-log")
