"""The server for the page: uvicorn with a time limit for each request, and its routes.

A page from another site in the same browser can send requests to localhost. Three checks block such requests: the Host
header must name this machine (a foreign name that resolves to 127.0.0.1, as in DNS rebinding, does not), the Origin of
a POST must be the page itself, and its body must be declared as JSON, which a foreign form cannot do.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import re
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from minigrad.viz.page import asset

from . import api
from .api import Refused

if TYPE_CHECKING:
    from ..translator import Translator

PATIENCE = 20.0  # seconds until a request must be complete, and until its response must be read
LONGEST_WAIT = 120.0  # seconds that a request waits for earlier requests
LONGEST_BODY = 64 * 1024  # bytes
MOST_WAITING = 100  # requests for the model
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# The page for a translation has its own policy, which lists its scripts. This policy isolates it from this server.
ALONE = "sandbox allow-scripts allow-downloads allow-modals; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
FOREIGN = "Pages from other sites may not use this server."
# The files of the page; all pages of the library share the base styles.
FILES = ("page.html", "base.css", "dark.css", "page.css", "page.js", "attention.js", "words.js", "text.js", "icon.svg")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
Answer = TypeVar("Answer")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^][:@/\s]+)(?::\d+)?")


class Protocol(H11Protocol):
    """HTTP with one request per connection (see ``HEADERS``). Closes the connection if the client is too slow."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._check_request)

    def _check_request(self) -> None:
        if getattr(self.cycle, "more_body", True):  # no request yet, or an incomplete body
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
    a name or address of this machine; other machines cannot reach 127.0.0.1. All responses except the page files are
    JSON; an error is ``{"error": message}``. One request at a time uses the translator; ``waiting`` counts the others.
    Raises OSError if the port is taken or forbidden, or the host is unknown, and ValueError if the port is invalid."""

    def __init__(self, translator: Translator, port: int = 8000, host: str = "127.0.0.1") -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"there is no port {port}: choose one from 0 (any free port) to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            raise OSError(_reason(error, port, host)) from error
        self.host, self.server_port = host, self._socket.getsockname()[1]
        self.translator, self._lock, self.waiting = translator, asyncio.Lock(), 0
        self._known = {"localhost", host.lower(), socket.gethostname().lower()}
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        options |= {"access_log": False, "server_header": False, "timeout_graceful_shutdown": 1}
        paths = ["/", *(f"/{name}" for name in FILES[1:])]
        routes = [self._route(path, partial(_constant, *_file(name))) for path, name in zip(paths, FILES, strict=True)]
        routes += [
            self._route("/about", self._about),
            self._route("/linked", self._linked),
            self._route("/translate", partial(self._call, api.translate), "POST"),
            self._route("/attention", partial(self._call, api.attention), "POST"),
        ]
        app = Starlette(routes=routes, exception_handlers={Refused: _refusal, HTTPException: _no_such_address})
        app.router.redirect_slashes = False
        self._server = uvicorn.Server(uvicorn.Config(app, http=Protocol, **options))

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
        """The address of the page."""
        anywhere = self.host in ("", "0.0.0.0", "::")
        name = "localhost" if anywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.server_port}/"

    def _route(self, path: str, answer: Callable[[Request, bytes], Awaitable[Response]], method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            body = await _body(request)  # first, as closing a connection with unread bytes may lose the response
            self._check_host(request)
            return await answer(request, body)

        return Route(path, endpoint, methods=[method])

    async def _about(self, request: Request, body: bytes) -> Response:
        return _json(api.about(self.translator))

    async def _linked(self, request: Request, body: bytes) -> Response:
        """The attention and graph page at ``/linked?text=…&beam=…``, generated on demand."""
        _check_site(request)
        query: dict[str, Any] = dict(request.query_params)
        if "beam" in query:
            query["beam"] = int(query["beam"]) if re.fullmatch(r"\d{1,4}", query["beam"], re.ASCII) else None
        page = await self._alone(request, lambda: api.linked(self.translator, query))
        return Response(page, 200, {**HEADERS, "Content-Security-Policy": ALONE}, "text/html")

    async def _call(
        self, function: Callable[[Translator, dict[str, Any]], dict[str, Any]], request: Request, body: bytes
    ) -> Response:
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.headers.get('Host')}":
            raise Refused(403, FOREIGN)
        _check_site(request)
        if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "The request must be JSON (Content-Type: application/json).")
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "The request is not valid JSON.") from None
        if not isinstance(call, dict):
            raise Refused(400, "The request must be a JSON object.")
        return _json(await self._alone(request, lambda: function(self.translator, call)))

    async def _alone(self, request: Request, answer: Callable[[], Answer]) -> Answer:
        """Run a request while no other request uses the translator. Raises Refused if it is busy for too long."""
        if self.waiting >= MOST_WAITING:
            raise Refused(503, "Too many clients at once. Try again later.")
        self.waiting += 1
        try:
            await asyncio.wait_for(self._lock.acquire(), LONGEST_WAIT)
        except TimeoutError:
            raise Refused(503, "The model is busy with other texts. Try again later.") from None
        finally:
            self.waiting -= 1
        try:
            if await request.is_disconnected():
                raise ClientDisconnect
            return await run_sync(answer, abandon_on_cancel=True)  # the program can exit during a translation
        except (Refused, ClientDisconnect):
            raise
        except Exception:
            traceback.print_exc(file=sys.stderr)
            raise Refused(500, "The translation failed inside the program; its terminal shows the error.") from None
        finally:
            self._lock.release()

    def _check_host(self, request: Request) -> None:
        """Raise Refused unless the host is an IP address or a name of this machine; DNS rebinding affects neither."""
        match = _HOST.fullmatch(request.headers.get("Host", "").strip().lower())
        name = match[1].strip("[]") if match else ""
        with suppress(ValueError):
            if not name or name not in self._known:
                ipaddress.ip_address(name)
            return
        raise Refused(403, "This server answers only at the address that it printed when it started.")


def _file(name: str) -> tuple[bytes, str]:
    path = Path(__file__).parent / "page" / name
    return path.read_bytes() if path.exists() else asset(name).encode(), f"{KINDS[path.suffix]}; charset=utf-8"


async def _constant(content: bytes, kind: str, request: Request, body: bytes) -> Response:
    return Response(content, 200, HEADERS, kind)


async def _body(request: Request) -> bytes:
    """Read the body of a request. Reads somewhat beyond the limit, as the client could otherwise miss the response."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > 16 * LONGEST_BODY:
            break
    if len(body) > LONGEST_BODY:
        raise Refused(413, f"The request is too long; the limit is {LONGEST_BODY:,} bytes.")
    return bytes(body)


def _check_site(request: Request) -> None:
    if request.headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
        raise Refused(403, FOREIGN)


def _refusal(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return _json({"error": refused.message}, refused.status)


def _no_such_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
        return _json({"error": f"{request.method} is not allowed here; use {allowed}."}, 405, {"Allow": allowed})
    return _json({"error": "There is nothing at this address."}, error.status_code)


def _json(value: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse(value, status, {**HEADERS, **(headers or {})})


def _reason(error: OSError, port: int, host: str) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        advice = f"choose another with --port {other}, or any free one with --port 0"
        return f"port {port} of {host} is in use by another program: {advice}"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this account: choose one above 1023 with --port"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def serve(translator: Translator, port: int = 8000, host: str = "127.0.0.1") -> int:
    """Print the page's address, and serve the page until Ctrl-C. Returns the exit status, 0. For the arguments and
    errors see ``Server``."""
    with Server(translator, port, host) as server:
        print(f"The translator is at {server.url} (Ctrl-C ends it)", flush=True)
        only_here = host == "localhost"
        with suppress(ValueError):
            only_here = ipaddress.ip_address(host).is_loopback
        if not only_here:
            print("note: other machines on the network can reach it too", file=sys.stderr)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
    return 0
