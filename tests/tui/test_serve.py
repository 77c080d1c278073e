"""The browser in a web browser: on this machine, for who has the token, and nothing from elsewhere."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.program import COMMAND, ROOT, environment

aiohttp: Any = pytest.importorskip("aiohttp", reason="the extra serve is not installed")
SAMPLE = str(ROOT / "samples" / "001-story" / "run")


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server of the test's own."""
    with subprocess.Popen(
        [*COMMAND, "tui", SAMPLE, "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as server:
        assert server.stdout is not None
        told = server.stdout.readline()
        try:
            yield told.removeprefix("Open ").strip()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=20)


def base(address: str) -> str:
    """Return an address without its token."""
    return address.partition("/?")[0]


def test_only_with_the_token(address: str) -> None:
    """Without the token, with a wrong one, under another name, or from another site's page there is nothing."""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32,}", address)

    async def ask() -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            for url, headers, status in (
                (base(address), {}, 401),
                (f"{base(address)}/?token=wrong", {}, 401),
                (f"{base(address)}/static/js/textual.js", {}, 401),
                (f"{base(address)}/ws", {}, 401),
                (address, {"Host": "evil.example"}, 403),
                (address, {"Origin": "http://evil.example"}, 403),
                (address, {}, 200),
                (f"{base(address)}/static/js/textual.js", {}, 200),
            ):
                async with client.get(url, headers=headers) as answer:
                    assert answer.status == status, (url, headers)

    asyncio.run(ask())


def test_nothing_comes_from_elsewhere(address: str) -> None:
    """The page may load its own parts only, is kept nowhere, and shows in no frame."""

    async def ask() -> None:
        async with aiohttp.ClientSession() as client, client.get(address) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            hosts = set(re.findall(r"(?:https?|wss?)://([\w.-]+)", policy))
            assert hosts == {"127.0.0.1"}
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie

    asyncio.run(ask())


def test_the_same_screen(address: str) -> None:
    """Over the socket comes the screen of the run, and keys go back."""

    async def look() -> str:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            async with client.get(address) as answer:
                assert answer.status == 200
            shown = ""
            async with client.ws_connect(f"{base(address)}/ws?width=80&height=24") as socket:
                asked = False
                async for message in socket:
                    if message.type == aiohttp.WSMsgType.BINARY:
                        shown += message.data.decode("utf-8", "replace")
                    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
                    if "UNKNOWN" in text and not asked:
                        asked = True
                        await socket.send_json(["stdin", "?"])
                    if "next, previous finding" in text:
                        return text
        return ""

    async def bounded() -> str:
        return await asyncio.wait_for(look(), 40)

    assert "A log that the launch promised" in asyncio.run(bounded())


def test_a_port_that_is_taken(address: str) -> None:
    """A port that somebody has is told."""
    port = address.partition("/?")[0].rpartition(":")[2]
    done = subprocess.run(
        [*COMMAND, "tui", SAMPLE, "--serve", "--port", port],
        capture_output=True,
        env=environment(),
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr
