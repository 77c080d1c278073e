"""A status that somebody wrote down: `echo $? > exit_code`, or a supervisor's `{"exit_code": 137}`.

Or a copy of a terminal's lines, `$ echo $?` and the answer below it.

Event `exit` (fields exit_code; signal where the status tells one): the shell reports a
program that a signal ended as 128 + signal, Python's subprocess and torchrun as
minus the signal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from forensics.model import Context, Event, Value
from forensics.text.lazy import lazy

_QUESTION = lazy(r".{0,120}[$#%>] ?echo \$\?\s*")
_NUMBER = lazy(r"(?:[A-Za-z_ ]{0,40}[:= ]\s{0,4})?(?P<code>-?\d{1,3})")
_CODES = ("exit_code", "exitcode", "exitCode", "returncode", "return_code", "status", "code", "rc")
_DOCKER = lazy(r'"ExitCode":\s{0,4}(?P<code>-?\d{1,3})\b')
_LAST_SIGNAL = 64
_MOST = 1 << 16
_BLANK = " \t\r\n\0\ufeff"


class ExitStatus:
    """See the module's text."""

    speaker = "status"
    kinds = frozenset({"exit-code"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield one event `exit`, or none where there is no status."""
        text = data[:_MOST].decode("utf-8", "replace")
        lines = text.split("\n")
        told = ((n, line) for n, line in enumerate(lines, 1) if line.strip(_BLANK) and not _QUESTION.fullmatch(line))
        number, line = next(told, (1, ""))
        status = _of_json(text.strip(_BLANK)) or _of_docker(text)
        if status is None and (match := _NUMBER.fullmatch(line.strip(_BLANK))) and abs(int(match["code"])) < 256:
            status = int(match["code"]), None
        if status is None:
            return
        code, signal = status
        fields: dict[str, Value] = {"exit_code": code}
        signal = signal if signal is not None else _signal(code)
        if signal:
            fields["signal"] = signal
        yield Event(
            speaker="status",
            kind="exit",
            path=context.source.path,
            line=number,
            end_line=number,
            text=line,
            message=f"exit status {code}",
            rank=context.source.rank,
            host=context.source.host,
            fields=fields,
        )


def _of_docker(text: str) -> tuple[int, int | None] | None:
    """Read the state that `docker inspect` shows of a container that has ended."""
    code = _DOCKER.search(text) if '"Running": false' in text or '"Status": "exited"' in text else None
    return (int(code["code"]), None) if code else None


def _of_json(text: str) -> tuple[int, int | None] | None:
    """Read `{"exit_code": ..., "signal": ...}`; either may be missing or null."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    code = next((found[name] for name in _CODES if _is_number(found.get(name))), None)
    signal = found.get("signal") if _is_number(found.get("signal")) else None
    if code is None and signal is None:
        return None
    return (int(code) if code is not None else -int(signal or 0)), (int(signal) if signal else None)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31


def _signal(code: int) -> int | None:
    if code < 0:
        return -code if -code <= _LAST_SIGNAL else None
    return code - 128 if 128 < code <= 128 + _LAST_SIGNAL else None


PARSER = ExitStatus()
