"""tmux's refusals and endings."""

from __future__ import annotations

import pytest

from forensics.parsers.tmux import PARSER
from tests.cutting import check_laws, one, parse


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        ("no server running on /tmp/tmux-0/default", "no-server", {"socket": "/tmp/tmux-0/default"}),  # noqa: S108
        (
            "error connecting to /run/user/1000/tmux (No such file or directory)",
            "connect-error",
            {"socket": "/run/user/1000/tmux", "reason": "No such file or directory"},
        ),
        ("error connecting to /run/tmux (Connection refused)", "connect-error", {"reason": "Connection refused"}),
        ("no sessions", "no-sessions", {}),
        ("duplicate session: run_1", "duplicate-session", {"session": "run_1"}),
        ("can't find session: train", "cant-find", {"session": "train"}),
        ("can't find pane: %7", "cant-find", {"session": "%7"}),
        ("session not found: train", "cant-find", {"session": "train"}),
        ("[exited]", "exited", {}),
        ("[terminated]", "exited", {}),
        ("[detached (from session train)]", "exited", {"session": "train"}),
        ("[server exited]", "server-exited", {}),
        ("[server exited unexpectedly]", "server-exited", {}),
        ("[lost server]", "lost-server", {}),
        ("[lost tty]", "lost-tty", {}),
        ("user@host ~ $ ll[server exited unexpectedly]", "server-exited", {}),
        ("user@host ~ $ [lost server]", "lost-server", {}),
        ("server exited unexpectedly", "server-exited", {}),
        ("can't find session dflash", "cant-find", {"session": "dflash"}),
        ("no current session", "no-sessions", {}),
        (
            "error creating /run/tmux-0/default (No such file or directory)",
            "connect-error",
            {"socket": "/run/tmux-0/default"},
        ),
        ("Pane is dead", "pane-dead", {}),
        ("open terminal failed: not a terminal", "not-a-terminal", {"reason": "not a terminal"}),
        ("open terminal failed: missing or unsuitable terminal: dumb", "not-a-terminal", {}),
        ("sessions should be nested with care, unset $TMUX to force", "nested", {}),
        ("protocol version mismatch (client 8, server 7)", "protocol-mismatch", {"client": "8", "server": "7"}),
        ("access not allowed", "denied", {}),
    ],
)
def test_every_refusal_and_ending_has_its_kind(line: str, kind: str, facts: dict[str, object]) -> None:
    """The client's words from 2.1 to 3.7."""
    event = one(PARSER, line)
    assert event.kind == kind
    assert facts.items() <= event.fields.items()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("2025-05-19 22:31:00 has-session sft_lora: can't find session: sft_lora", "cant-find"),
        ("2025-05-19T22:31:00Z tmux ls: no server running on /tmp/tmux-0/default", "no-server"),
    ],
)
def test_a_watchdog_quotes_what_tmux_answered(line: str, kind: str) -> None:
    """Behind the time at which it asked, and what."""
    assert one(PARSER, line).kind == kind
    assert parse(PARSER, line.partition(" ")[2].replace("22:31:00 ", "")) == [], "somebody's words, at no time"


@pytest.mark.parametrize(
    ("state", "code", "signal"),
    [
        ("status 137", 137, None),
        ("status 0", 0, None),
        ("signal 9", None, 9),
        ("signal KILL", None, 9),
        ("signal 15", None, 15),
    ],
)
def test_a_dead_pane_tells_how_and_when(state: str, code: int | None, signal: int | None) -> None:
    """A number up to 3.1 and from 3.3, a name in 3.2; the time is local."""
    event = one(PARSER, f"Pane is dead ({state}, Sun Nov 29 13:00:38 2026)")
    assert (event.kind, event.time) == ("pane-dead", 1795957238.0)
    assert (event.fields.get("exit_code"), event.fields.get("signal")) == (code, signal)


def test_a_pane_list_is_read_in_a_capture_only() -> None:
    """`session dead status signal`; the same words elsewhere are somebody's numbers."""
    text = "dflash 1  9\ntrain 0  \neval 1 3 "
    rows = parse(PARSER, text, "tmux-capture")
    assert [
        (e.fields["session"], e.fields["dead"], e.fields.get("exit_code"), e.fields.get("signal")) for e in rows
    ] == [
        ("dflash", True, None, 9),
        ("train", False, None, None),
        ("eval", True, 3, None),
    ]
    assert parse(PARSER, text) == []
    assert parse(PARSER, f"some output\n{text}", "tmux-capture") == []


@pytest.mark.parametrize(
    "line",
    [
        "the tmux server says no server running on /tmp/tmux-0/default when it is gone",
        "RuntimeError: no sessions",
        "2026-11-29 12:00:00 | ERROR | can't find session: train",
        "can't find model weights",
        "Process [exited] normally",
        "# [exited]",
        "no sessions left to evaluate",
    ],
)
def test_look_alikes_stay_silent(line: str) -> None:
    """Its messages are lines of their own."""
    assert parse(PARSER, line) == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other."""
    voice = [
        "no server running on /tmp/x",
        "Pane is dead (signal 9, Sun Nov 29 13:00:38 2026)",
        "dflash 1  9",
        "a 0 1 ",
    ]
    check_laws(PARSER, voice)
    check_laws(PARSER, voice, "tmux-capture")
