"""A tmux server of a test's own, and what a person at a terminal would keep of it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forensics.text import ansi
from tests.cli.program import run

BOUND_S = 20.0
"""How long anything in a pane may take before a test gives up."""
PANES = "#{session_name} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"
"""The form of `list-panes` that tells how each pane ended."""
KEEP = ("set-option", "-g", "remain-on-exit", "on", ";")
"""Said before a session starts, it keeps the panes of commands that end at once."""


class Server:
    """One tmux server: nobody's configuration, a socket that no other test can reach."""

    def __init__(self) -> None:
        # The path of a socket has about 100 characters at most, and pytest's folders alone can take those.
        self.folder = Path(tempfile.mkdtemp(prefix="dff-", dir="/tmp"))
        self.socket = self.folder / f"tmux-{os.getuid()}" / self.folder.name
        kept = {k: v for k, v in os.environ.items() if k not in {"TMUX", "TMUX_PANE"}}
        own = {"TMUX_TMPDIR": str(self.folder), "SHELL": "/bin/sh", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self._surroundings = {**kept, **own}
        self._client = ["tmux", "-L", self.folder.name, "-f", "/dev/null"]
        self._servers: set[int] = set()

    def tmux(self, *words: str) -> str:
        """Run one client to its end; return what it shows, complaints too."""
        done = subprocess.run(
            [*self._client, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=self._surroundings,
            text=True,
            check=False,
        )
        return done.stdout

    def start(self, session: str, command: str, *, width: int = 80, keep: bool = False) -> str:
        """Start a detached session of one pane 24 lines high; return the client's complaints.

        Args:
            session: its name.
            command: what a shell in the pane runs.
            width: columns of the pane.
            keep: whether the pane stays when the command has ended.
        """
        said = self.tmux(
            "start-server", ";", *(KEEP if keep else ()),
            "new-session", "-d", "-s", session, "-x", str(width), "-y", "24", command,
        )  # fmt: skip
        if (pid := self.ask("#{pid}")).isdecimal():
            self._servers.add(int(pid))
        return said

    def ask(self, form: str) -> str:
        """Return a value that tmux knows, such as `#{pane_pid}`."""
        return self.tmux("display-message", "-p", form).strip()

    def typed(self, *words: str) -> str:
        """Return a command as typed at a prompt, and below it what it printed."""
        return f"$ {shlex.join(['tmux', *words])}\n{self.tmux(*words)}"

    def capture(self, session: str, *options: str) -> str:
        """Return the whole of a pane, the lines that scrolled away too."""
        return self.tmux("capture-pane", "-p", *options, "-S", "-", "-t", session)

    @contextlib.contextmanager
    def attached(self, session: str) -> Iterator[list[str]]:
        """Look at a session from a terminal; at the end, the list holds what stays there when the client ends."""
        ours, theirs = pty.openpty()
        stays: list[str] = []
        with subprocess.Popen(
            [*self._client, "attach", "-t", session], stdin=theirs, stdout=theirs, env=self._surroundings
        ) as client:
            os.close(theirs)
            try:
                poll(lambda: self.tmux("list-clients", "-F", "#{client_tty}") != "", "the client at the terminal")
                yield stays
                shown = read_to_end(ours)
            finally:
                client.kill()  # a test that failed left it waiting for the server
                os.close(ours)
        # A client draws on the terminal's other screen; what comes after is on the one with the prompt.
        stays.append(ansi.strip(shown.rpartition("\x1b[?1049l")[2]).replace("\r", "").strip("\n") + "\n")

    def wait_for(self, words: str, session: str) -> None:
        """Wait until a pane shows these words."""
        poll(lambda: words in self.capture(session, "-J"), f"{words!r} in the pane of {session}")

    def wait_for_text(self, words: str, file: Path) -> None:
        """Wait until a file holds these words."""
        poll(lambda: file.exists() and words in file.read_text(), f"{words!r} in {file}")

    def wait_for_death(self, session: str) -> None:
        """Wait until the command of a kept pane has ended and the pane says so."""
        poll(lambda: "Pane is dead" in self._nudged(self.capture, session), f"the death of the pane of {session}")

    def wait_until_gone(self) -> None:
        """Wait until no client can reach the server."""
        gone = ("no server running", "error connecting")
        poll(lambda: self._nudged(self.tmux, "ls").startswith(gone), "the end of the server")

    def _nudged(self, ask: Callable[[str], str], word: str) -> str:
        """Ask, after telling the server once more that a child of it may have ended.

        tmux 3.3 now and then misses the end of a pane's command and shows it as running for
        good; a further SIGCHLD makes it look again, and means nothing where there is nothing to see.
        """
        for pid in self._servers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCHLD)
        return ask(word)

    def kill(self) -> None:
        """Kill the server as the kernel's OOM killer does; its socket stays behind."""
        os.kill(int(self.ask("#{pid}")), signal.SIGKILL)
        self.wait_until_gone()

    def kill_pane(self, session: str, how: signal.Signals) -> None:
        """Send a signal to the command of a kept pane."""
        pid = self.tmux("display-message", "-p", "-t", session, "#{pane_pid}")
        os.kill(int(pid), how)
        self.wait_for_death(session)

    def close(self) -> None:
        """End the server with all that runs in it, whether or not its socket is still there."""
        self.tmux("kill-server")
        for pid in self._servers:
            # A server that lost its socket hears no client; its arguments show that the number is still its own.
            told = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
            if told.stdout.startswith("tmux "):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def read_to_end(terminal: int) -> str:
    """Return what a terminal shows until the other side closes it."""
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux reports the other side's end as an error
            break
        if not part:
            break
        shown += part
    return shown.decode()


def poll(ready: Callable[[], bool], what: str) -> None:
    """Ask again and again until it is so, within a bound."""
    end = time.monotonic() + BOUND_S
    while not ready():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def held(command: str, until: Path) -> str:
    """Return a command whose pane stays alive until a file is there, and ends as the command did.

    A pane that dies at once may take its last words with it, before the server has read them.
    """
    gate = shlex.quote(str(until))
    return f"{command}; ended=$?; until [ -e {gate} ]; do sleep 0.02; done; exit $ended"


def shown(command: str) -> str:
    """Return a command as typed at a prompt, and below it what a shell printed for it."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        text=True,
        check=False,
    )
    return f"$ {command}\n{done.stdout}"


def analyze(folder: Path) -> dict[str, Any]:
    """Return the report of the program on a folder, as it prints it."""
    done = run("analyze", str(folder), "--format", "json")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def root(report: dict[str, Any]) -> dict[str, Any]:
    """Return the one root of a report."""
    (found,) = [f for f in report["findings"] if f["role"] == "root"]
    return dict(found)
