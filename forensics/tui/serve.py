"""The same browser in a web browser: on this machine only, and only for who has the token.

What the page may load is its own: a policy forbids the font that its template would fetch from elsewhere.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from textual_serve.server import Server

HOST = "127.0.0.1"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guarded(Server):
    """A server that answers nobody without the token, and no page of another site."""

    def __init__(self, command: str, port: int, token: str) -> None:
        super().__init__(command, host=HOST, port=port, title="dflash-forensics")
        self._token = token
        self._cookie = f"forensics-{port}"  # cookies know no ports, so two servers would share one

    @property
    def address(self) -> str:
        """Return what to open in a web browser."""
        return f"{self.public_url}/?token={self._token}"

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not self._is_ours(request):
            raise web.HTTPForbidden(text="not from here\n")
        given = request.query.get("token", "")
        if not self._fits(given) and not self._fits(request.cookies.get(self._cookie, "")):
            raise web.HTTPUnauthorized(text="open the address that the command printed, with its token\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(self._headers())
            if self._fits(given):
                response.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict", path="/")
        return response

    def _is_ours(self, request: web.Request) -> bool:
        """Tell whether a request was made for this address, by a page of it: another name may lead here as well."""
        return (
            request.host == f"{HOST}:{self.port}" and request.headers.get("Origin", self.public_url) == self.public_url
        )

    def _fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())

    def _headers(self) -> dict[str, str]:
        own, sockets = self.public_url, self.public_url.replace("http:", "ws:")
        policy = (
            f"default-src 'none'; script-src 'unsafe-inline' {own}; style-src 'unsafe-inline' {own}; "
            f"img-src data: {own}; font-src data: {own}; connect-src {own} {sockets}; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        return {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }

    async def on_startup(self, app: web.Application) -> None:  # noqa: ARG002 - the library's signature
        """Say where it is."""
        print(f"Open {self.address}\nCtrl-C ends it.", flush=True)  # noqa: T201 - for the person at the terminal


def serve(arguments: Sequence[str], port: int = 0) -> None:
    """Serve `tui` with these arguments until it is interrupted.

    Raises:
        OSError: the port is taken.
    """
    listening = socket.create_server((HOST, port))
    command = shlex.join([sys.executable, "-m", "forensics", "tui", *arguments])
    server = Guarded(command, listening.getsockname()[1], secrets.token_urlsafe(24))
    os.environ.pop("NO_COLOR", None)  # of the terminal, which does not show it
    web.run_app(server._make_app(), sock=listening, print=None, access_log=None)  # noqa: SLF001 - there is no other
