"""A headless Chromium, driven over a pipe: what a page shows, asks for and complains about."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_S = 60
"""Seconds after which a browser that says nothing is taken for dead."""

SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Return the browser of this machine, if it has one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page. `asked` are the addresses it requested, `complaints` what its console said."""

    def __init__(self, executable: str) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._count = 0
        self._scripted = True
        self._rest = b""
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        reads, self._out = os.pipe()
        self._in, writes = os.pipe()
        # Far from 3 and 4, which are to be given away.
        command_out, command_in = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (reads, writes))
        # Chromium reads commands from descriptor 3 and answers on 4; a shell puts the pipes there.
        script = f'exec "$0" "$@" 3<&{command_out} 4>&{command_in} {command_out}<&- {command_in}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", script, executable, *SWITCHES, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(command_out, command_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in (reads, writes, command_out, command_in):
            os.close(end)
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, fragment: str = "") -> None:
        """Show a file, and forget what was asked for and complained about before."""
        self._events.clear()
        self.call("Page.navigate", url="about:blank")
        self._until("Page.loadEventFired")
        self._events.clear()
        self.asked.clear()
        self.complaints.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self._until("Page.loadEventFired")
        if self._scripted:
            self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")

    def size(self, width: int, height: int) -> None:
        """Give the page a window of that many pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def media(self, media: str = "screen", **features: str) -> None:
        """Pretend a medium and preferences: `media("screen", prefers_color_scheme="dark")`."""
        told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=told)

    def scripts(self, *, on: bool) -> None:
        """Let pages run scripts, or none."""
        self._scripted = on
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression is in the page, once it is settled."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise AssertionError(told["exceptionDetails"])
        return told["result"].get("value")

    def press(self, key: str, *, modifiers: int = 0) -> None:
        """Press a key, as a person does."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
        about = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code or ord(key[0].upper())}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move, press, release or turn the wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, *, whole: bool = False) -> bytes:
        """Return what the window shows as PNG, or the whole page."""
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(told["data"])

    def paper(self) -> bytes:
        """Return the page as PDF."""
        told = self.call("Page.printToPDF", printBackground=False, paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(told["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser to do something, and return its answer."""
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']}")
                return dict(told["result"])

    def close(self) -> None:
        """End the browser and forget its profile."""
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def _until(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            self._next()

    def _next(self) -> dict[str, Any]:
        """Return the next message; what a page asks for and complains about is kept."""
        import select

        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE_S)
            block = os.read(self._in, 1 << 20) if ready else b""
            if not block:
                raise AssertionError("the browser says nothing any more")
            self._rest += block
        one, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(one)
        if "method" in told:
            self._events.append(told)
            self._keep(told["method"], told.get("params", {}))
        return told

    def _keep(self, method: str, told: Mapping[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(told["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {told['message']}")
