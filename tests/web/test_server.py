"""The server that shows the site: its headers, its types, and that it gives no file of another folder."""

from __future__ import annotations

import http.client
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from web import __main__ as command
from web import server

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
    """A server of a small folder, beside which another file lies."""
    folder = tmp_path_factory.mktemp("served") / "site"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(name)
    (folder.parent / "secret.txt").write_text("secret")
    made = server.server(folder)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def asked(running: ThreadingHTTPServer, path: str, method: str = "GET") -> tuple[int, http.client.HTTPMessage, bytes]:
    """The answer to a request, whose path is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", running.server_address[1], timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_its_type_and_the_headers(name: str, running: ThreadingHTTPServer) -> None:
    status, headers, content = asked(running, f"/{name}")
    assert (status, content) == (200, name.encode())
    assert headers.get_content_type() == FILES[name]
    assert "Content-Encoding" not in headers  # the page unpacks what is packed
    for header, value in server.HEADERS.items():
        assert headers.get_all(header) == [value]


def test_the_headers_are_those_that_let_a_program_be_stopped(running: ThreadingHTTPServer) -> None:
    for path in ("/", "/nowhere"):
        headers = asked(running, path)[1]
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/x/../../secret.txt",
        "/..\\secret.txt",
        "//../secret.txt",
        "../secret.txt",
        "/secret.txt",
        "//etc/passwd",
    ],
)
def test_nothing_outside_the_folder_is_given(path: str, running: ThreadingHTTPServer) -> None:
    status, _, content = asked(running, path)
    assert status == 404
    assert content != b"secret"


def test_it_takes_nothing(running: ThreadingHTTPServer) -> None:
    assert asked(running, "/index.html", "PUT")[0] == 501
    assert asked(running, "/index.html", "POST")[0] == 501


def test_it_says_nothing_of_requests(running: ThreadingHTTPServer, capfd: pytest.CaptureFixture[str]) -> None:
    asked(running, "/index.html")
    asked(running, "/nowhere")
    assert tuple(capfd.readouterr()) == ("", "")


def test_this_machine_alone_reaches_it(running: ThreadingHTTPServer) -> None:
    assert running.server_address[0] == "127.0.0.1"


def test_a_taken_port_is_an_error(running: ThreadingHTTPServer, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="in use"):
        server.server(tmp_path, running.server_address[1])


def test_the_command_says_so(
    running: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(running.server_address[1])
    monkeypatch.setattr(sys, "argv", ["web", "--no-build", "--serve", "--port", port, "--out", str(tmp_path)])
    assert command.main() == 1
    assert "There is no site" in capsys.readouterr().err
    (tmp_path / "index.html").touch()
    assert command.main() == 1
    told = capsys.readouterr().err
    assert f"Port {port} cannot be used" in told and "--port" in told


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_what_is_no_port_is_told_in_a_line(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.parser().parse_args([f"--port={port}"])
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.endswith(f"{port} is no port: these are numbers from 0 to 65535")


def test_nothing_to_do_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["site", "--no-build"])
    with pytest.raises(SystemExit):
        command.main()
    assert "--no-build leaves nothing to do without --serve" in capsys.readouterr().err
