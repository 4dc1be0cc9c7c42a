"""The site's server: its headers, content types, and no access to files in other folders."""

import http.client
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from docs.web import __main__ as command, server

FILES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "script.js": "text/javascript",
    "minigrad.tar.0123.gz": "application/gzip",
    "manifest.json": "application/json",
    "picture.svg": "image/svg+xml",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadingHTTPServer]:
    """A server of a small folder, with another file next to the folder."""
    folder = tmp_path_factory.mktemp("served") / "site"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(name)
    (folder.parent / "secret.txt").write_text("secret")
    instance = server.server(folder)
    thread = threading.Thread(target=instance.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield instance
    instance.shutdown()
    instance.server_close()
    thread.join()


def asked(running: ThreadingHTTPServer, path: str, method: str = "GET") -> tuple[int, http.client.HTTPMessage, bytes]:
    """The answer to a request, whose path is sent unchanged."""
    connection = http.client.HTTPConnection("127.0.0.1", running.server_address[1], timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_a_file_has_its_type_and_the_headers(running: ThreadingHTTPServer) -> None:
    assert running.server_address[0] == "127.0.0.1"
    for name, kind in FILES.items():
        status, headers, content = asked(running, f"/{name}")
        assert (status, content, headers.get_content_type()) == (200, name.encode(), kind)
        assert "Content-Encoding" not in headers  # the page decompresses files itself
        for header, value in server.HEADERS.items():
            assert headers.get_all(header) == [value]
    for path in ("/", "/nowhere"):
        headers = asked(running, path)[1]
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"  # otherwise no program could be stopped
        assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert asked(running, "/index.html", "PUT")[0] == asked(running, "/index.html", "POST")[0] == 501


def test_nothing_outside_the_folder_is_served(running: ThreadingHTTPServer) -> None:
    dots = ("/../", "/%2e%2e/", "/..%2f", "/%2e%2e%2f", "/x/../../", "/..\\", "//../", "../", "/")
    for path in (*(f"{start}secret.txt" for start in dots), "//etc/passwd"):
        status, _, content = asked(running, path)
        assert status == 404 and content != b"secret", path


def test_a_port_in_use(running: ThreadingHTTPServer, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    port = str(running.server_address[1])
    monkeypatch.setattr(sys, "argv", ["docs.web", "--serve", "--port", port, "--out", str(tmp_path)])
    monkeypatch.setattr(command, "build", lambda site: (site / "index.html").touch())
    assert command.main() == 1
    error = capsys.readouterr().err
    assert f"Port {port} cannot be used" in error and "--port" in error
