"""The kernel's messages of one line, as data: kind, pattern, facts."""

from __future__ import annotations

import re

from msgspec import Struct, field

from forensics.model import Value
from forensics.text.lazy import lazy


class Form(Struct, frozen=True):
    """A message of one line. `plain`: unmistakable even where no kernel's head stands before it."""

    kind: str
    pattern: re.Pattern[str]
    plain: bool = False
    fields: dict[str, Value] = field(default_factory=dict)


_AMDGPU = (
    r"(?:\[drm:\w{1,64} \[amdgpu\]\] |amdgpu(?: (?P<pci>[0-9a-f:]{7,12}\.\d))?: (?:amdgpu: )?(?:\[drm\] ?)?)"
    r"(?:\*ERROR\* ?)?(?:\[\w{1,16}\] ?)?"
)

FORMS = (
    Form(
        "sxid",
        lazy(
            r"nvidia-nvswitch(?P<switch>\d{1,3}): SXid \((?:PCI:)?(?P<pci>[0-9A-Fa-f:.]{5,20})\): (?P<sxid>\d{1,6}), "
            r"(?P<severity>Fatal|Non-fatal), (?:Link (?P<link>-?\d{1,3}) )?"
        ),
        plain=True,
    ),
    Form(
        "segfault",
        lazy(
            r"(?P<comm>.{1,64}?)\[(?P<pid>\d{1,9})\]: segfault at (?P<address>[0-9a-f]{1,16}) ip +(?:\S{1,20}$|"
            r"\S{1,20} sp +\S{1,20} error (?P<error>[0-9a-f]{1,4}))(?:.{0,40}? in (?P<module>[^\[\s]{1,256})\[)?"
        ),
        plain=True,
    ),
    Form(
        "segfault",
        lazy(
            r"traps: (?P<comm>.{1,64}?)\[(?P<pid>\d{1,9})\] "
            r"(?P<trap>general protection(?: fault)?|trap (?!int3)[\w ]{1,40}?)"
            r" ip(?:.{0,120}? in (?P<module>[^\[\s]{1,256})\[)?"
        ),
        plain=True,
    ),
    Form(
        "segfault",
        lazy(
            r"(?P<comm>.{1,64}?)\[(?P<pid>\d{1,9})\]: unhandled (?P<trap>.{1,64}?) \(11\) at (?P<address>0x[0-9a-f]+)"
        ),
    ),
    Form("nfs-ok", lazy(r"nfs: server (?P<server>\S{1,256}) OK")),
    Form("nfs", lazy(r"nfs: server (?P<server>\S{1,256}) not responding, (?P<state>still trying|timed out)")),
    Form(
        "lustre",
        lazy(
            r"LustreError: .{1,200}?(?:This client was evicted by (?P<server>[\w.@-]{1,100})"
            r"|operation \w{1,40} to node (?P<server2>\S{1,100}) failed: rc = -(?:107|108|5|30)\b)"
        ),
    ),
    Form("pids-cgroup", lazy(r"cgroup: fork rejected by pids controller in (?P<cgroup>\S{1,512})"), plain=True),
    Form(
        "net-link",
        lazy(
            # Interfaces of containers come and go with the containers.
            r"(?:.{0,120}?[\s(])??(?!veth|docker|br-|cali|cni|flannel|virbr|lxdbr|tap|vnet)"
            r"(?P<interface>[A-Za-z][\w@-]{0,31})\)?(?: NIC|:(?: NIC)?(?: Port: \d{1,3})?) ?"
            r"(?:[Ll]ink is [Dd]own|[Ll]ink [Dd]own|Link DOWN|link status definitely down)"
        ),
    ),
    Form(
        "net-link",
        lazy(r"NETDEV WATCHDOG: (?:CPU: \d+: )?(?P<interface>[\w.@-]{1,32}) \(.{1,64}\): transmit queue"),
    ),
    Form(
        "fs-readonly",
        lazy(r"(?:EXT4-fs|XFS|BTRFS)\b.{0,120}?(?:[Rr]emounting filesystem read-only|forced readonly)"),
    ),
    Form(
        "io-error",
        lazy(
            r"(?:EXT4-fs error \(device (?P<fs>[\w-]{1,64})\)|Buffer I/O error on dev(?:ice)? (?P<buffer>[\w-]{1,64})"
            r"|(?:blk_update_request: |print_req_error: )?(?:I/O|critical (?:medium|target|space allocation)) error, "
            r"dev (?P<dev>[\w-]{1,64})|XFS \((?P<xfs>[\w-]{1,64})\): (?:.{0,80}(?:I/O error|Corruption|shut))"
            r"|nvme (?P<nvme>nvme\d{1,4}): (?:I/O \d+ .{0,40}timeout|controller is down))"
        ),
    ),
    Form("panic", lazy(r"Kernel panic - not syncing: (?P<reason>.{1,200})")),
    Form(
        "core-dump",
        lazy(
            r"(?:systemd-coredump\[\d+\]: )?(?:\S )?Process (?P<pid>\d{1,9}) \((?P<comm>.{1,64}?)\) of user \d+ "
            r"dumped core"
            r"|Pid (?P<pid2>\d{1,9})\((?P<comm2>.{1,64}?)\) over core_pipe_limit"
        ),
        plain=True,
    ),
    *(
        Form("nvrm", lazy(pattern), plain=True, fields={"topic": topic})
        for topic, pattern in (
            ("fell-off-bus", r"NVRM: .{0,60}has fallen off the bus"),
            ("init-failed", r"NVRM: .{0,60}(?:RmInitAdapter|rm_init_adapter) failed"),
            ("no-gpu", r"NVRM: No NVIDIA (?:GPU|graphics adapter|devices?) (?:found|probed)"),
            ("no-gpu", r"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid"),
            ("gsp-timeout", r"NVRM: Rate limiting GSP RPC error prints"),
            ("gsp-timeout", r"NVRM: .{0,60}(?:Timeout waiting for|of waiting for) RPC"),
        )
    ),
    *(
        Form("amdgpu", lazy(_AMDGPU + pattern), plain=True, fields={"topic": topic})
        for topic, pattern in (
            (
                "page-fault",
                r".{0,9}page fault \(src_id:(?:.{0,99}?process (?P<comm>.{0,64}?) pid (?P<pid>[1-9]\d{0,8}))?",
            ),
            ("ecc", r".{0,60}?\b[1-9]\d{0,9} (?:new )?uncorrectable hardware errors detected"),
            ("ring-timeout", r"ring \S{1,32} timeout, "),
            ("reset", r"GPU reset begin!"),
            ("hang", r"(?:The cp might be in an unrecoverable state|MES might be in unrecoverable state)"),
            ("lost", r"(?:device lost from bus|PCI error: detected callback.{0,40}perm_failure)"),
        )
    ),
)
NUMBERS = frozenset({"pid", "link", "switch", "sxid", "gi", "ci", "xid"})
"""The captures that are integers."""
