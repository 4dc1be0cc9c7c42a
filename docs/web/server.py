"""Serves the built site on this machine, with the headers that a web host should also send.

With ``Cross-Origin-Opener-Policy`` and ``Cross-Origin-Embedder-Policy``, a program that is stopped keeps its variables.
Without these headers, stopping it restarts the interpreter.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of a folder with the headers above."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".gz": "application/gzip"}

    def end_headers(self) -> None:
        """Add the headers."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


def write_headers(site: Path) -> None:
    """Write _headers, whose headers Netlify, Cloudflare Pages and other static hosts send with every page."""
    lines = ["/*", *(f"  {name}: {value}" for name, value in HEADERS.items())]
    (site / "_headers").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the folder on localhost; port 0 is any free port. Raises OSError if the port is taken."""
    return ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=str(folder)))


@contextmanager
def shown(folder: Path) -> Iterator[str]:
    """Serve the folder during the block, and yield its address."""
    with server(folder) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}/"
        finally:
            running.shutdown()


def serve(folder: Path, port: int) -> None:
    """Serve the folder until Ctrl-C."""
    with server(folder, port) as running:
        print(f"The site is at http://127.0.0.1:{running.server_address[1]}/ (press Ctrl-C to stop)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
