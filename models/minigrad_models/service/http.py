"""Parts of every HTTP service: a server with a time limit for each request, and requests and errors as JSON."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from .refused import Refused

PATIENCE = 20.0  # seconds until a request must be complete, and until its response must be read
IDLE = 5  # seconds that a connection stays open without a request


class Protocol(H11Protocol):
    """HTTP that closes the connection if the client is too slow."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._limit_request()

    def _limit_request(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        self._limit = self.loop.call_later(PATIENCE, self._check_request, self.cycle)

    def _check_request(self, previous: Any) -> None:
        if self.cycle is previous or self.cycle.more_body:  # no new request, or an incomplete body
            self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._slow = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if hasattr(self, "_slow"):
            self._slow.cancel()


class Server:
    """Listens as soon as it is constructed; ``serve_forever`` answers requests. Port 0 selects a free port. ``host`` is
    a name or address of this machine; other machines cannot reach 127.0.0.1. Raises OSError if the port is taken or
    forbidden, or the host is unknown, and ValueError if the port is invalid."""

    def __init__(self, routes: Sequence[Route], port: int, host: str, headers: dict[str, str]) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"there is no port {port}: choose one from 0 (any free port) to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            raise OSError(_reason(error, port, host)) from error
        self.host, self.server_port, self.headers = host, self._socket.getsockname()[1], headers
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        options |= {"access_log": False, "server_header": False, "timeout_graceful_shutdown": 1}
        app = Starlette(routes=routes, exception_handlers={Refused: self._refused, HTTPException: self._no_route})
        app.router.redirect_slashes = False
        self._server = uvicorn.Server(uvicorn.Config(app, http=Protocol, timeout_keep_alive=IDLE, **options))

    def run(self, name: str) -> int:
        """Print the address, and answer requests until Ctrl-C. Returns the exit status, 0."""
        with self:
            print(f"{name} is at {self.url} (Ctrl-C ends it)", flush=True)
            only_here = self.host == "localhost"
            with suppress(ValueError):
                only_here = ipaddress.ip_address(self.host).is_loopback
            if not only_here:
                print("note: other machines on the network can reach it too", file=sys.stderr)
            try:
                self.serve_forever()
            except KeyboardInterrupt:
                print("\nended")
        return 0

    def serve_forever(self) -> None:
        """Serve requests until ``shutdown`` is called, or until Ctrl-C raises KeyboardInterrupt."""
        self._server.run([self._socket])

    def shutdown(self) -> None:
        """Stop ``serve_forever``, which runs in another thread."""
        self._server.should_exit = True

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        """The server's address."""
        anywhere = self.host in ("", "0.0.0.0", "::")
        name = "localhost" if anywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.server_port}/"

    def json(self, value: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
        """A JSON response."""
        return JSONResponse(value, status, {**self.headers, **(headers or {})})

    def error(self, status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
        """The response to a rejected request."""
        return self.json({"error": message}, status, headers)

    def _refused(self, request: Request, refused: Exception) -> JSONResponse:
        assert isinstance(refused, Refused)
        return self.error(refused.status, refused.message)

    def _no_route(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
            return self.error(405, f"{request.method} is not allowed here; use {allowed}.", {"Allow": allowed})
        return self.error(error.status_code, "There is nothing at this address.")


async def body_of(request: Request, longest: int) -> bytes:
    """The body of a request, of at most ``longest`` bytes. Reads somewhat beyond the limit, as the client could
    otherwise miss the response. Raises Refused (413) if the body is longer."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > 16 * longest:
            break
    if len(body) > longest:
        raise Refused(413, f"The request is too long; the limit is {longest:,} bytes.")
    return bytes(body)


def object_of(request: Request, body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body. Raises Refused if the body is something else (400), or not declared as JSON,
    which a page from another site cannot do (415)."""
    if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "The request must be JSON (Content-Type: application/json).")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "The request is not valid JSON.") from None
    if not isinstance(content, dict):
        raise Refused(400, "The request must be a JSON object.")
    return content


def _reason(error: OSError, port: int, host: str) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        advice = f"choose another with --port {other}, or any free one with --port 0"
        return f"port {port} of {host} is in use by another program: {advice}"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this account: choose one above 1023 with --port"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"
