"""The voice of shells and of the small programs around a run: what could not start, open, or go on.

    launch.sh: line 12: 4242 Killed                  python train.py
    tee: /workspace/logs/run7/train.log: No such file or directory
    sh: 1: torchrun: not found

Events: `signalled` (a job that a signal ended; also a bare `Killed`), `interrupt` (`^C`),
`job-exit`, `command-not-found`, `no-such-file`, `denied`, `cannot-execute`, `cannot-run`,
`disk-full`, `quota`, `read-only`, `io-error`, `script-error`, `fork-failed`, `tee-missing`,
`tee-full`, `tee-denied`, `tee-failed`, `tail-truncated`, `copy-failed`, `nohup`, `script-missing`,
`module-missing`, `library-missing`, `docker`, `kubectl`, `container`. Fields missing_path,
command, script, script_line, pid, signal, exit_code. Wordings: bash 4 to 5.3 (jobs.c,
redir.c), dash, zsh, coreutils, glibc's loader, docker, kubectl, pct and lxc-attach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.parsers.shell.forms import (
    BARE,
    FORMS,
    INTERACTIVE,
    JOB,
    KINDS,
    LOOKED,
    MEMBER,
    SCRIPT_SAYS,
    SIGNALS_IN_ANY_CASE,
    TEE,
    ZSH,
)
from forensics.sources.sniff import PROMPT
from forensics.text.locales import WORDS, in_english
from forensics.text.quote import quote
from forensics.text.signals import SIGNALS

_NUMBERS = frozenset({"pid", "script_line", "errno", "exit_code"})
_LONGEST = 4000
_CALM = frozenset({"debug", "info", "warning"})
_CONTAINERS = frozenset({"kubectl", "docker", "container"})
_ANSWERS = 3
"""Lines behind a command in which it answers."""


class Shell:
    """See the module's text."""

    speaker = "shell"
    triggers: tuple[str, ...] = (
        ": line ",
        "ommand not found",
        "' not found, ",
        ": not found",
        ": No such file or directory",
        "no such file or directory: ",
        "ermission denied",
        "peration not permitted",
        "Directory nonexistent",
        ": cannot execute",
        "bad interpreter",
        "No space left on device",
        "Read-only file system",
        "Too many open files",
        "Transport endpoint is not connected",
        "Input/output error",
        "file handle",
        "Disk quota exceeded",
        "Syntax error: ",
        "Killed",
        "Terminated",
        "Aborted",
        "Segmentation fault",
        "Bus error",
        "Hangup",
        "Illegal instruction",
        "Floating point exception",
        "limit exceeded",
        "User defined signal",
        "zsh: ",
        "^C\n",  # and nothing behind it; two bytes alone would slow the search for all others
        "^C\r",
        "]+  Exit ",
        "]-  Exit ",
        "fork: ",
        "Cannot fork",
        "failed to run command",
        "env: ",
        "nohup: ",
        "can't open file",
        ": No module named ",
        "Error while finding module",
        "error while loading shared",
        "docker: ",
        "ocker daemon",
        "failed to register layer: ",
        "No such container: ",
        "is not a docker command",
        "OCI runtime exec failed",
        "crun: ",
        "runc: ",
        "FATAL:   ",
        "executable file not found in $PATH",
        ": exec format error",
        "standard_init_linux.go",
        "execvp error on file",
        "mpirun was unable to ",
        "mpiexec was unable to ",
        "response from daemon",
        "tee: ",
        "tail: ",
        "rsync error: ",
        "rsync: ",
        "scp: ",
        "lost connection",
        "Dropping out copy",
        "curl: (",
        "download failed: ",
        " not running",
        "lxc-attach: ",
        "pct.pm line",
        "CT is locked",
        "unable to upgrade connection",
        "error dialing backend",
        "Error from server",
        "kubectl ",
        "docker ",
        "podman ",
        "Configuration file '",
        *WORDS,
    )
    follow = 2
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield the events in the order of their lines."""
        pipeline = 0  # the line after one that reports a pipeline's first member
        looked = -_ANSWERS  # the line of a command that only looks at containers
        for record in records:
            text = in_english(_behind_prompt(record.text.rstrip()))
            if record.level in _CALM or len(text) > _LONGEST:
                continue
            member = record.line.number == pipeline and not record.line.gap and MEMBER.match(text)
            scripted = JOB.search(text) if ": line " in text else None
            if job := (member or scripted or INTERACTIVE.fullmatch(text) or ZSH.fullmatch(text)):
                pipeline = record.line.number + 1
                yield from _job(job, record, context)
            elif LOOKED.search(text):
                looked = record.line.number
            elif (event := _bare(text, record, context) or _message(text, record, context)) and (
                event.kind not in _CONTAINERS or record.line.number - looked >= _ANSWERS
            ):
                yield event


def _behind_prompt(text: str) -> str:
    """Return what a job in the background printed behind the prompt that already waited for the next command."""
    if ": line " in text and (shown := PROMPT.match(text)) and SCRIPT_SAYS.match(text, shown.end()):
        return text[shown.end() :]
    return text


def _job(match: re.Match[str], record: Record, context: Context) -> Iterator[Event]:
    """Yield how a job ended, if it ended badly."""
    groups = match.groupdict()
    status = groups["status"]
    fields = _fields({k: v for k, v in groups.items() if k not in {"status", "core"}})
    fields["command"] = (groups.get("command") or "").strip() or None
    if status.startswith("Exit "):
        fields["exit_code"] = int(status.split()[1])
        yield quote("shell", "job-exit", [record], context, fields)
    elif signal := SIGNALS_IN_ANY_CASE.get(status.lower()):
        core = True if groups.get("core") else None
        yield quote("shell", "signalled", [record], context, {**fields, "signal": signal, "core_dumped": core})


def _bare(text: str, record: Record, context: Context) -> Event | None:
    """Return the event of a line that is nothing but the fate of a process."""
    words = text.strip()
    if words == "^C":
        return quote("shell", "interrupt", [record], context, {"signal": 2})
    if record.level is None and (match := BARE.fullmatch(words)):
        name, _, core = match["status"].partition(" (")
        fields: dict[str, Value] = {"signal": SIGNALS[name], "core_dumped": True if core else None}
        return quote("shell", "signalled", [record], context, fields)
    return None


def _message(text: str, record: Record, context: Context) -> Event | None:
    words = text.strip()
    for form, pattern in FORMS:
        match = pattern.fullmatch(words)
        if match is None:
            continue
        groups = match.groupdict()
        error = groups.pop("error", None)
        what = _unquoted(groups.pop("what", None) or "")
        kind = form or _kind(error or "")
        fields = _fields(groups)
        if "command" in fields:
            fields["command"] = _unquoted(str(fields["command"]))
        if error:
            fields["reason"] = error
        if what:
            fields[_role(kind)] = what
        if fields.get("program") == "tee":
            kind = TEE.get(kind, "tee-failed")
            fields["missing_path"] = fields.pop("path", None) or what
        if "\r" in record.raw.rstrip("\r") or "^M" in words or "\\r" in words:
            fields["crlf"] = True  # a script with Windows line ends names an interpreter that does not exist
        return quote("shell", kind, [record], context, fields)
    return None


def _role(kind: str) -> str:
    """Return the name of the fact that the thing complained of is."""
    if kind in {"command-not-found", "script-error"}:
        return "command"
    return "missing_path" if kind in {"no-such-file", "tail-truncated"} else "path"


def _kind(error: str) -> str:
    return next((kind for words, kind in KINDS.items() if words.lower() == error.lower()), "script-error")


def _fields(groups: dict[str, str | None]) -> dict[str, Value]:
    return {name: int(value) if name in _NUMBERS else value for name, value in groups.items() if value is not None}


def _unquoted(name: str) -> str:
    """Take off the quotation marks that coreutils puts around a name, in any locale's form."""
    return name.strip("'\"‘’`") if name[:1] in "'\"‘`" else name


PARSER = Shell()
