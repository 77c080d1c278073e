"""A program started so that its evidence cannot be lost: two processes that watch over each other.

    front     what the user called: passes signals on, shows the output, keeps the pipes open too
    recorder  in a session of its own: parent of the program, writes the logs and the journal
    program   in a session of its own

If the front is killed, the recorder goes on. If the recorder is killed, the front has the same
pipes, inherits the program (it is a subreaper), learns from the files how far they had come, and
takes over. With --detach the front leaves the terminal as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from forensics.supervise import journal, surroundings
from forensics.supervise.logs import Logs
from forensics.supervise.mirror import Mirror
from forensics.supervise.recorder import PASSED_ON, Recorder, Waker
from forensics.supervise.secrets import redact_arguments, redact_environment

NOT_FOUND, NOT_EXECUTABLE, BROKEN = 127, 126, 70
STREAMS = ("stdout", "stderr")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of linux/fcntl.h
_SETTLED_S = 1.0
"""How long --detach looks whether the program ends at once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run, where, and how."""

    command: tuple[str, ...]
    folder: Path
    terminal: bool = False
    detach: bool = False
    grace_s: float = 30.0
    rotate_bytes: int = 1 << 30
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set beside those that are there."""
    relaunch: Mapping[str, Any] | None = None
    """Why this is a further attempt, for the journal."""
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that has begun: its folder, its number, and the record as it stands."""

    folder: Path
    number: int
    record: dict[str, Any]
    lock: int


def prepare(asked: Asked) -> Started:
    """Take the folder and write down what will be started.

    Raises:
        journal.TakenError: another run is at work there.
        journal.JournalError: nothing can be written there.
    """
    lock = journal.take(asked.folder)
    for earlier in journal.attempts(asked.folder):
        if journal.still_runs(earlier.record):
            os.close(lock)
            pid = earlier.record.get("pid")
            raise journal.TakenError(
                f"the program of {earlier.folder.name} (pid {pid}) still runs, though its supervisor is gone"
            )
        where = journal.elsewhere(earlier.record)
        if earlier.status in {"starting", "running"} and not where:
            list(journal.sweep(earlier.folder))
            with contextlib.suppress(OSError):
                settled(earlier.folder)
            journal.settle(earlier)
    number, folder = journal.new_attempt(asked.folder)
    record: dict[str, Any] = {
        "schema": journal.SCHEMA,
        "attempt": number,
        "status": "starting",
        "command": redact_arguments(asked.command),
        "cwd": str(asked.cwd or Path.cwd()),
        "started": journal.now(),
        "ended": None,
        "exit_code": None,
        "signal": None,
        "pid": None,
        "supervisor": os.getpid(),
        "transport": "terminal" if asked.terminal else "pipes",
        "grace_s": asked.grace_s,
        "rotate_bytes": asked.rotate_bytes,
        "host": surroundings.host(),
        "env": redact_environment({**os.environ, **asked.environment}),
        "set": redact_environment(asked.environment),
        "relaunch": asked.relaunch,
        "notes": [],
    }
    try:
        journal.write_record(folder, record)
    except OSError as error:
        raise journal.JournalError(f"cannot write in {folder}: {error.strerror}") from error
    journal.reserve(folder)
    journal.sign(lock, f"{folder.name}, pid {os.getpid()} on {socket.gethostname()}, since {record['started']}")
    return Started(folder, number, record, lock)


def settled(folder: Path) -> None:
    """Merge what a supervisor that is gone had not merged; the journal is not touched."""
    record = journal.read_record(folder)
    names = () if record.get("transport") == "terminal" else STREAMS
    logs = Logs(folder, names, most_bytes=0)
    logs.tend(last=True)
    logs.sync()
    logs.close()


def supervise(asked: Asked, started: Started, say: Callable[[str], None]) -> int | None:
    """Run the program to its end, or with `detach` until it has started.

    Returns:
        Its status as a shell gives it; None where nobody knows it, or where it runs on detached.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if asked.detach:
        return _detached(asked, started, say)
    return _Front(asked, started, say, out=True).stay()


def _detached(asked: Asked, started: Started, say: Callable[[str], None]) -> int | None:
    """Leave a front behind that no terminal reaches; wait until it says that the program runs, or has ended at once."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            os.close(ours)
            nothing = os.open(os.devnull, os.O_RDWR)
            for handle in (0, 1, 2):
                os.dup2(nothing, handle)
            _Front(asked, started, lambda _: None, out=False, told=theirs).stay()
        os._exit(0)
    os.close(theirs)
    code: int | None = None
    waiting, runs = b"", False
    while select.select([ours], [], [], _SETTLED_S if runs else None)[0]:
        piece = os.read(ours, 4096)
        if not piece:
            break
        *lines, waiting = (waiting + piece).split(b"\n")
        for message in map(json.loads, lines):
            runs = runs or "pid" in message
            if "say" in message:
                say(message["say"])
            if "end" in message:
                code = message["end"]
    os.close(ours)
    return code


class _Front:
    """The process that the user called."""

    def __init__(
        self, asked: Asked, started: Started, say: Callable[[str], None], *, out: bool, told: int | None = None
    ) -> None:
        self.asked, self.started, self._say, self._told = asked, started, say, told
        self._pid: int | None = None
        self._end: int | None = None
        self._ended = False
        self._out = out

    def stay(self) -> int | None:
        """Start the recorder and watch over it; take its place if it is killed."""
        _adopt_orphans()
        sources, ends = _streams(self.asked)
        control, say = os.pipe()
        os.set_blocking(say, False)
        recorder = os.fork()
        if recorder == 0:
            os.close(control)
            _record(self.asked, self.started, sources, ends, say)
        for handle in (say, *ends.values()):
            os.close(handle)
        waker = Waker()
        mirror = Mirror(self.started.folder, terminal=self.asked.terminal) if self._out else None
        if mirror is not None:
            mirror.start()
        self._watch(recorder, control, waker)
        if not self._ended:
            self._take_over(sources, waker)
        if mirror is not None:
            mirror.finish()
        return self._end

    def _watch(self, recorder: int, control: int, waker: Waker) -> None:
        """Pass signals on and messages up, until the recorder is gone."""
        os.set_blocking(control, False)
        waiting, gone, closed = b"", False, False
        while not gone:
            select.select([waker.read] if closed else [waker.read, control], [], [], 1.0)
            for number in waker.signals():
                if number in PASSED_ON:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(recorder, number)
            # Asked before the pipe is read for the last time, so that no message is missed.
            gone = os.waitpid(recorder, os.WNOHANG)[0] == recorder
            with contextlib.suppress(BlockingIOError):
                while piece := os.read(control, 65536):
                    *lines, waiting = (waiting + piece).split(b"\n")
                    for line in lines:
                        self._hear(json.loads(line))
                closed = True
        os.close(control)

    def _hear(self, message: Mapping[str, Any]) -> None:
        if "pid" in message:
            self._pid = message["pid"]
        if "end" in message:
            self._end, self._ended = message["end"], True
        if "say" in message:
            self._say(message["say"])
        if self._told is not None and "size" not in message:
            with contextlib.suppress(OSError):
                os.write(self._told, json.dumps(message).encode() + b"\n")

    def _take_over(self, sources: Mapping[str, int], waker: Waker) -> None:
        """Go on where the recorder was killed."""
        folder = self.started.folder
        record = journal.read_record(folder) or self.started.record
        if record.get("status") in {"exited", "not-started"}:
            self._hear({"end": record.get("exit_code")})
            return
        pid = self._pid or record.get("pid") or _orphan()
        record["pid"] = pid
        written = journal.settle(journal.Attempt(self.started.number, folder, record)) if pid is None else None
        taking = Recorder(folder, record, sources, waker, self._hear)
        taking.say("the recorder was killed; the front took over")
        if written is not None or pid is None:
            taking.not_started(NOT_FOUND, "the recorder was killed before it started the program")
            record.update(status="unknown", exit_code=None)
        self._hear({"end": taking.watch()})


def _record(
    asked: Asked, started: Started, sources: Mapping[str, int], ends: Mapping[str, int], control: int
) -> NoReturn:
    """Be the recorder, and nothing else after it."""
    status = BROKEN

    def tell(message: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError):
            os.write(control, json.dumps(message).encode() + b"\n")

    try:
        os.setsid()
        waker = Waker()
        recorder = Recorder(started.folder, started.record, sources, waker, tell)
        _spawn(asked, started, recorder, ends)
        for handle in ends.values():
            os.close(handle)
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nothing, handle)
        tell({"end": recorder.watch()})
        status = 0
    except BaseException:  # noqa: BLE001 - the front takes over, and says what happened
        tell({"say": f"the recorder failed: {traceback.format_exc()}"})
    os._exit(status)


def _spawn(asked: Asked, started: Started, recorder: Recorder, ends: Mapping[str, int]) -> None:
    """Start the program, or write down why it cannot be started, in the words of a shell."""
    out = ends.get("terminal", ends.get("stdout"))
    error = ends.get("terminal", ends.get("stderr"))
    own = {"DFLASH_RUN_DIR": str(asked.folder.absolute()), "DFLASH_ATTEMPT": str(started.number)}
    usual = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    attended = asked.detach or asked.terminal or sys.stdin is None or sys.stdin.closed or os.isatty(0)

    def controlled() -> None:
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)

    try:
        program = subprocess.Popen(  # noqa: S603 - what the user asked to run
            asked.command,
            stdin=subprocess.DEVNULL if attended else None,
            stdout=out,
            stderr=error,
            cwd=asked.cwd,
            env={**usual, **os.environ, **own, **asked.environment},
            start_new_session=True,
            preexec_fn=controlled if asked.terminal else None,  # noqa: PLW1509 - no thread runs yet
        )
    except (OSError, ValueError, subprocess.SubprocessError) as wrong:
        found = isinstance(wrong, OSError) and not isinstance(wrong, FileNotFoundError)
        code = NOT_EXECUTABLE if found else NOT_FOUND
        why = "command not found" if not found else (getattr(wrong, "strerror", None) or str(wrong))
        if asked.cwd is not None and not asked.cwd.is_dir():
            why = f"no folder {asked.cwd}"
        with contextlib.suppress(OSError):
            os.write(error or 2, f"dflash-forensics: line 1: {asked.command[0]}: {why}\n".encode())
        recorder.not_started(code, why)
        return
    program.returncode = 0  # the recorder waits for it by its number
    recorder.started(program.pid)


def _streams(asked: Asked) -> tuple[dict[str, int], dict[str, int]]:
    """Return the reading ends of the program's streams, and the ends that it writes to."""
    if asked.terminal:
        ours, theirs = os.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[1] &= ~termios.OPOST  # what the program writes is what is kept
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        rows, columns = _size()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return {"terminal": ours}, {"terminal": theirs}
    sources, ends = {}, {}
    for name in STREAMS:
        sources[name], ends[name] = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(ends[name], _SET_PIPE_SIZE, _PIPE_BYTES)
    return sources, ends


def _size() -> tuple[int, int]:
    """Return rows and columns for the program's terminal: those of ours, or enough that nothing wraps."""
    for handle in (1, 2, 0):
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(handle)
            if size.columns and size.lines:
                return size.lines, size.columns
    return 50, 200


def _adopt_orphans() -> None:
    """Become the parent of the program if the recorder is killed, so that its status is not lost."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _orphan() -> int | None:
    """Return the program that a recorder had started and not yet written down."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        return next((child.pid for child in psutil.Process().children()), None)
    return None


def as_text(command: Sequence[str]) -> str:
    """Return a command for people, without its secrets."""
    import shlex

    return shlex.join(redact_arguments(command))
