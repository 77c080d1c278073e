"""The recorder: the parent of the program, who writes down what it says and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forensics.supervise import gpus, journal, surroundings
from forensics.supervise.logs import Logs

STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""Signals that ask the program to end; after the grace time it is killed."""
PASSED_ON = (*STOPPING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
HEARTBEAT = "heartbeat"
_BEAT_S = 5.0
_WAIT_S = 0.25
_QUIET_S = 1.0
_LINGER_S = 10.0
"""How long a log stays open, at most, for what the program left running."""
_LOOK_S = 3.0
_LAST_WORDS = 128 << 10


class Waker:
    """Signals as bytes in a pipe, so that a loop which waits for pipes wakes up for them too."""

    def __init__(self) -> None:
        self.read, write = os.pipe()
        os.set_blocking(self.read, False)
        os.set_blocking(write, False)
        for number in (*PASSED_ON, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def signals(self) -> list[int]:
        """Return the signals that came."""
        try:
            return list(os.read(self.read, 4096))
        except BlockingIOError:
            return []


class Recorder:
    """Watches one program to its end. Everything it knows is in the record, which is on the disk."""

    def __init__(
        self,
        folder: Path,
        record: dict[str, Any],
        sources: Mapping[str, int],
        waker: Waker,
        tell: Callable[[Mapping[str, object]], None],
    ) -> None:
        """Open the logs.

        Args:
            folder: that of the attempt.
            record: what has been written down so far; it is kept up to date.
            sources: the reading ends of the program's streams, by name; `terminal` alone at a terminal.
            waker: signals.
            tell: passes a message on to the front.
        """
        self.folder, self.record, self.waker, self.tell = folder, record, waker, tell
        self.sources = dict(sources)
        names = tuple(name for name in sources if name != "terminal")
        self.logs = Logs(folder, names, most_bytes=int(record.get("rotate_bytes", 0)), say=self.say)
        self.pid: int | None = record.get("pid")
        self.ended = False
        self._kill_at: float | None = None
        self._quiet = self._ended_at = self._beat_at = 0.0
        self._stop = threading.Event()
        self._looking: threading.Thread | None = None
        self._news: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        for source in self.sources.values():
            os.set_blocking(source, False)

    def say(self, text: str) -> None:
        """Tell the user, and the journal."""
        self.record.setdefault("notes", []).append(f"{journal.now()} {text}")
        self.tell({"say": text})

    def started(self, pid: int) -> None:
        """Write down that the program runs, and begin to look around."""
        self.pid = pid
        self.record.update(status="running", pid=pid, pid_started=journal.identity(pid))
        self.tell({"pid": pid})
        self._write()
        threading.Thread(target=gpus.sample, args=(self.folder, self._stop), daemon=True).start()
        self._looking = threading.Thread(target=self._look_around, daemon=True)
        self._looking.start()

    def not_started(self, code: int, why: str) -> None:
        """Write down that the program could not be started."""
        self.record.update(status="not-started", exit_code=code, error=why)
        self.ended = True

    def watch(self) -> int | None:
        """Stay until the program has ended and its last words are kept; return its status, None if nobody knows it."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.waker.read, selectors.EVENT_READ, "")
            for name, source in self.sources.items():
                selector.register(source, selectors.EVENT_READ, name)
            while not self._over():
                for key, _ in selector.select(_WAIT_S):
                    if not key.data:
                        self._signals()
                    elif self.logs.take(key.data, key.fd):
                        self._quiet = time.monotonic()
                    else:
                        selector.unregister(key.fd)
                        del self.sources[key.data]
                self.logs.tend()
                self._reap()
                self._tick()
        self._finish()
        code = self.record.get("exit_code")
        return code if isinstance(code, int) else None

    def _over(self) -> bool:
        if not self.ended:
            return False
        now = time.monotonic()
        self._ended_at = self._ended_at or now
        waited = now - max(self._quiet, self._ended_at) > _QUIET_S or now - self._ended_at > _LINGER_S
        return not self.sources or waited

    def _signals(self) -> None:
        for number in self.waker.signals():
            if number == signal.SIGWINCH:
                self.tell({"size": True})
            if number not in PASSED_ON or self.pid is None or self.ended:
                continue
            name = signal.Signals(number).name
            self._send(number)
            if number in STOPPING:
                self.record.setdefault("signals", []).append({"time": journal.now(), "signal": name})
                grace = float(self.record.get("grace_s", 30.0))
                if self._kill_at is None:
                    self._kill_at = time.monotonic() + grace
                self._write()

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid or 0, number)

    def _reap(self) -> None:
        if self.ended or self.pid is None:
            return
        try:
            # Looked at and left: until the status is on the disk, whoever takes over must find it too.
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            # Not our child: the one who was its parent is gone, and nobody else is told.
            if journal.identity(self.pid) is None:
                self._record_end(None)
            return
        if found is not None:
            self._record_end(found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)

    def _record_end(self, code: int | None) -> None:
        self.ended = True
        known = None if code is None else (code if code >= 0 else 128 - code)
        self.record.update(
            status="unknown" if code is None else "exited",
            exit_code=known,
            signal=-code if code is not None and code < 0 else None,
            ended=journal.now(),
        )
        if known is not None:
            self._with_room(lambda: journal.write_status(self.folder, known))

    def _tick(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at and not self.ended:
            self._kill_at = now + _LINGER_S
            self.say("the program did not end in the grace time, and was killed")
            self._send(signal.SIGKILL)
        if now >= self._beat_at:
            self._beat_at = now + _BEAT_S
            self._beat()
        if self._learn():
            self._write()

    def _learn(self) -> bool:
        """Take up what was found out beside the run."""
        with contextlib.suppress(queue.Empty):
            self.record.update(self._news.get_nowait())
            return True
        return False

    def _beat(self) -> None:
        state = {"time": journal.now(), "pid": self.pid, "train_bytes": self.logs.train.size, "full": self.logs.full}
        temporary = self.folder / f".{HEARTBEAT}"
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(state) + "\n")
            temporary.replace(self.folder / HEARTBEAT)

    def _look_around(self) -> None:
        command, folder = self.record.get("command", []), Path(self.record.get("cwd", "."))
        with contextlib.suppress(Exception):
            found = {"git": surroundings.git(folder), "packages": surroundings.packages(command, folder)}
            self._news.put(found)

    def _finish(self) -> None:
        self._stop.set()
        if self._looking is not None:
            self._looking.join(_LOOK_S)
            self._learn()
        left = self._left_behind()
        if left and self._kill_at is not None:
            self._send(signal.SIGKILL)
        elif left:
            self.say(f"the program left {len(left)} processes of its group running: {', '.join(map(str, left[:8]))}")
        self.record["ended"] = self.record.get("ended") or journal.now()
        self.logs.tend(last=True)
        if self.logs.full:
            self.logs.last_words(_LAST_WORDS)
            journal.release(self.folder)
        if self.logs.lost:
            self.record["lost_bytes"] = self.logs.lost
        code = self.record.get("exit_code")
        if isinstance(code, int) and not (self.folder / journal.STATUS).exists():
            self._with_room(lambda: journal.write_status(self.folder, code))
        self._with_room(lambda: journal.write_record(self.folder, self.record))  # before the logs take the last room
        if self.logs.full:
            self.logs.tend(last=True)
        self.logs.sync()
        self.logs.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid or 0, os.WNOHANG)
        with contextlib.suppress(OSError):
            (self.folder / HEARTBEAT).unlink(missing_ok=True)
        journal.release(self.folder)

    def _left_behind(self) -> list[int]:
        import psutil

        left = []
        for pid in psutil.pids():
            with contextlib.suppress(OSError, psutil.Error):
                if pid != self.pid and self.pid and os.getpgid(pid) == self.pid and journal.identity(pid) is not None:
                    left.append(pid)
        return left

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # a later record will tell it too
            journal.write_record(self.folder, self.record)

    def _with_room(self, write: Callable[[], None]) -> None:
        """Write what must not be missing, into the room kept for it if there is no other."""
        for _ in range(2):
            try:
                write()
            except OSError:
                journal.yield_room(self.folder)
            else:
                return
        self.tell({"say": f"{self.folder} cannot be written, so the status is only told here"})
