"""What shells and small programs print, as data: kind, pattern, and the facts in its groups."""

from __future__ import annotations

import re

from forensics.text.lazy import lazy
from forensics.text.signals import SIGNALS

SIGNALS_IN_ANY_CASE = {name.lower(): number for name, number in SIGNALS.items()} | {"abort": 6, "hangup": 1}
_DIED = "|".join(map(re.escape, SIGNALS))
_CORE = r"(?P<core> {1,40}\(core dumped\))?"
KINDS = {
    "command not found": "command-not-found",
    "not found": "command-not-found",
    "No such file or directory": "no-such-file",
    "Directory nonexistent": "no-such-file",
    "Not a directory": "no-such-file",
    "Permission denied": "denied",
    "Operation not permitted": "denied",
    "No space left on device": "disk-full",
    "Disk quota exceeded": "quota",
    "Read-only file system": "read-only",
    "Input/output error": "io-error",
    "Stale file handle": "io-error",
    "Stale NFS file handle": "io-error",
    "cannot execute: required file not found": "cannot-execute",
    "cannot execute binary file": "cannot-execute",
    "cannot execute": "cannot-execute",
    "Exec format error": "cannot-execute",
    "Text file busy": "cannot-execute",
    "Too many open files": "too-many-files",
    "Too many open files in system": "too-many-files",
    "Transport endpoint is not connected": "io-error",
    "Is a directory": "cannot-execute",
    "Argument list too long": "cannot-execute",
    "unbound variable": "script-error",
    "ambiguous redirect": "script-error",
}
TEE = {"no-such-file": "tee-missing", "disk-full": "tee-full", "denied": "tee-denied"}
_ERROR = "(?P<error>" + "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True)) + ")"
_SCRIPT = r"(?P<script>[\w./@+~%-]{1,300}): (?:-c: )?line (?P<script_line>\d{1,7}): "
_SHELL = r"(?:-?(?:ba|z|da|k|a)?sh|/[\w./-]{1,100}/(?:ba|z|da|k|a)?sh|sudo|exec)"
_PYTHON = r"\S{0,300}python[\d.]*"
_PROGRAMS = (
    "tee|cat|tail|head|ls|cp|mv|rm|mkdir|touch|chmod|ln|dd|tar|gzip|zstd|unzip|rsync|wc|sort|grep|sed|awk|less|find"
    "|stat|du|df|mount|cd|source|realpath|readlink|install|mktemp|printf|echo|sha256sum|md5sum|split|xargs|scp"
)


def _form(kind: str, *parts: str) -> tuple[str, re.Pattern[str]]:
    return kind, lazy("".join(parts))


FORMS = (
    _form(
        "script-error",
        _SCRIPT,
        r"(?P<reason>syntax error.{0,200}|unexpected EOF while looking for matching.{0,40})",
    ),
    _form("fork-failed", r"(?:\S{1,300}: )?(?:line \d{1,7}: )?fork: (?:retry: )?(?P<reason>[A-Z][\w ]{5,60})"),
    _form("fork-failed", r"\S{1,300}: \d{1,7}: Cannot fork"),
    _form(
        "cannot-execute",
        r"(?:.{1,300}?: )?(?P<command>[^:\s]{1,300}): (?P<interpreter>\S{1,200}): bad interpreter: .{1,80}",
    ),
    _form("", _SCRIPT, r"(?:(?:cd|source|\.|pushd|exec): )?(?P<what>.{1,1000}?): ", _ERROR, r"(?:: .{0,80})?"),
    _form(
        "script-error",
        r"(?P<script>[\w./@+~%-]{1,300}): (?P<script_line>\d{1,7}): (?P<reason>Syntax error: .{1,200})",
    ),
    _form(
        "",
        r"(?P<script>[\w./@+~%-]{1,300}): (?P<script_line>\d{1,7}): (?:(?P=script): )?(?:cannot (?:create|open) )?",
        r"(?P<what>.{1,1000}?): ",
        _ERROR,
    ),
    _form(
        "",
        r"zsh(?::\d{1,7})?: (?P<error>command not found|no such file or directory|permission denied): ",
        r"(?P<what>.{1,300})",
    ),
    _form("", rf"(?P<script>{_SHELL}): (?P<what>.{{1,1000}}?): ", _ERROR, r"(?:: .{0,80})?"),
    _form(
        "",
        r"(?P<script>[\w./@+~%-]{1,300}): (?P<what>redirection error: .{1,80}?|start_pipeline: .{1,40}?|pipe error): ",
        _ERROR,
    ),
    _form("command-not-found", r"Command '(?P<what>[^']{1,200})' not found, (?:did you mean|but ).{0,200}"),
    _form("cannot-execute", r"exec (?P<what>/\S{1,300}): (?P<error>exec format error|no such file or directory)"),
    _form("cannot-execute", r"standard_init_linux\.go:\d+: exec user process caused.{0,20}: (?P<reason>.{1,80})"),
    _form("cannot-run", r"mpi(?:run|exec) was unable to (?:find|launch) the specified (?P<reason>.{1,80})"),
    _form(
        "cannot-run",
        r"\[proxy:[\d:]{1,20}@\S{1,100}\] .{1,100}: execvp error on file (?P<command>.{1,500}?) ",
        r"\((?P<reason>[A-Z][\w ]{5,60})\)",
    ),
    _form(
        "",
        r"(?P<program>rsync): (?:\[\w{4,12}\] )?.{0,60}? failed on \"(?P<what>[^\"]{1,1000})\": ",
        _ERROR,
        r"(?: \(\d{1,3}\))?",
    ),
    _form("disk-full", r"Cannot write to [‘'](?P<what>.{1,500}?)[’'] \(No space left on device\)\."),
    _form(
        "", r"(?:fatal|error): (?:write error|(?:unable to|cannot|could not) [\w ]{4,40}(?P<what>.{0,300}?)): ", _ERROR
    ),
    _form(
        "cannot-execute",
        r"(?P<what>[^:\s]{1,500}): (?P<error>cannot execute(?: binary file|: required file not found)?)",
    ),
    _form("disk-full", r"(?P<program>[\w.+-]{1,40}): write error: No space left on device"),
    _form("tee-failed", r"tee: (?P<what>.{1,300}?): (?P<reason>Broken pipe)"),
    # Source: rsync's errcode.h and log.c, OpenSSH's scp.c, kubectl's cp.go, curl's strerror.c, GNU wget, aws-cli.
    _form(
        "copy-failed",
        r"rsync error: (?P<reason>.{4,120}? \(code (?:10|11|12|20|23|30|35|255)\)) at \S{1,60}.{0,40}",
    ),
    _form(
        "copy-failed", r"rsync: (?:\[\w{4,12}\] )?(?P<reason>connection unexpectedly closed \(\d{1,20} bytes .{1,60})"
    ),
    _form("copy-failed", r"(?:scp: )?(?P<reason>lost connection|Connection closed)"),
    _form("copy-failed", r"scp: (?P<what>.{1,500}?): (?P<reason>truncated|lost connection|Broken pipe)"),
    _form("copy-failed", r"(?P<reason>Dropping out copy after \d{1,6} retries)"),
    _form("copy-failed", r"curl: \((?:18|28|56|92)\) (?P<reason>.{4,200})"),
    _form("copy-failed", r"download failed: (?P<what>\S{1,500}) to \S{1,500} (?P<reason>.{4,300})"),
    _form("tail-truncated", r"tail: (?P<what>.{1,1000}?): file truncated"),
    _form("tail-truncated", r"tail: (?P<what>.{1,1000}?) has (?:been replaced|become inaccessible).{0,120}"),
    _form(
        "",
        rf"(?P<program>{_PROGRAMS}): (?:cannot [\w ]{{2,40}} |failed to [\w ]{{2,40}} |error (?:writing|reading) )?",
        r"(?P<what>.{1,1000}?)(?: for \w{4,12})?: ",
        _ERROR,
    ),
    _form("nohup", r"nohup: (?P<reason>ignoring input.{0,200}|redirecting stderr.{0,80}|appending output.{0,200})"),
    _form(
        "cannot-run",
        r"(?P<program>nohup|timeout|setsid|stdbuf|nice|ionice|taskset|numactl|exec|chrt|time|(?:/usr/bin/)?env): ",
        r"(?:failed to (?:run command|execute) |cannot run )?(?P<command>.{1,500}?): ",
        _ERROR,
    ),
    _form(
        "script-missing",
        rf"{_PYTHON}: can't open file '?(?P<missing_path>[^']{{1,1000}}?)'?: ",
        r"\[Errno (?P<errno>\d{1,3})\] (?P<reason>.{1,80})",
    ),
    _form("module-missing", rf"{_PYTHON}: No module named '?(?P<module>[\w.]{{1,200}})'?.{{0,20}}"),
    _form(
        "module-missing",
        rf"{_PYTHON}: Error while finding module specification for '(?P<module>[\w.]{{1,200}})' .{{0,300}}",
    ),
    _form(
        "library-missing",
        r"\S{1,300}: error while loading shared libraries: (?P<library>[\w.+-]{1,200}): (?P<reason>.{1,200})",
    ),
    _form(
        "docker",
        r"(?:docker: )?(?:Error response from daemon: (?P<reason>.{1,400}?)",
        r"|Cannot connect to the Docker daemon.{1,300}?)\.?",
    ),
    _form(
        "docker",
        r"(?:docker: )?(?P<reason>(?:Got p|p)ermission denied while trying to connect to the [Dd]ocker.{1,400})",
    ),
    _form("docker", r"failed to register layer: (?P<reason>.{1,400})"),
    _form("docker", r"docker: (?P<reason>'.{1,40}' is not a docker command).{0,80}"),
    _form("docker", r"Error: (?P<reason>No such container: .{1,100})"),
    _form("container", r"(?:Error: )?(?P<reason>(?:OCI runtime exec failed|crun|runc): .{1,400})"),
    _form(
        "container",
        r"FATAL: {1,4}(?P<reason>(?:could not open image|container creation failed|[Uu]nable to (?:handle|build|open))"
        r" ?.{1,400}|\".{1,200}\": executable file not found in \$PATH)",
    ),
    _form("container", r"CT (?P<container>\d{1,9}) not running"),
    _form(
        "docker",
        r"docker: (?P<reason>(?:permission denied|invalid reference|unknown flag|no matching manifest).{1,300})",
    ),
    _form("kubectl", r"(?:error: )?(?P<reason>unable to upgrade connection: .{1,300}|error dialing backend: .{1,300})"),
    _form("kubectl", r"(?P<reason>Error from server(?: \(\w{1,40}\))?: .{1,300})"),
    _form("container", r"(?:Error: )?container '?(?P<container>\w{1,40})'? not running!?"),
    _form("container", r"Configuration file '(?P<missing_path>[^']{1,300})' does not exist"),
    _form("container", r"CT is locked \((?P<reason>[\w-]{1,40})\)"),
    _form("container", r"(?P<reason>lxc-attach: .{1,300})"),
    _form("container", r"missing command at (?P<reason>\S{1,200}pct\.pm line \d{1,7})\."),
)
"""Messages that are a whole line. An empty kind stands for the one that the error's words have in `KINDS`."""

JOB = lazy(
    rf"(?<![\w./@+~%-]){_SCRIPT}\s{{0,12}}(?P<pid>\d{{1,10}}) "
    rf"(?P<status>{_DIED}|Done|Exit \d{{1,3}}|Running|Broken pipe)(?=\s|$){_CORE}\s{{0,80}}(?P<command>.{{0,1000}})"
)
MEMBER = lazy(rf"\s{{2,40}}(?P<pid>\d{{1,10}}) (?P<status>{_DIED})(?=\s|$){_CORE}\s{{0,80}}(?P<command>.{{0,1000}})")
INTERACTIVE = lazy(
    rf"\[\d{{1,4}}\][+ -]? {{1,6}}(?:(?P<pid>\d{{1,10}}) )?(?P<status>{_DIED}|Exit (?P<exit_code>\d{{1,3}}))(?=\s|$)"
    rf"{_CORE}\s{{0,80}}(?P<command>.{{0,1000}})"
)
ZSH = lazy(
    r"zsh: (?P<status>killed|terminated|segmentation fault|abort|bus error|illegal instruction|hangup|"
    rf"floating point exception)(?=\s|$){_CORE}\s{{0,40}}(?P<command>.{{0,1000}})"
)
BARE = lazy(
    rf"(?P<status>Killed|Terminated|Hangup|(?:{_DIED}) \(core dumped\)|Segmentation fault|Bus error|Aborted"
    r"|Illegal instruction|Floating point exception|File size limit exceeded|CPU time limit exceeded"
    r"|User defined signal [12])"
)

LOOKED = lazy(
    r"\b(?:kubectl|oc|docker|podman|nerdctl)(?: -{1,2}[\w-]{1,40}(?:[ =][\w./:@-]{1,200})?){0,6}"
    r" (?:container )?(?:get|describe|logs?|cp|top|events?|inspect|ps|stats|images|wait|diff|delete|rm)\b"
)
"""A command that looks at what runs, or ends it: that it finds nothing is no launch that failed."""
SCRIPT_SAYS = lazy(r"[\w./-]{1,200}: line \d{1,7}: ")
