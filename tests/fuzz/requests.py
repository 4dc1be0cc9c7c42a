"""Requests to serve: malformed, cut off, slow, with a closed side, and after each a good one."""

from __future__ import annotations

import contextlib
import io
import json
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from minigrad_models.translation.serve.server import Server
from minigrad_models.translation.translator import Translator

from . import seeds
from .bombs import JSON
from .files import spoiled
from .watch import LONGEST, Finding

WORDS = ("one", "cat", "«end»", "\0", "🍅", "\u202e", "é" * 50, ".", "!?", "\n", "1,000.5", "<b>", "&amp;")


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each request, with "" where there was nothing wrong."""
    translator = Translator.load(seeds.trained(folder))
    with Server(translator, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        open_: list[socket.socket] = []
        try:
            for number in range(1 << 60):
                data = request(rng)
                yield Finding(f"request {number}: {data[:300]!r}", one(server.server_port, data, rng, open_))
        finally:
            for connection in open_:
                connection.close()
            server.shutdown()
            thread.join()


def request(rng: random.Random, path: str | None = None) -> bytes:
    """A request, often spoiled, or with a body that is."""
    path = path or rng.choice(("/translate", "/translate", "/attention", "/about", "/", "/page.js", "/none", "*"))
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 12)))
    content = {"text": text, "beam": rng.randint(1, 3), "source": text, "target": text}
    members = {name: json.dumps(value) for name, value in content.items()}
    if rng.random() < 0.5:
        members[rng.choice(list(members))] = rng.choice(list(JSON.values()))
    body = ("{" + ", ".join(f'"{name}": {value}' for name, value in members.items()) + "}").encode()
    lines = [f"{rng.choice(('POST', 'POST', 'GET', 'HEAD', 'PUT', 'X'))} {path} HTTP/1.{rng.randint(0, 1)}"]
    lines += ["Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    data = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    return spoiled(data, rng) if rng.random() < 0.5 else data


def one(port: int, data: bytes, rng: random.Random, open_: list[socket.socket]) -> str:
    """Send it, in one of several ways; then a good request must be answered in time. Returns what went wrong."""
    errors, stderr = io.StringIO(), sys.stderr
    sys.stderr = errors
    try:
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
            open_.append(connection)
            connection.sendall(data)
            how = rng.random()
            if how < 0.6:
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            if 0.6 <= how < 0.7:  # without the end that TCP has
                time.sleep(rng.choice((0, 0.01)))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if how < 0.8:
                connection.close()  # the rest is left open, and silent
        del open_[:-64]
        fault = good(port)
    finally:
        sys.stderr = stderr
    return fault or (errors.getvalue() if "Traceback" in errors.getvalue() else "")


def good(port: int) -> str:
    """Whether a good request gets its answer in time."""
    body, start = b'{"text": "one cat"}', time.monotonic()
    head = (
        f"POST /translate HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=LONGEST) as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
            answer = connection.makefile("rb").read()
        json.loads(answer.partition(b"\r\n\r\n")[2])["sentences"]
    except (OSError, ValueError, LookupError) as error:
        return f"no answer to a good request after {time.monotonic() - start:.1f} s: {error!r}"
    return ""
