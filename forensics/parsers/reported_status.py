"""What launchers and wrappers print of how a program ended, in the log itself.

    run_rm.sh: exit status 1
    vllm-1 exited with code 1
       Main PID: 4242 (code=exited, status=0/SUCCESS)
    [launch.py:325:sigkill_handler] ['/usr/bin/python', ...] exits with return code = 1
    TRAIN_EXIT=0                                      (echo "TRAIN_EXIT=$?" >> train.log)
    Global rank 5 (PID 69) exited with code -6
    exited 137 OOMKilled=true                         (docker inspect -f '{{.State.Status}} {{.State.ExitCode}} ...')
    exit_status  137                                  (qacct of Grid Engine; PBS: Exit_status = 271)
    ERROR: Job 3 failed with return code list: [0, 137]    (SkyPilot)
    # Ended (code 255) at Thu Mar 25 22:47:04 CST 2021, elapsed time 411 seconds    (Kaldi)
    user@host:~$ echo $?                              (in a log, below what the program printed)
    0

Events: `reported` where a line says nothing else (of the whole program), `reported-part` where
it is about one process or part of a longer line; field exit_code. Sources: deepspeed
launcher/launch.py, composer cli/launcher.py, Open MPI, docker compose, systemctl, and people's scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_WHOLE = lazy(
    r"(?:\[[\w :./-]{1,60}\] )?\W{0,6}(?:(?:[Ss]tage )?[\w./-]{1,80}: )?(?:[A-Za-z]{1,20},? ){0,6}?(?:with )?"
    r"(?:(?:[Ee]xit|[Rr]eturn)[ _-]?(?:code|status)(?: is| was)?"
    r"|(?:(?:TRAIN(?:ING)?|JOB|RUN|FINAL|PY(?:THON)?)_)?(?:EXIT(?:_?(?:CODE|STATUS))?|RC|RET|STATUS)"
    r"|exit|rc|ret|returncode)"
    r"\s{0,4}[ =:]\s{0,4}(?P<code>-?\d{1,3})\W{0,4}(?:at .{0,40})?",
)
_PART = lazy(
    r"exits with return code = (?P<code>-?\d{1,3})|exited with code (?P<code2>-?\d{1,3})\b"
    r"|^\s*Exit code: {1,8}(?P<code3>\d{1,3})\s*$|^# Ended \(code (?P<code4>\d{1,3})\) at "
)
_LIST = lazy(r"(?:ERROR: )?Job \d{1,10} failed with return code list: \[(?P<codes>[\d, -]{1,400})\]\W{0,8}")
"""What SkyPilot says: the status of each node's task."""
_UNIT = lazy(r"\s*Main PID: \d{1,10}(?: \([^)]{1,60}\))? \(code=exited, status=(?P<code>\d{1,3})(?:/\w{1,20})?\)\s*")
_STATE = lazy(r"\s*(?:exited|dead) (?P<code>\d{1,3})(?: (?:OOMKilled=)?(?:true|false))?\s*")
_ABOUT_OTHERS = lazy(r"\b(?:if|when|expected?|should|non-?zero|pip|git|wget|curl|conda|make|npm|retry\w*|warning)\b")
_LONGEST = 400
_ASKED = lazy(r".{0,200}[$#%>] ?echo \$\?\s*")
_ANSWER = lazy(r"\s*(?P<code>\d{1,3})\s*")
_LOGS = frozenset({"training-log", "slurm-log"})
"""Kinds in which a prompt follows what a program printed; in a session it may follow any command."""


class ReportedStatus:
    """See the module's text."""

    speaker = "status"
    triggers = (
        "eturn code list: [", "# Ended (code ",
        "xit status", "xit code", "xit_code", "xit_status", "xit-code", "eturn code", "XIT_CODE",
        "XITCODE", "XIT_STATUS", "EXIT=", "RC=", "RET=", "STATUS=",
        "exited with code", "exit=", "rc=", "ret=", "exit:", "exit ", "returncode", "(code=exited, status=", "exited ",
    )  # fmt: skip
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line that tells a status."""
        for record in records:
            text = record.text.rstrip()
            if told := _LIST.fullmatch(text):
                codes = [int(code) for code in told["codes"].replace(",", " ").split()]
                yield quote("status", "reported", [record], context, {"exit_code": next(filter(None, codes), 0)})
                continue
            part = _PART.search(text)
            short = part is None and len(text) <= _LONGEST
            forms = (_UNIT, _WHOLE, _STATE) if short else ()
            whole = next((found for form in forms if (found := form.fullmatch(text))), None)
            found = part or whole
            if found is None or _ABOUT_OTHERS.search(text[: found.end()]):
                continue
            code = next(int(value) for value in found.groupdict().values() if value is not None)
            kind = "reported" if whole else "reported-part"
            yield quote("status", kind, [record], context, {"exit_code": code})


class AskedStatus:
    """What somebody asked the shell for, below a program's output."""

    speaker = "status"
    triggers = ("echo $?",)
    follow = 1
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event an answer."""
        asked = False
        for record in records:
            if asked and (answer := _ANSWER.fullmatch(record.text)):
                yield quote("status", "reported", [record], context, {"exit_code": int(answer["code"])})
            asked = context.source.kind in _LOGS and _ASKED.fullmatch(record.text) is not None


PARSER = ReportedStatus()
ASKED = AskedStatus()
