"""The page's server: its answers, the requests that it refuses, and how it starts and stops."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad_models.service import http as service
from minigrad_models.text import TokenizerPair, WordTokenizer
from minigrad_models.translation.serve.api import LONGEST_TEXT, WIDEST_BEAM, sentences, units
from minigrad_models.translation.serve.server import LONGEST_BODY, Server
from minigrad_models.translation.transformer import Config, Transformer
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Translator
from tests.support.cases import raises
from tests.support.ranks import begun, finished, until
from tests.support.translator import Drawn, Reversing, served

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "models" / "minigrad_models" / "translation" / "serve" / "page"


@pytest.fixture
def server() -> Iterator[Server]:
    with served(Reversing()) as running:
        yield running


class Answer:
    """Status, headers and body of an answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


REQUEST = (
    b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    b'{"text": "one"}'
)


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=60)


def ask(server: Server, method: str, path: str, body: bytes | None = None, headers: Any = None) -> Answer:
    """Send one request with a browser's headers; ``headers`` replaces some, or removes them (None)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    defaults: dict[str, str | None] = {"Host": f"127.0.0.1:{server.server_port}"}
    if body is not None:
        defaults |= {"Content-Length": str(len(body)), "Content-Type": "application/json"}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in (defaults | (headers or {})).items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def post(server: Server, path: str, **request: Any) -> Answer:
    return ask(server, "POST", path, json.dumps(request).encode())


def test_the_files_of_the_page_and_their_security_headers(server: Server) -> None:
    rows = [
        ("/", "html", b"<!doctype html>"),
        ("/page.css", "css", b"#map"),
        ("/base.css", "css", b"--paper:"),
        ("/dark.css", "css", b"color-scheme: dark"),
        ("/page.js", "javascript", b"import"),
        ("/attention.js", "javascript", b"AttentionView"),
        ("/text.js", "javascript", b"export"),
        ("/words.js", "javascript", b"Suggestions"),
        ("/icon.svg", "svg+xml", b"<svg"),
        ("/?text=x", "html", b"<!doctype html>"),
    ]
    for path, kind, inside in rows:
        answer, head = ask(server, "GET", path), ask(server, "HEAD", path)
        assert answer.status == head.status == 200 and inside in answer.body and head.body == b"", path
        assert answer.headers["Content-Type"].partition("/")[2] == f"{kind}; charset=utf-8", path
        assert head.headers["Content-Length"] == str(len(answer.body)), path
    for answer in (ask(server, "GET", "/"), ask(server, "GET", "/none"), post(server, "/translate", text="one")):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_the_page_has_no_external_links_and_makes_no_html_from_text() -> None:
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//\w+\.\w", text), path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", text), path.name
        assert not re.search(r"<script>|\bstyle=|\son\w+=", text), path.name  # the policy would forbid them


def test_the_description_of_the_model_and_its_decoding(server: Server) -> None:
    server.translator = Reversing(sentences=("one two.",), words="one two")
    about = {"source": "en", "target": "it", "parameters": 1100, "beam": 5, "mbr": False}
    about |= {"sentences": ["one two."], "words": ["one", "two"]}
    assert ask(server, "GET", "/about").json == about
    server.translator = Reversing(mbr=8.0)
    assert ask(server, "GET", "/about").json["mbr"] is True
    for beam, expected in ((1, 5), (4, 4), (50, WIDEST_BEAM)):  # the model's setting, or five
        server.translator = Reversing(beam=beam)
        assert ask(server, "GET", "/about").json["beam"] == expected
        (sentence,) = post(server, "/translate", text="one").json["sentences"]
        assert len(sentence["beam"]) == expected
    assert [h["score"] for h in sentence["beam"]][:6] == [-0.5, -1.5, -2.5, -3.5, None, None]  # JSON has no -inf


def test_a_sentence_with_its_translation_and_beam(server: Server) -> None:
    answer = post(server, "/translate", text="one  two zebra", beam=2)
    assert answer.status == 200 and answer.json["seconds"] >= 0
    first, second = {"text": "zebra two one", "score": -0.5}, {"text": "zebra two one 1", "score": -1.5}
    about = {"line": 0, "source": "one two zebra", "notes": ["the model has never seen: zebra"]}
    assert answer.json["sentences"] == [{**about, **first, "beam": [first, second]}]


def test_a_text_is_translated_sentence_by_sentence(server: Server) -> None:
    text = "One two. Three four!\n\n日本 🍅 <b>&amp; \u202eabc ça"
    sentences = post(server, "/translate", text=text).json["sentences"]
    assert [(s["line"], s["text"]) for s in sentences[:2]] == [(0, "two. One"), (0, "four! Three")]
    assert sentences[2]["line"] == 2 and sentences[2]["source"] == text.splitlines()[2]


def test_attention_by_token_and_by_word(server: Server) -> None:
    source, target = "tomatoes are red", "red are tomatoes"
    answer = post(server, "/attention", source=source, target=target).json
    assert [unit["text"] for unit in answer["source"]["tokens"]] == ["toma", "toes", "are", "red", "end"]
    assert answer["source"]["words"] == [
        {"before": "", "text": "tomatoes", "tokens": [0, 1]},
        {"before": " ", "text": "are", "tokens": [2]},
        {"before": " ", "text": "red", "tokens": [3]},
        {"before": " ", "text": "end", "tokens": [4]},
    ]
    assert [unit["tokens"] for unit in answer["target"]["words"]] == [[0], [1], [2, 3], [4]]
    expected = Reversing().attention(source, target).weights
    np.testing.assert_allclose(answer["weights"], expected, atol=5.1e-5)
    assert post(server, "/attention", source="one").status == 400
    long = post(server, "/attention", source="x " * 420, target="x " * 420)
    assert long.status == 422 and "421 × 421 tokens" in long.json["error"]


def test_the_page_of_attention_and_graph(server: Server) -> None:
    """The page is self-contained: its scripts are inline, and cannot act on behalf of this server."""
    answer = ask(server, "GET", "/linked?text=one+two%3F&beam=3")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"<p>two? one, 3</p>" in answer.body
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts") and "allow-same-origin" not in policy
    assert "frame-ancestors 'none'" in policy and answer.headers["X-Content-Type-Options"] == "nosniff"
    assert b", 5</p>" in ask(server, "GET", "/linked?text=one").body


def test_pages_that_cannot_be_drawn(server: Server) -> None:
    assert isinstance(server.translator, Reversing)
    answer = ask(server, "GET", "/linked?text=one", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403 and server.translator.asked == []
    rows = [
        ("", 400, '"text" must be'),
        ("?text=one&beam=x", 400, '"beam" must be'),
        ("?text=one&beam=21", 400, '"beam" must be'),
        ("?text=forbidden", 422, "forbidden word"),
        ("?text=" + "one+" * 50, 422, "too long to draw its graph: 102 tokens"),
    ]
    for query, status, message in rows:
        answer = ask(server, "GET", "/linked" + query)
        assert answer.status == status and message in answer.json["error"], query


def test_texts_that_cannot_be_translated(server: Server) -> None:
    rows: list[tuple[dict[str, Any], int, str]] = [
        ({"text": ""}, 422, "empty"),
        ({"text": " \n\t"}, 422, "empty"),
        ({"text": "x" * (LONGEST_TEXT + 1)}, 422, "5,001 characters; the limit is 5,000"),
        ({"text": "x\n" * 101}, 422, "101 sentences; the limit is 100"),
        ({"text": "a forbidden word"}, 422, "the sentence has a forbidden word"),
        ({"text": "\ud800"}, 400, "surrogate"),
        ({"text": 5}, 400, '"text" must'),
        ({}, 400, '"text" must'),
        *(({"text": "one", "beam": beam}, 400, "1 to 20") for beam in (0, 21, True, "5")),
    ]
    for request, status, message in rows:
        answer = post(server, "/translate", **request)
        assert answer.status == status and message in answer.json["error"], request
    assert post(server, "/translate", text="one").status == 200


def test_bodies_that_are_refused(server: Server) -> None:
    """Bodies that are not a JSON object, are too long, or have no Content-Length."""
    deep, digits = b"[" * 60_000, b'{"text": ' + b"9" * 9000 + b"}"
    for body in (b"", b"{", b"text=one", b"[1]", b'"text"', b"\xff\xfe", deep, digits):
        answer = ask(server, "POST", "/translate", body)
        assert answer.status == 400 and "JSON" in answer.json["error"], body[:20]
    answer = ask(server, "POST", "/translate", json.dumps({"text": "x" * LONGEST_BODY}).encode())
    assert answer.status == 413 and "65,536" in answer.json["error"]
    for length in (None, "-1", "x"):
        assert ask(server, "POST", "/translate", b"", {"Content-Length": length}).status == 400, length


def test_other_addresses_and_methods(server: Server) -> None:
    for path in ("/none", "/../server.py", "/page/page.html", "/page.css/", "/%2e%2e/api.py"):
        assert ask(server, "GET", path).status == ask(server, "POST", path, b"{}").status == 404, path
    rows = {"POST": "GET /translate; HEAD /attention; PUT /translate; OPTIONS /translate"}
    rows |= {"GET, HEAD": "POST /; DELETE /about; PATCH /page.js; POST /linked"}
    for allowed, requests in rows.items():
        for method, path in map(str.split, requests.split("; ")):
            answer = ask(server, method, path, b"{}" if method == "POST" else None)
            assert (answer.status, answer.headers["Allow"]) == (405, allowed), (method, path)
    assert "error" in ask(server, "NONESUCH", "/").json


def test_an_unknown_host_name_is_refused(server: Server) -> None:
    own = f"localhost:{server.server_port}", "127.0.0.1", f"[::1]:{server.server_port}", "localhost:9000"
    foreign = f"evil.example:{server.server_port}", "127.0.0.1.evil.example", "localhost.evil.example"
    for name in (*own, *foreign, "", None, "[::1", "evil.example@127.0.0.1", "127.0.0.1/"):
        status = 200 if name in own else 400 if name is None else 403  # HTTP/1.1 requires a host name
        for path in ("/", "/about"):
            assert ask(server, "GET", path, headers={"Host": name}).status == status, (name, path)
        assert ask(server, "POST", "/translate", b'{"text": "one"}', {"Host": name}).status == status, name


def test_pages_of_other_sites_cannot_send_requests(server: Server) -> None:
    rows = [
        ("Origin", f"http://127.0.0.1:{server.server_port}", 200),
        ("Origin", f"http://localhost:{server.server_port}", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Origin", f"https://127.0.0.1:{server.server_port}", 403),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Sec-Fetch-Site", "same-origin", 200),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "same-site", 403),
        ("Content-Type", "application/json; charset=utf-8", 200),
        ("Content-Type", "text/plain", 415),
        ("Content-Type", None, 415),
        ("Content-Type", "application/x-www-form-urlencoded", 415),
    ]
    for name, value, status in rows:
        assert ask(server, "POST", "/translate", b'{"text": "one"}', {name: value}).status == status, (name, value)


def test_a_bug_is_printed_on_the_terminal_but_not_sent(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    answer = post(server, "/translate", text="a bug")
    assert answer.status == 500 and "secret" not in answer.json["error"]
    assert "KeyError: 'secret'" in capsys.readouterr().err
    assert post(server, "/translate", text="one").status == 200


def test_requests_of_disconnected_clients_are_dropped(server: Server) -> None:
    translator = server.translator = Reversing()
    waiting = {}
    with translator.busy:  # a translation is running, and others wait
        for text in ("first", "gone", "stays", "gone too"):
            waiting[text] = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
            body = json.dumps({"text": text})
            waiting[text].request("POST", "/translate", body, {"Content-Type": "application/json"})
            until(lambda: bool(translator.asked), "the first translation")
        assert ask(server, "GET", "/about").status == 200  # so the requests before it have been accepted
        for text in ("gone", "gone too"):
            waiting[text].close()
        until(lambda: len(server._server.server_state.connections) == 2, "the server knows who has gone")
    assert Answer(waiting["stays"].getresponse()).json["sentences"][0]["text"] == "stays"
    for text in ("first", "stays"):
        waiting[text].close()
    assert translator.asked == ["first", "stays"]


def test_early_disconnects_do_no_harm(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"
    for data, resets in ((b"", False), (head, False), (b"G", True), (b"GET / HTTP/1.1\r\nHost", True), (head, True)):
        with connected(server) as connection:
            connection.sendall(data)
            if resets and os.name == "posix":  # closes with a reset
                until(lambda: len(server._server.server_state.connections) == 1, "the connection")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: not server._server.server_state.connections, "the end of the request")
    assert post(server, "/translate", text="one").status == 200
    assert capsys.readouterr().err == ""


def test_a_request_sent_byte_by_byte_times_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout is for the whole request or body, not for each byte."""
    monkeypatch.setattr(service, "PATIENCE", 0.3)
    for head in (b"", REQUEST.partition(b"{")[0]):
        deadline = time.monotonic() + 30
        with connected(server) as connection, pytest.raises(OSError):
            connection.sendall(head)
            while time.monotonic() < deadline:
                connection.sendall(b" ")
                time.sleep(0.02)


def test_a_client_that_does_not_read_the_answer_times_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE", 0.3)
    server.translator.linked = lambda translation: Drawn("x" * (1 << 26))
    with connected(server) as connection:
        connection.sendall(b"GET /linked?text=one HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.recv(1)
        until(lambda: not server._server.server_state.connections, "the end of the connection")


def test_invalid_requests_are_answered_at_once_with_a_status(server: Server) -> None:
    """The client keeps the connection open and waits."""
    for data in (
        b"GET /\r\n\r\n",
        b"POST /translate\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET / HTTP/one\r\n\r\n",
        b"GET / and more HTTP/1.1\r\n\r\n",
        bytes(range(256)),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x07" * 200,  # TLS: an endless line
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000,
        b"GET /" + b"x" * 70_000,
    ):
        with connected(server) as connection:
            connection.sendall(data)
            answer = connection.makefile("rb").readline()
        assert answer.startswith(b"HTTP/1.1 400 "), (data[:30], answer)


def test_slow_clients_do_not_block_others(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = [connected(server) for _ in range(200)]
    for connection in waiting:
        connection.sendall(b"G")
    assert post(server, "/translate", text="one").status == 200
    for connection in waiting:
        connection.close()
    assert capsys.readouterr().err == ""


def test_many_requests_wait_for_the_model_and_more_are_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minigrad_models.translation.serve.server.MOST_WAITING", 40)
    translator = server.translator = Reversing(seconds=0.001)
    waiting = [http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60) for _ in range(41)]
    with translator.busy:
        for connection in waiting:  # one at the model, 40 in the queue
            connection.request("POST", "/translate", '{"text": "one"}', {"Content-Type": "application/json"})
            until(lambda: bool(translator.asked), "the first request, at the model")
        until(lambda: server.waiting == 40, "all requests, read")
        assert post(server, "/translate", text="one").status == 503
        assert ask(server, "GET", "/about").status == 200
    assert [Answer(connection.getresponse()).status for connection in waiting] == [200] * len(waiting)
    assert translator.most_at_work == 1  # one at a time
    for connection in waiting:
        connection.close()


def test_addresses_that_cannot_be_served(server: Server) -> None:
    port = server.server_port
    raises(OSError, rf"^port {port} of 127.0.0.1 is in use.*--port \d+.*--port 0", lambda: Server(Reversing(), port))
    for wrong in (-1, 65536):
        with pytest.raises(ValueError, match=f"no port {wrong}"):
            Server(Reversing(), wrong)
    raises(OSError, r"cannot listen on 192\.0\.2\.1, port 0", lambda: Server(Reversing(), 0, "192.0.2.1"))


def test_it_prints_its_address_and_ctrl_c_stops_it(tmp_path: Path) -> None:
    program = (
        "from minigrad_models.translation.serve.server import Server\n"
        "from tests.support.translator import Reversing\n"
        "raise SystemExit(Server(Reversing(), port=0).run('The translator'))"
    )
    process = begun([sys.executable, "-c", program], tmp_path)
    assert process.stdout
    url = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    assert url
    connection = http.client.HTTPConnection("127.0.0.1", int(url[1]), timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    process.send_signal(signal.SIGINT)
    ran = finished(process)
    assert ran.status == 0 and "ended" in ran.out and ran.err == ""


def test_sentence_boundaries() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("", []),
        (" \n ", []),
        ("one", ["one"]),
        ("One. Two", ["One.", "Two"]),
        (
            "He said “Go!” Then he went...  Élan? «Oui.» 3 cats.",
            ["He said “Go!”", "Then he went...", "Élan?", "«Oui.»", "3 cats."],
        ),
        ("Mr. Smith met J. R. Brown.", ["Mr. Smith met J. R. Brown."]),
        ("about 3.5 km, i.e. far.", ["about 3.5 km, i.e. far."]),
        ("Yahoo! is a word", ["Yahoo! is a word"]),
        ("一。二。", ["一。", "二。"]),
        ("a\r\nb\u2028c", ["a", "b", "c"]),
        ("?!... . .", ["?!... . ."]),
        ("Am 3. Mai kam er. Am 14. ging er.", ["Am 3. Mai kam er.", "Am 14. ging er."]),
        ("vom 3.–5. Mai (am 7. Tag)", ["vom 3.–5. Mai (am 7. Tag)"]),
        (
            "Born in 1990. Paid 3.50. Got $5. Left at 12:30. Done",
            ["Born in 1990.", "Paid 3.50.", "Got $5.", "Left at 12:30.", "Done"],
        ),
        ("See Fig. 3 and Eq. (2).", ["See Fig. 3 and Eq. (2)."]),
        ("Apple Inc. Chief Cook et al. (2017) agree.", ["Apple Inc. Chief Cook et al. (2017) agree."]),
        ("A config. Then a duet al. fresco.", ["A config.", "Then a duet al. fresco."]),
        ("Он ушёл... и пришёл. Она тоже. ώς.", ["Он ушёл... и пришёл.", "Она тоже. ώς."]),
        ("Ça va? “Ёлка!” Ελλάδα. 東京.", ["Ça va?", "“Ёлка!”", "Ελλάδα.", "東京."]),
    ]
    for text, expected in rows:
        assert [sentence.text for sentence in sentences(text)] == expected


def test_tokens_are_matched_to_words() -> None:
    rows: list[tuple[list[str], str, list[str]]] = [
        (["▁I", "▁like", "▁to", "ma", "toes", "."], "I like tomatoes.", ["I", "like", "tomatoes", "."]),
        (["i", "like", "tomatoes", "."], "I like tomatoes.", ["I", "like", "tomatoes", "."]),  # case
        ([" it", "'", "s", " (", "3", ".", "5", ")"], "it's (3.5)", ["it's", "(", "3.5", ")"]),
        (["<unk>", "like", "<unk>", "."], "We like zebras.", ["We", "like", "zebras", "."]),
        (["<unk>", "<unk>", "cats"], "big fat cats", ["big", "fat", "cats"]),
        (["<unk>", "a"], "bazaar a", ["bazaar", "a"]),
        (["␣", "cat"], "cat", ["cat"]),
        (["▁", "ca", "t"], "cat", ["cat"]),
        (["x", "y"], "", ["x"]),
        ([], "", []),
        (["one"], "one two", ["one"]),
        (["🍅", "é"], "🍅 é", ["🍅", "é"]),
    ]
    for tokens, text, expected in rows:
        pieces, words = units([*tokens, "⟨end⟩"], text)
        assert [word.text for word in words] == [*expected, "end"]
        for kind in (pieces, words):
            assert [i for unit in kind for i in unit.tokens] == list(range(len(tokens) + 1)), tokens
        assert len(pieces) == len(tokens) + 1
        assert text.startswith("".join(word.before + word.text for word in words[:-1])) or not text, tokens


def test_with_a_model(server: Server) -> None:
    words = WordTokenizer(["A", "cat", "sat", "sat.", "sat!", "it"])
    model = Transformer(Config(len(words), 8, 2, 2, 16, 0.0, 32)).eval()  # untrained
    translator = server.translator = Translator(model, TokenizerPair(words, words), preset("toy"))
    answer = post(server, "/translate", text="A cat sat. A zebra sat!", beam=3)
    assert answer.status == 200
    (first, second) = answer.json["sentences"]
    (translation,) = translator.translate([first["source"]], beam=3)
    expected = [(h.text, pytest.approx(h.score, abs=1e-4)) for h in translation.beam]
    assert [(h["text"], h["score"]) for h in first["beam"]] == expected
    assert first["text"] == translation.text and "zebra" in second["notes"][0]
    for one in (first, second):
        answer = post(server, "/attention", source=one["source"], target=one["text"])
        assert answer.status == 200
        assert [unit["text"] for unit in answer.json["source"]["words"]][:-1] == one["source"].split()
        shape = np.shape(answer.json["weights"])
        assert shape == (2, 2, len(answer.json["target"]["tokens"]), len(answer.json["source"]["tokens"]))
        np.testing.assert_allclose(np.sum(answer.json["weights"], -1), 1, atol=1e-3)
    parameters = sum(p.numel() for p in translator.model.parameters())
    about = {"source": "en", "target": "it", "parameters": parameters, "beam": 5, "mbr": False}
    about |= {"sentences": [], "words": []}
    assert ask(server, "GET", "/about").json == about

    linked = ask(server, "GET", "/linked?text=A+cat+sat.&beam=2")
    assert linked.status == 200 and b"new Linked(" in linked.body
