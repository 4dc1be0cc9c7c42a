"""The server of the page: uvicorn, with a limit of time for each request."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .site import Site

if TYPE_CHECKING:
    from ..translator import Translator

PATIENCE = 20.0  # seconds for a request to come as a whole, and again for its answer to be read


class Protocol(H11Protocol):
    """HTTP on one connection, which ends if the client is too slow: it has one request, see ``site.HEADERS``."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._check_request)

    def _check_request(self) -> None:
        if getattr(self.cycle, "more_body", True):  # no cycle yet, or one without its body
            self.transport.abort()

    def pause_writing(self) -> None:
        """The client does not read. Start the clock."""
        super().pause_writing()
        self._slow = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        if hasattr(self, "_slow"):
            self._slow.cancel()


class Server:
    """Listens from the start; ``serve_forever`` answers. Port 0 takes a free one; the host is a name or address of this
    machine, of which others cannot reach 127.0.0.1. Raises OSError: the port is taken or may not be used, or the host
    is unknown; ValueError: no such port."""

    def __init__(self, translator: Translator, port: int = 8000, host: str = "127.0.0.1") -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"there is no port {port}: choose one from 0 (any free one) to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            raise OSError(_reason(error, port, host)) from error
        self.host, self.server_port = host, self._socket.getsockname()[1]
        self.site = Site(translator, host)
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        options |= {"access_log": False, "server_header": False, "timeout_graceful_shutdown": 1}
        self._server = uvicorn.Server(uvicorn.Config(self.site.app, http=Protocol, **options))

    def serve_forever(self) -> None:
        """Answer until ``shutdown``, or Ctrl-C, which raises KeyboardInterrupt."""
        self._server.run([self._socket])

    def shutdown(self) -> None:
        """End ``serve_forever`` in another thread."""
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


def _reason(error: OSError, port: int, host: str) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        advice = f"choose another with --port {other}, or any free one with --port 0"
        return f"port {port} of {host} is taken by another program: {advice}"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this account: choose one above 1023 with --port"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def serve(translator: Translator, port: int = 8000, host: str = "127.0.0.1", open_browser: bool = False) -> int:
    """Serve the page until Ctrl-C, print its address, and open it in the browser if asked to. Returns the exit status,
    0. Arguments and errors are those of ``Server``."""
    with Server(translator, port, host) as server:
        print(f"The translator is at {server.url} (Ctrl-C ends it)", flush=True)
        try:
            only_here = ipaddress.ip_address(host).is_loopback
        except ValueError:
            only_here = host == "localhost"
        if not only_here:
            print("note: others on the network can reach it, too", file=sys.stderr)
        if open_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
    return 0
