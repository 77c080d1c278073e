"""What stays the same of a finding when the same thing goes wrong again.

Lines move, and times, pids, paths, hosts, ranks, sizes and steps differ from run to run.
What names the fault stays: its id, the names among its facts, and the words of its exception.
"""

from __future__ import annotations

import hashlib
import re

from forensics.model import Finding

NAMING = (
    "exception", "module", "symbol", "key", "argument", "kernel_module", "library", "function", "tensor", "collective",
    "xid", "errno", "signal", "http_status", "name",
)  # fmt: skip
"""The facts that name what failed, not when, where or how much."""
_RAISED = re.compile(
    r"\b(?:[A-Za-z_]\w{0,80}\.){0,8}([A-Z]\w{0,80}(?:Error|Exception|Interrupt|Failed|Exit|Warning|Unsupported))\b"
    r"(?:: ?(.{0,400}))?"
)
_VARYING = re.compile(
    r"""(?P<url>\w{2,10}://\S+)"""
    r"""|(?P<host>\[[\w.:-]{1,200}\]:\d{1,5})"""
    r"""|(?P<path>(?:(?<![\w.])(?:~|\.{1,2})?/|\b[A-Za-z]:\\)[^\s'"`,;:()\[\]<>]+)"""
    r"""|(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f-]{8,})[0-9a-f-]*\d[0-9a-f-]*\b)"""
    r"""|(?P<number>[-+]?\d[\d.,_]*(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b)"""
)
_NAMES = {"url": "<url>", "host": "<host>", "path": "<path>", "hex": "<hex>", "number": "#"}


def fingerprint(finding: Finding) -> str:
    """Return 32 hexadecimal digits."""
    facts = finding.facts
    named = {name: facts[name] for name in NAMING if facts.get(name) is not None}
    # The number of an Xid or an errno is its name.
    told = [finding.id, *(f"{k}={masked(v) if isinstance(v, str) else v}" for k, v in named.items())]
    host = str(facts.get("host") or "")
    words = _words(finding)
    told.append(masked(words.replace(host, "<host>") if len(host) > 2 else words))
    return hashlib.sha256("\n".join(told).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def masked(text: str) -> str:
    """Return a text with marks in place of what differs between two runs of one failure."""
    return _VARYING.sub(lambda found: _NAMES[str(found.lastgroup)], " ".join(text.split()))


def _words(finding: Finding) -> str:
    """Return the name and message of the exception that the evidence quotes last, or nothing."""
    lines = [line for place in finding.evidence[:1] for line in place.text.splitlines()]
    raised = [found for line in lines if (found := _RAISED.search(line))]
    return f"{raised[-1][1]}: {raised[-1][2] or ''}" if raised else ""
