"""Published data sets from a local server that is slow, disconnects, announces wrong sizes, and sends other files."""

import io
import itertools
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from minigrad_models.commands import data
from minigrad_models.commands.minigrad_command import main

CONTENT = bytes(range(256)) * 2000


class Handler(BaseHTTPRequestHandler):
    """Responds as the server's attributes say."""

    server: Any

    def do_GET(self) -> None:
        server, rest = self.server, self.server.content
        first = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        server.asked.append(first)
        if server.statuses and (status := server.statuses.pop(0)) != 200:
            return self.send_error(status)
        if server.ranges and first:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{len(rest) - 1}/{len(rest)}")
            rest = rest[first:]
        else:
            self.send_response(200)
        if server.announced is not None:
            self.send_header("Content-Length", str(server.announced or len(rest)))
        self.end_headers()
        body = rest[: server.breaks.pop(0)] if server.breaks else rest
        with suppress(ConnectionError):  # the client has disconnected
            for start in range(0, len(body), 1 << 15):
                self.wfile.write(body[start : start + (1 << 15)])

    def log_message(self, *words: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    running: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.content, running.asked, running.statuses, running.breaks = CONTENT, [], [], []
    running.ranges, running.announced = True, 0  # 0: the true size; None: no Content-Length
    thread = Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(data, "WAITS", (0, 0, 0))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def fetch(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Fetch a set of one file; returns the status, the output, and the files below the folder by name."""
    address = f"http://127.0.0.1:{server.server_port}/deep/file"

    def call(
        content: bytes = CONTENT, path: str = "set/file.txt", about: str = "a set", **more: Any
    ) -> tuple[int, str, dict[str, bytes]]:
        file = {"path": path, "address": address, "size": len(content), "sha256": sha256(content).hexdigest(), **more}
        monkeypatch.setattr(data, "SETS", {"set": {"about": about, "licence": "MIT", "files": [file]}})
        status = main(["data", "set", "--folder", str(tmp_path / "all")])
        printed = capsys.readouterr()
        assert (address in printed.err) == bool(status) and printed.err.count("\n") == bool(status), printed.err
        there = {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        return status, printed.out + printed.err, there

    return call


GOOD, PART = {"all/set/file.txt": CONTENT}, "all/set/file.txt.part"


def test_a_set_is_downloaded_once(fetch: Any, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output, there = fetch()
    assert status == 0 and there == GOOD and "a set (MIT)" in output and "0.5 MB" in output
    assert f"export MINIGRAD_DATA={tmp_path / 'all'}" in output
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path / "all"))
    status, output, there = fetch()
    assert status == 0 and there == GOOD and server.asked == [0] and "there" in output and "export" not in output


def test_a_set_that_an_option_names_needs_no_setting(fetch: Any, tmp_path: Path) -> None:
    status, output, _ = fetch(about="a set, for bert sst2 --data {folder}/set")
    assert status == 0 and f"--data {tmp_path / 'all' / 'set'} (MIT)" in output and "export" not in output


def test_a_broken_download_resumes_where_it_ended(fetch: Any, server: Any) -> None:
    server.breaks = [1000, 0, 5000]
    assert fetch()[::2] == (0, GOOD)
    assert server.asked == [0, 1000, 1000, 6000]


def test_the_next_call_resumes_or_restarts_if_ranges_are_ignored(fetch: Any, server: Any) -> None:
    server.breaks = [1000, 10, 10, 10]
    status, output, there = fetch()
    assert status == 1 and there == {PART: CONTENT[:1030]} and "lost after 1,030 of 512,000 bytes" in output
    server.ranges = False
    assert fetch()[::2] == (0, GOOD) and server.asked[-1] == 1030


def test_temporary_and_permanent_server_errors(fetch: Any, server: Any) -> None:
    server.statuses = [503, 500, 200]
    assert fetch()[0] == 0 and len(server.asked) == 3
    server.statuses = [404]
    status, output, there = fetch(CONTENT[:-1], "set/other.txt")
    assert status == 1 and "404" in output and len(server.asked) == 4 and there == GOOD


def test_a_silent_server_times_out(fetch: Any, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PATIENCE", 0.05)
    monkeypatch.setattr(server, "process_request", lambda request, address: server.silent.append(request))
    server.silent = []
    status, output, _ = fetch()
    assert status == 1 and "timed out" in output
    for request in server.silent:
        request.close()


def test_a_server_that_announces_or_sends_more_than_the_table_says(fetch: Any, server: Any) -> None:
    for server.content, server.announced in ((CONTENT + b"x", 0), (CONTENT, len(CONTENT) + 1)):
        status, output, there = fetch()
        assert status == 1 and "512,001 bytes, not 512,000" in output and not there
    assert len(server.asked) == 2  # this response is not retried
    server.content, server.announced = CONTENT * 3, None
    status, output, there = fetch()
    assert status == 1 and "sent more than the 512,000 bytes" in output
    assert list(there) == [PART] and len(there[PART]) <= len(CONTENT)


def test_a_wrong_file_is_not_kept(fetch: Any, server: Any, tmp_path: Path) -> None:
    server.content = CONTENT[:-1] + b"x"
    status, output, there = fetch()
    assert status == 1 and "its SHA-256 is different" in output and not there
    (tmp_path / "all" / "set" / "file.txt").write_bytes(b"of a person")
    status, output, there = fetch()
    assert status == 1 and "rename it" in output and list(there.values()) == [b"of a person"]


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as content:
        for name, data in members.items():
            content.writestr(name, data)
    return buffer.getvalue()


def test_an_archive_cannot_leave_its_folder(fetch: Any, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wicked = {"../../../out.mid": b"1", "/tmp/of-root.mid": b"2", "a/in.mid": b"3", "not-asked.mid": b"4"}
    server.content = archive(**wicked)
    there = {"all/set/out.mid": b"1", "all/set/of-root.mid": b"2", "all/set/in.mid": b"3"}
    for _ in range(2):
        assert fetch(server.content, "set/a.zip", members=list(wicked)[:3])[::2] == (0, there)
    assert server.asked == [0] and not os.path.exists("/tmp/of-root.mid")
    status, output, _ = fetch(server.content, "set/a.zip", members=["missing.mid"])
    assert status == 1 and "missing.mid" in output
    monkeypatch.setattr(data, "LARGEST", 1000)
    server.content = archive(bomb=bytes(1 << 20))
    status, output, _ = fetch(server.content, "other/a.zip", members=["bomb"])
    assert status == 1 and "bomb in the archive is larger than" in output
    server.content = b"no archive"
    assert fetch(server.content, "third/a.zip", members=["in"])[0] == 1


def test_the_list(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path))
    (tmp_path / "jsb").mkdir()
    (tmp_path / "jsb" / "Jsb16thSeparated.json").write_text("")
    assert main(["data"]) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert set(data.SETS) < set(lines) and " there " in lines["jsb"] and " - " in lines["mrpc"] and str(tmp_path) in out
    assert main(["data", "jbs"]) == 1 and "unknown data set 'jbs'; choose from tiny" in capsys.readouterr().err


def test_the_table() -> None:
    files = [data.File(**file) for about in data.SETS.values() for file in about["files"]]
    places = list(itertools.chain.from_iterable(file.places(Path("all")) for file in files))
    assert len(set(places)) == len(places) and all(len(place.parts) == 3 for place in places)
    for file in files:
        assert file.address.startswith("https://") and file.size > 0 and len(bytes.fromhex(file.sha256)) == 32
        mine = Path(os.environ["MINIGRAD_DATA"], file.path)
        assert not mine.is_file() or sha256(mine.read_bytes()).hexdigest() == file.sha256
