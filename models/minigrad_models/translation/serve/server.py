"""The server for the page.

A page from another site in the same browser can send requests to localhost. Three checks block such requests: the Host
header must name this machine (a foreign name that resolves to 127.0.0.1, as in DNS rebinding, does not), the Origin of
a POST must be the page itself, and its body must be declared as JSON, which a foreign form cannot do.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from minigrad.viz.page import asset

from ...service import http
from ...service.http import body_of, object_of
from ...service.refused import Refused
from . import api

if TYPE_CHECKING:
    from ..translator import Translator

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


class Server(http.Server):
    """The server for a translator. All responses except the page files are JSON; an error is ``{"error": message}``.
    One request at a time uses the translator; ``waiting`` counts the others. For the other arguments and errors see
    ``http.Server``."""

    def __init__(self, translator: Translator, port: int = 8000, host: str = "127.0.0.1") -> None:
        self.translator, self._lock, self.waiting = translator, asyncio.Lock(), 0
        self._known = {"localhost", host.lower(), socket.gethostname().lower()}
        paths = ["/", *(f"/{name}" for name in FILES[1:])]
        routes = [self._route(path, partial(_constant, *_file(name))) for path, name in zip(paths, FILES, strict=True)]
        routes += [
            self._route("/about", self._about),
            self._route("/linked", self._linked),
            self._route("/translate", partial(self._call, api.translate), "POST"),
            self._route("/attention", partial(self._call, api.attention), "POST"),
        ]
        super().__init__(routes, port, host, HEADERS)

    def _route(self, path: str, answer: Callable[[Request, bytes], Awaitable[Response]], method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            body = await body_of(
                request, LONGEST_BODY
            )  # first, as closing a connection with unread bytes may lose the response
            self._check_host(request)
            return await answer(request, body)

        return Route(path, endpoint, methods=[method])

    async def _about(self, request: Request, body: bytes) -> Response:
        return self.json(api.about(self.translator))

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
        call = object_of(request, body)
        return self.json(await self._alone(request, lambda: function(self.translator, call)))

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


def _check_site(request: Request) -> None:
    if request.headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
        raise Refused(403, FOREIGN)
