"""tmux's voice: what its client refuses, how its sessions and panes end.

    $ tmux attach -t train
    no server running on /tmp/tmux-0/default
    Pane is dead (signal 9, Sun Nov 29 13:00:38 2026)

Events: `no-server`, `connect-error`, `no-sessions`, `duplicate-session`, `cant-find`,
`spawn-failed`, `exited`, `server-exited`, `lost-server`, `lost-tty`, `pane-dead`, `not-a-terminal`, `nested`,
`protocol-mismatch`, `denied`; in a capture also `pane-list`, a row of
`list-panes -F '#{session_name} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}'`.
Fields socket, session, exit_code, signal. Wordings: tmux 2.1 to 3.7 (client.c,
cmd-find.c, cmd-new-session.c, server-fn.c, options-table.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from signal import Signals

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote
from forensics.text.timestamps import leading_time


def _form(kind: str, *parts: str) -> tuple[str, re.Pattern[str]]:
    return kind, lazy("".join(parts))


_TYPED = r"(?:.{0,200}[$#%>] .{0,100}(?=\[))?"
# A message of the client is a line of its own: a line that merely quotes one is not its voice.
_FORMS = (
    _form("no-server", r"no server running on (?P<socket>/\S{1,300})"),
    _form(
        "connect-error",
        r"error connecting to (?P<socket>/\S{1,300}) \((?P<reason>[A-Z][\w ]{3,60})\)",
    ),
    _form("connect-error", r"failed to connect to server(?:: (?P<reason>[\w ]{1,60}))?"),
    _form("connect-error", r"error creating (?P<socket>/\S{1,300}) \((?P<reason>[A-Z][\w ]{3,60})\)"),
    _form("connect-error", r"couldn't create directory (?P<socket>/\S{1,300}) \((?P<reason>[A-Z][\w ]{3,60})\)"),
    _form(
        "connect-error", r"(?:directory )?(?P<socket>/\S{1,300}) (?P<reason>has unsafe permissions|is not a directory)"
    ),
    _form("no-sessions", r"no (?:sessions|current (?:session|client|target))"),
    _form("duplicate-session", r"duplicate session: (?P<session>.{1,200})"),
    _form("cant-find", r"can't find (?:session|window|pane|client)(?::? (?P<session>\S{1,200}))?"),
    _form("cant-find", r"can't establish current session"),
    _form("cant-find", r"session not found: (?P<session>.{1,200})"),
    _form("spawn-failed", r"create (?:session|window) failed(?:: (?P<reason>.{1,200}))?"),
    _form("exited", r"\[(?:exited|terminated|detached \(from session (?P<session>[^)]{1,200})\))\]"),
    # Without brackets on standard error, where the client was not attached; with them also behind what was being typed.
    _form("server-exited", _TYPED, r"\[server exited(?: unexpectedly)?\]|server exited(?: unexpectedly)?"),
    _form("lost-server", _TYPED, r"\[lost server\]|lost server"),
    _form("lost-tty", _TYPED, r"\[lost tty\]|lost tty"),
    _form(
        "pane-dead",
        r"Pane is dead(?: \((?:status (?P<exit_code>\d{1,3})|signal (?P<signal>\w{1,12}))",
        r"(?:, (?P<time>[^)]{1,40}))?\)?)?",
    ),
    _form("not-a-terminal", r"open terminal failed: (?P<reason>.{1,120})"),
    _form("nested", r"sessions should be nested with care, unset \$TMUX to force"),
    _form("protocol-mismatch", r"protocol version mismatch \(client (?P<client>\d{1,4}), server (?P<server>\d{1,4})\)"),
    _form("protocol-mismatch", r"server version is too old for client"),
    _form("denied", r"access not allowed"),
)
_ROW = lazy(r"(?P<session>[\w@%+-]{1,100}) (?P<dead>[01]) (?P<status>\d{0,3}) (?P<signal>\d{0,2}|[A-Z]{2,8})\s*")
_BARE_ROW = lazy(r"(?P<session>[\w@%+-]{1,100}) (?P<dead>[01])(?: (?P<status>\d{1,3}))?(?P<signal>)\s*")
_TOLD = lazy(r"(?:tmux )?(?:has-session|ls|list-sessions|attach|capture-pane|send-keys)(?: [\w@%.:=-]{1,100}){0,4}: ")
"""What somebody's watchdog, which puts a time before each line, says that it asked tmux."""
_CAPTURE = "tmux-capture"
_LONGEST = 600


class Tmux:
    """See the module's text."""

    speaker = "tmux"
    triggers: tuple[str, ...] = (
        "no server running on",
        "error connecting to /",
        "failed to connect to server",
        "error creating /",
        "couldn't create directory /",
        " has unsafe permissions",
        "no sessions",
        "no current ",
        "can't establish current",
        "duplicate session: ",
        "can't find ",
        "session not found: ",
        "create session failed",
        "create window failed",
        "[exited]",
        "[terminated]",
        "[detached (from",
        "server exited",
        "lost server",
        "lost tty",
        "Pane is dead",
        "open terminal failed",
        "sessions should be nested",
        "protocol version mismatch",
        "server version is too old",
        "access not allowed",
    )
    follow = 0
    hears: Hears = "all"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        # No words tell a row of a pane list, so it counts only in a list that begins its file.
        row = 1 if context.source.kind == _CAPTURE else 0
        for record in records:
            text = record.text.strip()
            listed = row and record.line.number == row
            if listed and (match := _ROW.fullmatch(record.text) or (_BARE_ROW.fullmatch(text) if row > 1 else None)):
                row += 1
                yield _row(match, record, context)
                continue
            if record.level is not None or len(text) > _LONGEST:
                continue
            if record.time is not None and (told := _TOLD.match(text)):
                text = text[told.end() :]
            for kind, pattern in _FORMS:
                if match := pattern.fullmatch(text):
                    yield _event(kind, match, record, context)
                    break


def _event(kind: str, match: re.Match[str], record: Record, context: Context) -> Event:
    groups = match.groupdict()
    fields: dict[str, Value] = {
        name: value
        for name, value in groups.items()
        if value is not None and name not in {"time", "exit_code", "signal"}
    }
    fields["exit_code"] = int(groups["exit_code"]) if groups.get("exit_code") else None
    fields["signal"] = _signal(groups.get("signal"))
    time = None
    if printed := groups.get("time"):
        time, _ = leading_time(printed, year=context.default_year, utc_offset_s=context.utc_offset_s)
    return quote("tmux", kind, [record], context, fields, time=time)


def _row(match: re.Match[str], record: Record, context: Context) -> Event:
    """Read `session dead status signal`; tmux leaves status or signal empty."""
    fields: dict[str, Value] = {
        "session": match["session"],
        "dead": match["dead"] == "1",
        "exit_code": int(match["status"]) if match["status"] else None,
        "signal": _signal(match["signal"]),
    }
    return quote("tmux", "pane-list", [record], context, fields)


def _signal(name: str | None) -> int | None:
    """Return the number of `9`, `KILL` (tmux 3.2) or `SIGKILL`."""
    if not name:
        return None
    if name.isdecimal():
        return int(name)
    try:
        return int(Signals["SIG" + name.upper().removeprefix("SIG")])
    except KeyError:
        return None


PARSER = Tmux()
