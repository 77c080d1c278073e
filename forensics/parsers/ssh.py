"""The OpenSSH client's voice: a connection that was never made, or was lost.

    client_loop: send disconnect: Broken pipe
    ssh: connect to host gpu7 port 22: Connection refused

Events: `dropped`, `refused` (no connection: refused, timed out, no route, no such
name, broken off in the key exchange), `host-key`, `denied`, `closed` (the normal end of
a session). Fields host, port, reason. Wordings: openssh-portable clientloop.c,
packet.c, sshconnect.c, sshconnect2.c, kex.c; `packet_write_wait` up to 7.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_WHO = r"(?P<host>[\w.:%@\[\]-]{1,256})"


def _form(kind: str, *parts: str) -> tuple[str, re.Pattern[str]]:
    return kind, lazy("".join(parts))


_ENDED = "ended"
"""The client says this before it has logged in, and also where a session is cut off: what stands before it tells."""
_FIRST_LINES = 5
_FORMS = (
    # The connection breaks in the middle of the remote program's line, so these may follow text.
    _form("dropped", r".{0,500}?client_loop: send disconnect: (?P<reason>[\w ]{3,60})"),
    _form("dropped", rf".{{0,500}}?Connection to {_WHO} closed by remote host\.?"),
    _form("dropped", rf"Read from remote host {_WHO}: (?P<reason>[\w ]{{3,60}})"),
    _form("dropped", rf"Timeout, server {_WHO} not responding\."),
    _form(
        "dropped",
        rf".{{0,500}}?(?:packet_write_wait|ssh_dispatch_run_fatal|write_wait): Connection to (?:\w+ )?{_WHO} ",
        r"port (?P<port>\d{1,5}): (?P<reason>[\w ]{3,60})",
    ),
    _form("dropped", r"Write failed: (?P<reason>Broken pipe)"),
    _form(
        "dropped",
        rf"(?:Received disconnect|Disconnected) from (?:user \S{{1,64}} )?{_WHO} port (?P<port>\d{{1,5}})",
        r"(?::\d{1,3}: (?P<reason>(?!Too many authentication|disconnected by user|No supported).{1,120}))?",
    ),
    _form("dropped", r"Disconnecting: (?P<reason>Timeout, .{1,60})"),
    _form("closed", rf"(?:Shared c|C)onnection to {_WHO} closed\."),
    _form("refused", rf"ssh: connect to (?:host|address) {_WHO} port (?P<port>\d{{1,5}}): (?P<reason>[\w ]{{3,80}})"),
    _form("refused", rf"ssh: Could not resolve hostname {_WHO}: (?P<reason>.{{1,120}})"),
    _form("refused", r"(?:kex_exchange_identification|ssh_exchange_identification): (?P<reason>.{1,120})"),
    _form(_ENDED, rf"Connection (?P<reason>closed|reset) by (?:\w+ )?{_WHO} port (?P<port>\d{{1,5}})"),
    _form(
        "refused",
        rf"Received disconnect from {_WHO} port (?P<port>\d{{1,5}}):\d{{1,3}}: ",
        r"(?P<reason>(?:Too many authentication|No supported).{1,100})",
    ),
    _form("refused", rf"Unable to negotiate with {_WHO} port (?P<port>\d{{1,5}}): (?P<reason>.{{1,300}})"),
    _form("refused", r"Bad owner or permissions on (?P<reason>/.{1,300})"),
    _form("refused", rf"Connection to {_WHO} port (?P<port>\d{{1,5}}) timed out"),
    _form("refused", r"Connection timed out during banner exchange"),
    _form("host-key", r"Host key verification failed\."),
    _form("host-key", r"@?\s{0,8}WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\s{0,8}@?"),
    _form("denied", rf"(?:(?P<user>[\w.-]{{1,64}})@{_WHO}: )?Permission denied \((?P<methods>[\w,-]{{1,200}})\)\."),
)
_LONGEST = 600


class Ssh:
    """See the module's text."""

    speaker = "ssh"
    triggers: tuple[str, ...] = (
        "client_loop: ",
        "closed by remote host",
        "onnection to ",
        "onnection closed by ",
        "Connection reset by ",
        "Read from remote host",
        "Timeout, server ",
        "packet_write_wait",
        "ssh_dispatch_run_fatal",
        "Write failed: Broken pipe",
        "ssh: ",
        "_exchange_identification",
        "banner exchange",
        "Host key verification failed",
        "REMOTE HOST IDENTIFICATION",
        "Permission denied (",
        "isconnect",
        "Unable to negotiate with",
        "Bad owner or permissions on",
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        for record in records:
            text = record.text.strip()
            if record.level is not None or len(text) > _LONGEST:
                continue
            for kind, pattern in _FORMS:
                # The client prints lines of its own (they end in CR LF): a quote is not its voice.
                if match := pattern.fullmatch(text):
                    fields: dict[str, Value] = {
                        name: int(value) if name == "port" else value
                        for name, value in match.groupdict().items()
                        if value is not None
                    }
                    if kind == _ENDED:
                        late = record.line.number > _FIRST_LINES and context.source.kind != "transcript"
                        yield quote("ssh", "dropped" if late else "refused", [record], context, fields)
                    else:
                        yield quote("ssh", kind, [record], context, fields)
                    break


PARSER = Ssh()
