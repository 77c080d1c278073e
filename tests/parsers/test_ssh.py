"""The OpenSSH client: connections lost, refused, and closed as they should be."""

from __future__ import annotations

import pytest

from forensics.parsers.ssh import PARSER
from tests.cutting import check_laws, one, parse


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        ("client_loop: send disconnect: Broken pipe", "dropped", {"reason": "Broken pipe"}),
        ("Connection to gpu7 closed by remote host.", "dropped", {"host": "gpu7"}),
        ("Read from remote host gpu7: Connection reset by peer", "dropped", {"host": "gpu7"}),
        ("Read from remote host gpu7: Operation timed out", "dropped", {"reason": "Operation timed out"}),
        ("Timeout, server gpu7 not responding.", "dropped", {"host": "gpu7"}),
        ("packet_write_wait: Connection to 10.0.0.1 port 22: Broken pipe", "dropped", {"host": "10.0.0.1", "port": 22}),
        ("Write failed: Broken pipe", "dropped", {}),
        ("Connection to gpu7 closed.", "closed", {"host": "gpu7"}),
        ("Shared connection to gpu7 closed.", "closed", {"host": "gpu7"}),
        ("ssh: connect to host gpu7 port 22: Connection refused", "refused", {"host": "gpu7", "port": 22}),
        (
            "ssh: connect to host gpu7 port 2222: No route to host",
            "refused",
            {"port": 2222, "reason": "No route to host"},
        ),
        ("ssh: Could not resolve hostname gpu7: Name or service not known", "refused", {"host": "gpu7"}),
        ("kex_exchange_identification: Connection closed by remote host", "refused", {}),
        ("kex_exchange_identification: read: Connection reset by peer", "refused", {}),
        ("Connection closed by 10.0.0.1 port 22", "refused", {"host": "10.0.0.1", "port": 22}),
        ("Connection reset by 10.0.0.1 port 22", "refused", {}),
        ("Connection to 10.0.0.1 port 22 timed out", "refused", {}),
        ("Connection timed out during banner exchange", "refused", {}),
        ("Host key verification failed.", "host-key", {}),
        ("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @", "host-key", {}),
        (
            "root@gpu7: Permission denied (publickey,password).",
            "denied",
            {"host": "gpu7", "methods": "publickey,password"},
        ),
        ("Permission denied (publickey).", "denied", {"methods": "publickey"}),
        ("Received disconnect from 10.0.0.1 port 22:2: Timeout, your session not responding.", "dropped", {"port": 22}),
        ("Disconnected from 10.0.0.1 port 22", "dropped", {"host": "10.0.0.1"}),
        ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "refused", {"port": 22}),
        ("Unable to negotiate with 10.0.0.1 port 22: no matching host key type found.", "refused", {"port": 22}),
    ],
)
def test_every_message_of_the_client_has_its_kind(line: str, kind: str, facts: dict[str, object]) -> None:
    """Messages end in CR LF; host, port and reason are facts."""
    event = one(PARSER, line + "\r")
    assert event.kind == kind
    assert facts.items() <= event.fields.items()


def test_a_connection_may_break_in_the_middle_of_a_line() -> None:
    """The remote program had not ended its line."""
    event = one(PARSER, "step 512 | loss 2.3client_loop: send disconnect: Broken pipe")
    assert (event.kind, event.fields["reason"]) == ("dropped", "Broken pipe")


@pytest.mark.parametrize(
    "line",
    [
        "torch.distributed.DistNetworkError: Connection reset by peer",
        "Connection closed by peer [10.0.0.2]:1234",
        "2026-11-29 12:00:00 | WARNING | Connection to redis closed.",
        "PermissionError: [Errno 13] Permission denied: '/data'",
        "vm:691:691 [0] NCCL INFO Connection closed by localRank 1",
        "Connection to database closed by remote host, retrying in 5 s",
    ],
)
def test_look_alikes_stay_silent(line: str) -> None:
    """Other programs lose connections too."""
    assert parse(PARSER, line) == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other."""
    check_laws(PARSER, ["client_loop: send disconnect: Broken pipe", "Connection to gpu7 closed.", "step 1 loss 2"])


def test_a_connection_closed_below_a_run_was_there_before() -> None:
    """The client has the same words for both: what stands before them tells a cut session from one never opened."""
    assert one(PARSER, "step 1\n" * 9 + "Connection closed by 10.0.0.1 port 22").kind == "dropped"
