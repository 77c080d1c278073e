"""Recognising records with a format of their own: kernel logs, dumps, job records, host records, data files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from forensics.sources.smi import smi_kind
from forensics.text.lazy import lazy

_Test = Callable[[str, str, Sequence[str]], str | None]

_SYSLOG_TIME = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_JOURNAL_TIME = r"(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,20}(?: [A-Z]{3,4})?"
_KERNEL_STAMP = lazy(
    r"(?:\w{3,8} *:\w{2,7} *: |<\d{1,3}>)?\[ *\+?\d{1,9}\.\d{6}(?:,\d+)?(?:@\d+)?\] "
    r"|\[[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d\] "  # dmesg -H
)
_DATED_STAMP = lazy(
    r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] |"  # dmesg -T
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d |"  # dmesg --time-format iso
    r"[\w.:-]{1,120}: (?:kern|user|daemon|syslog): {1,5}[a-z]{3,7}: \[20\d\d-"  # talosctl dmesg
)
_SYSLOG = lazy(rf"(?:{_SYSLOG_TIME}|{_JOURNAL_TIME}) [\w.-]+ (?P<ident>[\w./@-]+)(?:\[\d+\])?: ")
_KERNEL_WORDS = lazy(
    r"NVRM|nvidia|Xid|kernel|oom|Out of memory|audit|EXT4|XFS|usb|mlx5|CPU|docker|eth\d|eno|ens|systemd|nvme|pcie|"
    r"nfs:|perf:|workqueue|hrtimer|mce:|EDAC|ACPI|IPv6|apparmor|segfault|traps:|INFO: task|Memory cgroup|Call Trace|"
    r"veth|md\d|sd[a-z]",
    re.IGNORECASE,
)
_KERNEL_NAME = lazy(r"dmesg|kern|syslog|messages|journal|xid", re.IGNORECASE)
_KERNEL_SPEAKER = lazy(
    r"NVRM: |nvidia-|Out of memory: |oom-kill:|Memory cgroup out of memory|\S+ invoked oom-killer|\S+: segfault at "
)
_STACK_START = lazy(
    r"Process \d+: |Fatal Python error: |Timeout \(\d|(?:Current thread|Thread) 0x[0-9a-f]+|Thread \d+ \(Thread 0x|"
    r"\[New LWP \d+\]|Attaching to process \d+|Thread (?:0x)?[0-9A-Fa-f]+ \((?:idle|active)"
)
_STACK_LINE = lazy(
    r'  File "[^"]*", line \d+ in |    \S.* \(\S+:\d+\)$|#\d+ +|(?:Current thread|Thread) |Process \d+: |Python v\d|'
    r"Fatal Python error|Timeout \(|Extension modules:|  \.\.\.$|        |    (?:Arguments|Locals):"
)
_TRACE = lazy(r"V\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ \S+:\d+\] \{")
_JOB = lazy(
    r"\s*JobID(?:Raw)?[ |]+.*(?:State|ExitCode|JobName|Elapsed|NodeList)|\s*JOBID +.*(?:PARTITION|STATE|ST )|"
    r"JobId=\d+ |(?:Array )?Job I[Dd]: \d+|NodeName=\S+ Arch|PARTITION +AVAIL|Name: +\S+$|NAME +READY +STATUS|"
    r"LAST SEEN +TYPE|NAMESPACE +(?:NAME|LAST)|apiVersion: v1$|Events:$|"
    r"CONTAINER ID +IMAGE +|NAME +(?:IMAGE|COMMAND) +| *Name +Command +State +Ports"
)
_DATE = lazy(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2}) "
    r"(?:\d{4} )?\d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z]{3,5})?(?: \d{4})?\s*$"
)
"""What `date` prints, and `squeue -l` above its table."""
_POD = lazy(r"^(?:Namespace|Node|Status|Reason|Containers|QoS Class|Controlled By):", re.MULTILINE)
_HOST = lazy(
    # df, free, ps, top, vmstat
    r"Filesystem +\S*(?:blocks|Size|Inodes|Type|Used)|\s+total +used +free|"
    r"(?:USER|UID|PID|F S? *UID)\b.*(?:COMMAND|CMD)|PID +TTY|top - \d\d:\d\d|procs -+memory-+|COMMAND +PID +USER|"
    # ulimit -a, /proc/<pid>/limits, /proc/meminfo, cgroup files
    r"(?:core file size|open files|max user processes|real-time non-blocking time) |-t: cpu time|Limit +Soft Limit|"
    r"Mem(?:Total|Available): +\d+ kB|"
    # packages and their history
    r"# packages in environment at|Package +Version$|Start-Date: \d{4}|Collecting environment information|"
    # what machine it is
    r"Architecture: +\S|Linux \S+ \d+\.\d+|DISTRIB_ID=|(?:PRETTY_)?NAME=\"|reboot +system boot|wtmp begins|"
    # ls -l, mount, lsblk, ss, netstat, ibstat
    r"total \d+$|[-dl][rwxsStT-]{9}[.+@]? +\d+ |\S+ on /\S* type \w+ \(|NAME +MAJ:MIN|(?:State|Proto) +Recv-Q|"
    r"Netid +State|hca_id:|CA '"
)
_ENVIRONMENT = lazy(r"(?:export |declare -x )?[A-Za-z_][A-Za-z0-9_]*(?:%%|\(\))?=")
_CAPITALS = lazy(r"(?:export |declare -x )?[A-Z][A-Z0-9_]*=")
_ENVIRONMENT_NAME = lazy(r"env|ulimit|limits", re.IGNORECASE)
_FREEZE = lazy(r"(?:[A-Za-z0-9][\w.-]*(?:\[[\w,-]+\])?(?:==| @ |>=|~=)\S+|-e git\+\S+|#.*)")
_YAML = lazy(r"\s*(?:- )?(?:[\w./-]+|\"[^\"]+\"|'[^']+'):(?: \S|$)|\s*- \S|\s*#|---$")
_TOML = lazy(r"\s*(?:\[{1,2}[\w. \"-]+\]{1,2}|[\w.\"-]+ *= *\S|[#;]|\]|\})")
_JSON = lazy(r"\s*(?:\{|\[\s*[\[{\"])")
_CLOUD = (
    ("TrainingJobStatus",),
    ("jobQueue", "status"),
    ("display_name", "status", "azureml"),
    ("state", "JOB_STATE_"),
)
"""What stands in the description of a job by SageMaker, AWS Batch, Azure ML and Vertex AI."""
_MESSAGE = lazy(r'"(?:msg|message|log)" ?:')
_SETTINGS = (".toml", ".ini", ".cfg", ".conf", ".gin")
_HALF, _MOST = 0.5, 0.8
_SAMPLE = 80


def _share(lines: Sequence[str], pattern: re.Pattern[str]) -> float:
    sample = lines[:_SAMPLE]
    return sum(pattern.match(line) is not None for line in sample) / len(sample)


def _kernel(base: str, text: str, lines: Sequence[str]) -> str | None:
    if _share(lines, _KERNEL_STAMP) >= _HALF or _share(lines, _KERNEL_SPEAKER) >= _HALF:
        return "kernel-log"
    named = _KERNEL_NAME.search(base) is not None
    if _share(lines, _DATED_STAMP) >= _HALF and (named or any(_KERNEL_WORDS.search(line) for line in lines)):
        return "kernel-log"
    if not named and "kernel" not in text:
        return None
    idents = [match["ident"] for line in lines if (match := _SYSLOG.match(line))]
    return "kernel-log" if len(idents) >= _HALF * len(lines) and ("kernel" in idents or named) else None


def _stacks(_base: str, text: str, lines: Sequence[str]) -> str | None:
    if text.lstrip().startswith("[") and '"thread_id"' in text[:4000] and '"frames"' in text:
        return "stack-dump"  # py-spy dump --json
    return "stack-dump" if _STACK_START.match(lines[0]) and _share(lines, _STACK_LINE) >= _MOST else None


def _trace(base: str, _text: str, lines: Sequence[str]) -> str | None:
    # A file whose beginning was lost starts within a payload, of which every line has a tab before it.
    cut = lines[0].startswith("\t") and ("torch_trace" in base or any(_TRACE.match(line) for line in lines))
    return "torch-trace" if cut or _TRACE.match(lines[0]) else None


def _cloud(_base: str, text: str, lines: Sequence[str]) -> str | None:
    if not (_JSON.match(text) or _share(lines, _YAML) >= _MOST) or _json_lines(lines) > 1:
        return None
    return "scheduler-record" if any(all(word in text for word in words) for words in _CLOUD) else None


def _json(base: str, text: str, lines: Sequence[str]) -> str | None:
    if _JSON.match(text) is None:
        return None
    start = text.lstrip()[0]
    flat = text.replace(" ", "").replace("\n", "")
    records = _json_lines(lines) if start == "{" else 0
    if '"message":' in flat[:200] and records < 2 and re.search(r'py_callstack|extraInfo|"timestamp"', flat):
        return "torchelastic-error"
    if '"pg_config"' in flat or ('"entries"' in flat and ("collective_seq_id" in flat or "nccl_version" in flat)):
        return "flight-recorder"
    if '"log_history"' in flat or ("wandb-summary" in base and start == "{"):
        return "metrics-json"
    if records > 1 or (records and base.endswith((".jsonl", ".ndjson", ".log"))):
        return "training-log" if _MESSAGE.search(lines[0]) else "metrics-json"
    return "config" if base.endswith((".json", ".json5", ".ipynb")) or _is_json(text) else None


def _json_lines(lines: Sequence[str]) -> int:
    """How many of the first lines are JSON objects of their own; 0 if others stand among them."""
    sample = lines[:5]
    whole = sum(line.lstrip().startswith("{") and _is_json(line) for line in sample)
    torn = len(lines) <= len(sample)  # then the last line of the sample is the last of the file
    return whole if whole >= len(sample) - torn else 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _jobs(_base: str, text: str, lines: Sequence[str]) -> str | None:
    first = _JOB.match(lines[1] if len(lines) > 1 and _DATE.match(lines[0]) else lines[0])
    if first is None or (first[0].startswith("Name:") and len(_POD.findall(text)) < 2):
        return None
    return "scheduler-record"


def _config(base: str, _text: str, lines: Sequence[str]) -> str | None:
    if base.endswith((".yaml", ".yml")) and _share(lines, _YAML) >= _HALF:
        return "config"
    return "config" if base.endswith(_SETTINGS) and _share(lines, _TOML) >= _HALF else None


def _host(base: str, _text: str, lines: Sequence[str]) -> str | None:
    if any(_HOST.match(line) for line in lines[:2]):
        return "host-record"
    if _share(lines, _FREEZE) >= _MOST and any("==" in line for line in lines):
        return "host-record"
    if _ENVIRONMENT_NAME.search(base):
        return "host-record" if _share(lines, _ENVIRONMENT) >= _HALF else None
    environment = len(lines) > 2 and _share(lines, _ENVIRONMENT) >= _MOST and _share(lines, _CAPITALS) > _HALF
    return "host-record" if environment and not base.endswith((*_SETTINGS, ".sh")) else None


_TESTS: tuple[_Test, ...] = (smi_kind, _kernel, _trace, _stacks, _cloud, _json, _jobs, _config, _host)


def record_kind(base: str, text: str, lines: Sequence[str]) -> str | None:
    """Tell the kind of a text that has a format of its own.

    Args:
        base: the file's name; it decides only what content leaves open.
        text: the beginning of the content.
        lines: its lines that are not blank, at least one.

    Returns:
        The kind, or None where no format was recognised.
    """
    for test in _TESTS:
        kind = test(base, text, lines)
        if kind is not None:
            return kind
    return None
