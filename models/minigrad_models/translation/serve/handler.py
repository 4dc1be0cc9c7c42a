"""HTTP: the requests, and their protection from other sites.

A foreign page in the same browser may send requests to localhost. Three things keep it out: the Host header
must name this machine (which a foreign name that points to 127.0.0.1 does not: DNS rebinding), the Origin of a
POST must be the page itself, and its body must be declared as JSON, which no foreign form can do.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

from minigrad.viz.page import asset

from . import api
from .api import Refused

LONGEST_BODY = 64 * 1024  # bytes
PATIENCE = 120.0  # seconds that a request waits for those before it
MOMENT = 0.1  # seconds in which the system of a client that has gone refuses what is sent to it
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FOREIGN = "Another site's page may not ask this server."
HTML = "text/html; charset=utf-8"
Answer = TypeVar("Answer")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^][:@/\s]+)(?::\d+)?")


class Content(NamedTuple):
    """The body of an answer, its type, and its policy where that is not the page's."""

    body: bytes
    type: str
    policy: str = ""


def _file(name: str, kind: str) -> Content:
    return Content((Path(__file__).parent / "page" / name).read_bytes(), f"{kind}; charset=utf-8")


def _style(name: str) -> Content:
    """A style of the library's pages, whose colours and fonts this page shares."""
    return Content(asset(name).encode(), "text/css; charset=utf-8")


FILES = {
    "/": _file("page.html", "text/html"),
    "/base.css": _style("base.css"),
    "/dark.css": _style("dark.css"),
    "/page.css": _file("page.css", "text/css"),
    "/page.js": _file("page.js", "text/javascript"),
    "/attention.js": _file("attention.js", "text/javascript"),
    "/known.js": _file("known.js", "text/javascript"),
    "/text.js": _file("text.js", "text/javascript"),
    "/icon.svg": _file("icon.svg", "image/svg+xml"),
}
CALLS: dict[str, Callable[[api.Translator, dict[str, Any]], dict[str, Any]]] = {
    "/translate": api.translate,
    "/attention": api.attention,
}
ABOUT, LINKED = "/about", "/linked"
# The page of a translation has a policy of its own, which names its scripts. Here: it may not act for this server.
ALONE = "sandbox allow-scripts allow-downloads allow-modals; frame-ancestors 'none'"


class Incoming(io.RawIOBase):
    """The bytes of a connection until some seconds have passed: a client that sends one now and then is too slow."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._deadline = connection, time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """As many bytes as have come. Raises TimeoutError: the seconds are over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request takes too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Served(Protocol):
    """What the handler needs of its server: one thread at a time has the lock, and the translator."""

    translator: api.Translator
    host: str
    lock: Lock

    def has_asked(self, request: socket.socket) -> bool:
        """The request of a connection has come; False if it is too late for it."""


class Handler(BaseHTTPRequestHandler):
    """One request. Every answer but the page's files is JSON; an error is ``{"error": message}``."""

    server_version, sys_version = "minigrad", ""
    timeout = 20.0  # seconds for a request as a whole, and again for its answer
    rfile: io.BufferedReader
    raw_requestline: bytes
    command = requestline = ""  # before the first line has come
    request_version = default_request_version = "HTTP/1.0"  # of a malformed request

    @property
    def _served(self) -> Served:
        return cast(Served, self.server)

    def setup(self) -> None:
        """Read from the connection until the deadline, however many bytes come by then."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(Incoming(self.connection, self.timeout))

    def handle(self) -> None:
        """Read and answer the request. A client may break the connection at any moment: that is no error of ours."""
        with suppress(ConnectionError, TimeoutError):
            if self.rfile.peek(1)[:1].isalpha():
                super().handle()
            else:  # another protocol, whose line may have no end
                self.send_error(400)

    def parse_request(self) -> bool:
        """Refuse HTTP/0.9, which has no headers, and whose answers have no status."""
        words = self.raw_requestline.split()
        if len(words) == 2 or words[2:] == [b"HTTP/0.9"]:
            self.send_error(400, "The request must name its version (HTTP/1.1).")
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """The files of the page, and the description of the model."""
        self._answer(self._get)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """The calls of ``api``."""
        self._answer(self._post)

    def _refuse(self) -> None:
        self._answer(self._no_such_method)

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    # Requests ---------------------------------------------------------------------------------------------

    def _has_come(self) -> None:
        """Raise ConnectionError if the server has given the client up meanwhile, and has told it so."""
        if not self._served.has_asked(self.connection):
            raise ConnectionAbortedError("the client has been given up")

    def _get(self) -> Content:
        self._has_come()
        self._check_host()
        path = self._path()
        if path == ABOUT:
            return _json(api.about(self._served.translator))
        if path in FILES:
            return FILES[path]
        if path == LINKED and self.command == "GET":
            return self._linked()
        return self._no_such_method()

    def _linked(self) -> Content:
        """The page of attention and graph of ``/linked?text=…&beam=…``, made on the spot."""
        self._check_site()
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        request: dict[str, Any] = {**query}
        if "beam" in query:
            request["beam"] = int(query["beam"]) if re.fullmatch(r"\d{1,4}", query["beam"], re.ASCII) else None
        return Content(self._alone(lambda: api.linked(self._served.translator, request)).encode(), HTML, ALONE)

    def _post(self) -> Content:
        body = self._body()  # first: a connection that is closed with unread bytes may lose the answer
        self._has_come()
        self._check_host()
        if self._path() not in CALLS:
            return self._no_such_method()
        self._check_origin()
        request = _parse(body)
        return _json(self._alone(lambda: CALLS[self._path()](self._served.translator, request)))

    def _alone(self, answer: Callable[[], Answer]) -> Answer:
        """An answer of the translator, while no other request asks it. Raises Refused: it is busy for too long."""
        if not self._served.lock.acquire(timeout=PATIENCE):
            raise Refused(503, "The model is busy with other texts. Try again in a while.")
        try:
            self._check_client()
            return answer()
        finally:
            self._served.lock.release()

    def _no_such_method(self) -> Content:
        """Always raises: the path is unknown (404), or does not know the method (405)."""
        self._check_host()
        if allowed := self._allowed():
            raise Refused(405, f"{self.command} is not for this address; {allowed} is.")
        raise Refused(404, "There is nothing at this address.")

    def _allowed(self) -> str:
        path = self._path()
        if path in CALLS:
            return "POST"
        if path == LINKED:
            return "GET"
        return "GET, HEAD" if path in FILES or path == ABOUT else ""

    def _path(self) -> str:
        return self.path.split("?", 1)[0].split("#", 1)[0]

    def _body(self) -> bytes:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            raise Refused(411, "The request must tell its length (Content-Length).") from None
        if length < 0:
            raise Refused(400, "A length cannot be negative.")
        body = self.rfile.read(min(length, 16 * LONGEST_BODY))
        if length > LONGEST_BODY:
            raise Refused(413, f"The request has {length:,} bytes; at most {LONGEST_BODY:,} are read.")
        if len(body) < length:
            raise Refused(400, "The request is shorter than it says.")
        return body

    # Clients ----------------------------------------------------------------------------------------------

    def _check_client(self) -> None:
        """Raise ConnectionError if the page has closed the connection while it waited for the model.

        A client that sends nothing more may still read (``nc -N``). It takes an interim answer (RFC 9110, 15.2),
        which a closed connection refuses within a moment.
        """
        self.connection.setblocking(False)  # with a time-out, Python would wait even with MSG_DONTWAIT
        try:
            if self.connection.recv(1, socket.MSG_PEEK) or self.request_version < "HTTP/1.1":
                return
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            deadline = time.monotonic() + MOMENT
            while time.monotonic() < deadline:
                if self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise ConnectionAbortedError("the client has gone")
                time.sleep(MOMENT / 20)
        except BlockingIOError:
            pass  # it waits
        finally:
            self.connection.settimeout(self.timeout)

    def _check_host(self) -> None:
        """The host must be a numeric address or a name of this machine, which nobody can redirect."""
        name = _host_name(self.headers.get("Host", ""))
        known = {"localhost", self._served.host.lower(), socket.gethostname().lower()}
        if not name or (name not in known and not _is_address(name)):
            raise Refused(403, "This server answers only under the address that it printed when it started.")

    def _check_origin(self) -> None:
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            raise Refused(403, FOREIGN)
        self._check_site()
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "The request must be JSON (Content-Type: application/json).")

    def _check_site(self) -> None:
        if self.headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
            raise Refused(403, FOREIGN)

    # Answers ----------------------------------------------------------------------------------------------

    def _answer(self, respond: Callable[[], Content]) -> None:
        try:
            self._send(200, respond())
        except Refused as refused:
            self._send(refused.status, _json({"error": refused.message}))
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # nobody waits for the answer
        except Exception:
            traceback.print_exc(file=sys.stderr)
            message = "The translation failed inside the program; its terminal shows where."
            self._send(500, _json({"error": message}))

    def _send(self, status: int, content: Content) -> None:
        with suppress(ConnectionError, TimeoutError):
            self.connection.settimeout(self.timeout)
            self.send_response(status)
            own = {"Content-Security-Policy": content.policy} if content.policy else {}
            for name, value in {**HEADERS, **own}.items():
                self.send_header(name, value)
            if status == 405:
                self.send_header("Allow", self._allowed())
            self.send_header("Content-Type", content.type)
            self.send_header("Content-Length", str(len(content.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Errors of the base class (a malformed request, an unknown method), as JSON like all others."""
        self.close_connection = True
        status = 400 if code == HTTPStatus.NOT_IMPLEMENTED else code
        self._send(status, _json({"error": message or HTTPStatus(code).phrase}))

    def log_message(self, format: str, *args: Any) -> None:
        """Do not list requests on the terminal."""


def _json(value: dict[str, Any]) -> Content:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Content(text.encode(errors="replace"), "application/json; charset=utf-8")


def _parse(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "The request is not valid JSON.") from None
    if not isinstance(request, dict):
        raise Refused(400, "The request must be a JSON object.")
    return request


def _host_name(header: str) -> str:
    """The name or address in a Host header, without its port; empty if there is none."""
    match = _HOST.fullmatch(header.strip().lower())
    return match[1].strip("[]") if match else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
