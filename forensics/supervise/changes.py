"""A launch script mended: the same run, started so that it cannot lose its evidence.

Only what is understood is changed, by its own text in the script; whether a hazard is gone
is told by looking for it again, so nothing is called mended that is not.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from forensics.parsers.launch_script.hazards import hazards, targets
from forensics.parsers.launch_script.promises import is_file
from forensics.parsers.launch_script.scopes import Scope, option, read
from forensics.text.shell import Command

PASSES = 8
"""Changes to one script: each pass makes one, then reads the script anew."""
_REDIRECTIONS = re.compile(r"(?:\s*\d?&?>{1,2}\s*(?:&\d|[^\s\"';|&)]+))*")
_TOP = re.compile(r"(?:#[^\n]*\n|[ \t]*\n)*")
_UNBUFFERED = "PYTHONUNBUFFERED=1"


@dataclass(frozen=True, slots=True)
class Mended:
    """The mended script, the hazard kinds that are gone, and those that are left to a person."""

    text: str
    done: tuple[str, ...]
    left: tuple[str, ...]

    def diff(self, before: str, name: str) -> str:
        """Return the change as a unified diff."""
        old, new = before.splitlines(keepends=True), self.text.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, name, f"{name} (mended)"))


def mend(text: str) -> Mended:
    """Return the script with as many hazards removed as can be by machine."""
    before = left = _kinds(text)
    mended = text
    for _ in range(PASSES):
        # A change counts if it removes hazards and adds none.
        better = ((c, k) for c in _proposals(mended) if c != mended and (k := _kinds(c)) < left)
        found = next(better, None)
        if found is None:
            break
        mended, left = found
    return Mended(mended, tuple(sorted(before - left)), tuple(sorted(left)))


def _kinds(text: str) -> set[str]:
    return {kind for _, kind, _ in hazards(read(text, {}))}


def _proposals(text: str) -> Iterator[str]:
    """Yield changed scripts, the most telling change first."""
    script = read(text, {})
    for scope in script.scopes:
        for command in scope.commands:
            if id(command) not in scope.running or script.wraps(command):
                continue
            if scope.via is not None:
                yield _detached(text, scope, command)
            else:
                yield from _foreground(text, scope, command)
    for scope in script.scopes:
        for command in scope.commands:
            if command.name == "tmux" and {"new-session", "new"} & set(command.words):
                yield from _session(text, command)
            if command.name == "ssh":
                yield _once(text, command.text, command.text.replace("ssh ", "ssh -o ServerAliveInterval=30 ", 1))


def _detached(text: str, scope: Scope, command: Command) -> str:
    """Inside another shell: the log opened by the shell and begun with the time, the status written down, no pipe."""
    found = _segment(text, scope, command)
    if found is None:
        return text
    start, end = found
    members = scope.members(command)
    window = next((c.text for c in members if c.name in {"tail", "head"}), None)
    log = next((w for c in members if c.name == "tee" for w in c.words[1:] if is_file(w)), None)
    log = log or next((r.target for c in (*members, command) for r in c.redirects if is_file(r.target)), None)
    log = log or "$HOME/train.log"
    dollar = "\\$" if _in_double_quotes(text, start) else "$"
    log = log.replace("$", dollar) if not log.startswith(dollar) else log
    folder = log.rpartition("/")[0]
    made = f"mkdir -p {folder}; " if folder and folder != f"{dollar}HOME" else ""
    shown = f"; {window} {log}" if window else ""
    run = command.text if _UNBUFFERED in command.text else f"{_UNBUFFERED} {command.text}"
    new = f"{made}{{ date -u +%FT%TZ; {run}; }} >> {log} 2>&1; echo {dollar}? > {log}.exit_code{shown}"
    return text[:start] + new + text[end:]


def _foreground(text: str, scope: Scope, command: Command) -> Iterator[str]:
    """In the script itself: the pipe may stay, but it must not hide the status."""
    top = _TOP.match(text)
    at = top.end() if top else 0
    lines = text.split("\n")
    if command.pipeline and not scope.pipefail:
        yield f"{text[:at]}set -o pipefail\n{text[at:]}"
    yield f"{text[:at]}export {_UNBUFFERED}\n{text[at:]}"
    for target in _logs(scope, command):
        if folder := target.rpartition("/")[0]:
            yield f"{text[:at]}mkdir -p {folder}\n{text[at:]}"
    last = _last_line(lines, command.line)
    yield _without_window(text, scope, command)
    if command.background:
        yield "\n".join([*lines[:last], "wait $!; echo $? > exit_code", *lines[last:]])
    if command.pipeline:
        yield "\n".join([*lines[:last], "echo ${PIPESTATUS[0]} > exit_code", *lines[last:]])
    for target in _logs(scope, command):
        yield _once(text, f"tee {target}", f"tee -a {target}")
        yield _once(text, f"> {target}", f">> {target}")


def _without_window(text: str, scope: Scope, command: Command) -> str:
    """Write everything to the file, and show the wanted part of it afterwards."""
    members = scope.members(command)
    window = next((c for c in members if c.name in {"tail", "head"}), None)
    found = _segment(text, scope, command)
    if window is None or found is None:
        return text
    log = next(_logs(scope, command), "train.log")
    start, end = found
    return f"{text[:start]}{command.text} >> {log} 2>&1; echo $? > {log}.exit_code; {window.text} {log}{text[end:]}"


def _session(text: str, command: Command) -> Iterator[str]:
    """Around a detached tmux session: refuse a name in use, keep the dead pane, look after the start."""
    session = option(command.words, "-s")
    start = text.find(command.text)
    if start < 0 or text.count(command.text) != 1:
        return
    end = start + len(command.text)
    yield f"{text[:end]} \\; set-option -w remain-on-exit on{text[end:]}"
    if session is None:
        return
    line = text.rfind("\n", 0, start) + 1
    refuse = (
        f"tmux has-session -t {session} 2>/dev/null && {{ echo 'session {session} exists already' >&2; exit 1; }}\n"
    )
    yield text[:line] + refuse + text[line:]
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    look = (
        f"\nsleep 5; tmux list-panes -t {session} -F '#{{pane_dead}}' | grep -q 0"
        f" || {{ echo '{session} died at once' >&2; exit 1; }}"
    )
    yield text[:stop] + look + text[stop:]
    if option(command.words, "-c") is None:
        yield _once(text, f"-s {session}", f'-s {session} -c "$PWD"')


def _segment(text: str, scope: Scope, command: Command) -> tuple[int, int] | None:
    """Return where the command stands in the script, with its pipeline and redirections; None if not just once."""
    if text.count(command.text) != 1:
        return None
    start = text.find(command.text)
    end = start + len(command.text)
    for member in scope.members(command):
        if member is not command:
            at = text.find(member.text, end)
            if at < 0:
                return None
            end = at + len(member.text)
    more = _REDIRECTIONS.match(text, end)
    return start, more.end() if more else end


def _in_double_quotes(text: str, at: int) -> bool:
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at].replace('\\"', "")
    single, double = before.rfind("'"), before.rfind('"')
    return before.count('"') % 2 == 1 and (single < double or before.count("'") % 2 == 0)


def _logs(scope: Scope, command: Command) -> Iterator[str]:
    for member in scope.members(command) or (command,):
        yield from (target for target, _ in targets(member))


def _last_line(lines: list[str], number: int) -> int:
    """Return the number of the last line of a command that goes on behind backslashes."""
    while number < len(lines) and lines[number - 1].endswith("\\"):
        number += 1
    return number


def _once(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if text.count(old) == 1 else text
