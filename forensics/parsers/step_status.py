r"""What build tools, task runners and CI say of a step that they ran, where its own program may be mute.

    make: *** [Makefile:5: train] Error 1
    make[1]: *** [train] Killed
    error: Recipe `train` failed on line 5 with exit code 1
    Command exited with non-zero status 1
    ##[error]Process completed with exit code 1.
    npm error code ELIFECYCLE

Event `step` (fields tool; exit_code, and signal where one ended the program). GNU make speaks the
user's language, so the word before its number is any; what it ignores has no stars, and `(ignored)`
behind it. Sources: GNU make src/job.c, ninja, npm, pnpm, yarn, bun, GNU time, just, go-task, DVC,
snakemake, nox, tox, poe, cargo, docker build, conda run, and the runners of GitHub, GitLab, Azure,
Jenkins, Buildkite, Travis and SageMaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote
from forensics.text.signals import SIGNALS

_ENDED_BY = (
    "Killed", "Terminated", "Interrupt", "Hangup", "Aborted", "Segmentation fault", "Bus error",
    "Floating point exception", "Illegal instruction",
)  # fmt: skip
_CODE = r"(?P<code>-?\d{1,3})"
_SENT = r"(?P<signal>\d{1,2})"
_STEPS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "make",
        lazy(
            r"(?:\S{0,200}/)?(?:g|mingw32-)?make(?:\.exe)?(?:\[\d{1,3}\])?: \*\*\* (?:"
            rf"\[[^\]\n]{{1,400}}\] (?:[^\d\s]{{1,30}}(?: [^\d\s]{{1,20}})? ?{_CODE}"
            rf"|(?P<by>{'|'.join(_ENDED_BY)})(?: \(core dumped\))?)"
            r"|.{1,400}\.  Stop\.)$"
        ),
    ),
    ("ninja", lazy(r"ninja: build stopped: (?:subcommands? failed|cannot make progress)")),
    ("npm", lazy(rf"npm (?:ERR!|error) (?:code (?:ELIFECYCLE|{_CODE})|Exit status (?P<code2>\d{{1,3}}))$")),
    ("npm", lazy(rf"(?:\s?ELIFECYCLE\s{{1,3}}|error )Command failed with exit code {_CODE}\b")),
    ("npm", lazy(rf"error: script \"[^\"]{{1,200}}\" exited with code {_CODE}\b")),
    ("time", lazy(rf"Command (?:exited with non-zero status {_CODE}|terminated by signal {_SENT})$")),
    (
        "ci",
        lazy(
            rf"(?:##\[error\]|::error::|(?:Error|ERROR): )?The process '.{{1,300}}' failed with exit code {_CODE}\b"
            rf"|(?:##\[error\]|::error::|(?:Error|ERROR): )?Process completed with exit code (?P<code2>\d{{1,3}})\b"
        ),
    ),
    ("ci", lazy(rf"ERROR: Job failed: (?:exit (?:code|status)|command terminated with exit code) {_CODE}\b")),
    ("ci", lazy(rf"##\[error\](?:Bash|PowerShell|Cmd\.exe) exited with code '{_CODE}'")),
    ("ci", lazy(rf"ERROR: script returned exit code {_CODE}\b|Build step '.{{1,100}}' marked build as failure")),
    ("ci", lazy(r"Finished: FAILURE$|.{0,80}\bReporting training FAILURE\b")),
    ("ci", lazy(rf"\W{{0,4}}(?:Error: )?The command (?:\".{{1,300}}\" )?exited with (?:status )?{_CODE}\b")),
    (
        "just",
        lazy(
            rf"error: Recipe `[^`]{{1,100}}` (?:failed(?: on line \d{{1,6}})? with exit code {_CODE}"
            rf"|was terminated (?:on line \d{{1,6}} )?by signal {_SENT})"
        ),
    ),
    ("task", lazy(rf"task: Failed to run task \"[^\"]{{1,100}}\": (?:.{{0,200}}: )?exit status {_CODE}\b")),
    ("dvc", lazy(rf"ERROR: failed to reproduce '[^']{{1,200}}': failed to run: .{{1,1000}}, exited with {_CODE}$")),
    ("snakemake", lazy(r"Exiting because a job execution failed\b")),
    ("snakemake", lazy(r"\s{0,8}\(one of the commands exited with non-zero exit code; note that snakemake")),
    ("nox", lazy(rf"nox > Command .{{1,1000}} failed with exit code {_CODE}\b")),
    ("tox", lazy(rf"ERROR: InvocationError for command .{{1,1000}} \(exited with code {_CODE}\)")),
    ("poe", lazy(r"Error: Subtasks? .{1,200} returned non-zero exit status")),
    (
        "cargo",
        lazy(
            r"error: process didn't exit successfully: `[^`]{1,400}` "
            rf"\((?:exit (?:status|code): {_CODE}|signal: {_SENT}, )"
        ),
    ),
    ("docker", lazy(rf"The command '.{{1,1000}}' returned a non-zero code: {_CODE}\b")),
    (
        "docker",
        lazy(
            r"(?:ERROR: failed to (?:solve|build): )?process \".{1,1000}\" "
            rf"did not complete successfully: exit code: {_CODE}\b"
        ),
    ),
    ("conda", lazy(r"(?:ERROR )?conda\.cli\.main_run:execute\(\d{1,5}\): `conda run .{1,1000}` failed\.")),
)
_LONGEST = 2000


class StepStatus:
    """See the module's text."""

    speaker = "status"
    triggers = (
        "make: *** ",
        "]: *** ",
        ".exe: *** ",
        "ninja: build stopped",
        "npm ERR! code ",
        "npm error code ",
        "npm ERR! Exit status",
        "npm error Exit status",
        "Command failed with exit code",
        "error: script ",
        "exited with non-zero",
        "Command terminated by signal",
        "Process completed with exit code",
        "The process '",
        "ERROR: Job failed: ",
        "exited with code '",
        "script returned exit code",
        "Finished: FAILURE",
        "marked build as failure",
        "The command ",
        "Reporting training FAILURE",
        "error: Recipe `",
        "task: Failed to run task",
        "failed to reproduce '",
        "Exiting because a job execution failed",
        "nox > Command ",
        "ERROR: InvocationError",
        "Error: Subtask",
        "error: process didn't exit successfully",
        "did not complete successfully: exit code",
        "conda.cli.main_run:execute",
    )
    follow = 0
    hears: Hears = "lines"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a line that says of a step that it failed."""
        for record in records:
            text = record.text.rstrip()
            if len(text) > _LONGEST:
                continue
            for tool, pattern in _STEPS:
                if found := pattern.match(text):
                    yield quote("status", "step", [record], context, {"tool": tool, **_ended(found)})
                    break


def _ended(found: re.Match[str]) -> dict[str, Value]:
    """Return the status that a line tells; one that tells none is of a failure all the same."""
    named = found.groupdict()
    number = next((int(value) for name, value in named.items() if name.startswith("code") and value), None)
    sent = SIGNALS.get(named.get("by") or "") or int(named.get("signal") or 0)
    if sent:
        return {"exit_code": 128 + sent, "signal": sent}
    return {"exit_code": 1 if number is None else number}


PARSER = StepStatus()
