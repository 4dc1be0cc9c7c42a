"""The server of the page: Python's own, one thread per request, one translation at a time.

The number of threads is bounded. If all are taken, the client that has been sending its request for longest is given
up for the next one: whoever holds connections open with a byte now and then holds nobody up. A client that is given up,
or for whom no thread becomes free, is told so (503).
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import socketserver
import sys
import threading
import time
import webbrowser
from collections import deque
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any

from .api import Translator
from .handler import Handler

MOST_CLIENTS = 32  # at the same time; a browser opens six connections
MOST_REFUSED = 256  # that may still be sending what nobody reads
PATIENCE = 1.0  # seconds without a free thread, from which on clients are refused at once
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Type: application/json\r\n\r\n" + (
    b'{"error": "Too many clients at once. Try again in a while."}'
)


class Server(ThreadingHTTPServer):
    """Listens from the start; ``serve_forever`` answers.

    Args:
        translator: used by one thread at a time.
        port: 0 takes a free one.
        host: a name or address of this machine; other machines cannot reach 127.0.0.1.

    Raises:
        OSError: the port is taken or may not be used, or the host is unknown. ValueError: no such port.
    """

    daemon_threads = True  # the program ends at once, even during a translation
    allow_reuse_address = os.name != "nt"  # on Windows it would let two programs share a port
    allow_reuse_port = False
    request_queue_size = 256

    def __init__(self, translator: Translator, port: int = 8000, host: str = "127.0.0.1") -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"there is no port {port}: choose one from 0 (any free one) to 65535")
        self.translator, self.host = translator, host
        self.lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_CLIENTS)
        self._asking: dict[socket.socket, bool] = {}  # whose requests have not come yet, the oldest first
        self._refused: deque[tuple[float, socket.socket]] = deque()  # and until when they may read their answer
        self._had_room = 0.0
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise OSError(_reason(error, port, host)) from error

    def server_bind(self) -> None:
        """Bind without HTTPServer's search for the machine's full name, which may wait for the network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if there is room for one."""
        if not self._room.acquire(blocking=False):
            for slowest in list(self._asking)[:1]:
                if self.has_asked(slowest):
                    with suppress(OSError):
                        slowest.send(_BUSY, getattr(socket, "MSG_DONTWAIT", 0))
                        slowest.shutdown(socket.SHUT_RDWR)  # its thread ends
            left = self._had_room + PATIENCE - time.monotonic()
            if not self._room.acquire(timeout=max(0.0, left)):
                self._refuse(request)
                return
        self._had_room = time.monotonic()
        self._asking[request] = True
        super().process_request(request, client_address)

    def _refuse(self, request: socket.socket) -> None:
        """Answer at once. The connection stays open for a while: one that is closed before all is read may lose the
        answer."""
        with suppress(OSError):
            request.setblocking(False)
            request.sendall(_BUSY)
            request.shutdown(socket.SHUT_WR)
        self._refused.append((time.monotonic() + PATIENCE, request))
        self.service_actions()

    def service_actions(self) -> None:
        """Close the connections of refused clients."""
        while self._refused and (self._refused[0][0] <= time.monotonic() or len(self._refused) > MOST_REFUSED):
            _, request = self._refused.popleft()
            with suppress(OSError):
                request.recv(1 << 20)
            self.shutdown_request(request)

    def server_close(self) -> None:
        """Close everything that is open."""
        super().server_close()
        while self._refused:
            self.shutdown_request(self._refused.popleft()[1])

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_asked(request)
            self._room.release()

    def has_asked(self, request: socket.socket) -> bool:
        """The request has come as a whole: it is answered, however long that takes. False: it was known before, or the
        client has been given up."""
        return self._asking.pop(request, False)

    @property
    def url(self) -> str:
        """The address of the page."""
        anywhere = self.host in ("", "0.0.0.0", "::")
        name = "localhost" if anywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.server_port}/"


def _reason(error: OSError, port: int, host: str) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        return (
            f"port {port} of {host} is taken by another program: choose another with --port {other}, "
            "or any free one with --port 0"
        )
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this account: choose one above 1023 with --port"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def serve(translator: Translator, port: int = 8000, host: str = "127.0.0.1", open_browser: bool = False) -> int:
    """Serve the page until Ctrl-C, and print its address. Arguments and errors are those of ``Server``.

    Args:
        open_browser: open the page in the browser.

    Returns the exit status, 0.
    """
    with Server(translator, port, host) as server:
        print(f"The translator is at {server.url} (Ctrl-C ends it)", flush=True)
        if not _only_here(host):
            print("note: others on the network can reach it, too", file=sys.stderr)
        if open_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
    return 0


def _only_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
