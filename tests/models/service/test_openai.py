"""The service with OpenAI's API: its answers, batches, streams, metrics, and the requests that it refuses."""

import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.bert.bert import Bert, Config
from minigrad_models.bert.serve import Embeddings
from minigrad_models.commands.serve import load
from minigrad_models.gpt.gpt2 import GPT2, Config as GPTConfig
from minigrad_models.gpt.gpt_run import Trained
from minigrad_models.gpt.serve import Completions
from minigrad_models.gpt.tokens import Characters
from minigrad_models.service import batches
from minigrad_models.service.openai import Server
from tests.models.bert.test_bert import tokenizer
from tests.support.parity import assert_close
from tests.support.ranks import until

ALPHABET = "abcde \n"


def bert() -> Bert:
    mg.manual_seed(0)
    model = Bert(Config(9, 16, 8, 2, 2)).eval()
    model.tokenizer = tokenizer()
    return model


def gpt() -> Trained:
    mg.manual_seed(0)
    return Trained(GPT2(GPTConfig(7, 12, 8, 2, 2)).eval(), Characters(ALPHABET), None)


@contextmanager
def served(service: Any) -> Iterator[Server]:
    with Server(service, "small", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def embedder() -> Iterator[Server]:
    with served(Embeddings(bert())) as server:
        yield server


@pytest.fixture
def writer() -> Iterator[Server]:
    with served(Completions(gpt())) as server:
        yield server


def sent(server: Server, body: bytes | None, path: str = "", kind: str = "application/json") -> Any:
    """Send a request; returns the open response."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    method = "GET" if body is None else "POST"
    connection.request(method, path or server.service.path, body, {"Content-Type": kind})
    return connection.getresponse()


def ask(server: Server, **content: Any) -> tuple[int, Any]:
    """The status and content of a response."""
    response = sent(server, json.dumps({"model": "small", **content}).encode())
    return response.status, json.loads(response.read())


def test_embeddings_are_the_models_own(embedder: Server) -> None:
    texts = ["a b c", "d", "e e e e"]
    status, answer = ask(embedder, input=texts)
    expected = bert().encode(texts)
    assert status == 200 and answer["object"] == "list" and answer["model"] == "small"
    assert [row["index"] for row in answer["data"]] == [0, 1, 2]
    assert_close(np.array([row["embedding"] for row in answer["data"]], "f4"), expected, 1e-6)
    assert answer["usage"] == {"prompt_tokens": 14, "total_tokens": 14}  # with [CLS] and [SEP]
    _, encoded = ask(embedder, input="a b c", encoding_format="base64", dimensions=8, user="me")
    assert_close(np.frombuffer(base64.b64decode(encoded["data"][0]["embedding"]), "<f4"), expected[0], 1e-6)


def test_completions_are_the_models_own(writer: Server) -> None:
    prompts = ["ab", "c"]
    ids = [[ALPHABET.index(letter) for letter in prompt] for prompt in prompts]
    expected = gpt().model.generate(ids, 20)  # beyond the context
    status, answer = ask(writer, prompt=prompts, max_tokens=20, temperature=0)
    assert status == 200 and answer["object"] == "text_completion"
    texts = ["".join(ALPHABET[i] for i in row) for row in expected]
    assert [choice["text"] for choice in answer["choices"]] == texts
    assert {choice["finish_reason"] for choice in answer["choices"]} == {"length"}
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 40, "total_tokens": 43}


def test_the_same_seed_gives_the_same_choices(writer: Server) -> None:
    rows = [ask(writer, prompt="a", n=3, max_tokens=8, seed=seed)[1]["choices"] for seed in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2] and len({choice["text"] for choice in rows[0]}) == 3


def chunks(response: Any) -> list[Any]:
    """The events of a stream, without the last one, [DONE]."""
    lines = response.read().decode().split("\n\n")
    assert response.headers["Content-Type"].startswith("text/event-stream") and lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def test_a_stream_has_the_text_of_the_whole_answer(writer: Server) -> None:
    content = {"model": "small", "prompt": "ab", "max_tokens": 20, "temperature": 0}
    _, whole = ask(writer, **content)
    more = {"stream": True, "stream_options": {"include_usage": True}}
    *pieces, last, usage = chunks(sent(writer, json.dumps(content | more).encode()))
    assert len(pieces) > 10 and all(piece["choices"][0]["finish_reason"] is None for piece in pieces)
    assert "".join(piece["choices"][0]["text"] for piece in pieces) == whole["choices"][0]["text"]
    assert last["choices"][0]["finish_reason"] == "length" and usage["usage"] == whole["usage"]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_text_ends_before_a_stop_sequence(length: int, writer: Server) -> None:
    """The stream never has a part of the sequence."""
    _, whole = ask(writer, prompt="ab", max_tokens=20, temperature=0)
    text = whole["choices"][0]["text"]
    stop = text[5 : 5 + length]
    content = {"prompt": "ab", "max_tokens": 20, "temperature": 0, "stop": ["zzzz", stop]}
    (choice,) = ask(writer, **content)[1]["choices"]
    assert choice["text"] == text[: text.index(stop)] and choice["finish_reason"] == "stop"
    streamed = chunks(sent(writer, json.dumps({"model": "small", "stream": True, **content}).encode()))
    assert "".join(piece["choices"][0]["text"] for piece in streamed) == choice["text"]


def test_requests_that_arrive_during_a_batch_form_the_next_one(embedder: Server) -> None:
    busy, sizes, compute = threading.Lock(), [], embedder.service.compute

    def watched(questions: list[Any]) -> Any:
        sizes.append(len(questions))
        with busy:
            return compute(questions)

    embedder.service.compute = watched
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda i=i: answers.append((i, ask(embedder, input="abcde"[i])))) for i in range(5)
    ]
    with busy:
        threads[0].start()
        until(lambda: sizes == [1], "the first batch")
        for thread in threads[1:]:
            thread.start()
        until(lambda: len(embedder.batcher.waiting) == 4, "the other requests")
    for thread in threads:
        thread.join()
    assert sizes == [1, 4]
    for i, (status, answer) in answers:
        assert status == 200
        assert_close(np.array(answer["data"][0]["embedding"], "f4"), bert().encode("abcde"[i])[0], 1e-6)


def test_different_sampling_parameters_do_not_share_a_batch(writer: Server) -> None:
    read, service = writer.service.read, writer.service
    questions = [read({"prompt": "a", "temperature": t}) for t in (0, 0, 1)] + [read({"prompt": "a", "seed": 1})]
    keys = [service.key(question) for question in questions]
    assert keys[0] == keys[1] and len(set(keys)) == 3
    assert service.size(questions[0]) == 17


def test_too_many_or_too_long_waiting_requests_are_refused(embedder: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_WAITING", 0)
    status, answer = ask(embedder, input="a")
    assert status == 503 and answer["error"]["type"] == "server_error"
    monkeypatch.setattr(batches, "MOST_WAITING", 10)
    monkeypatch.setattr(batches, "LONGEST_WAIT", -1.0)
    assert ask(embedder, input="a")[0] == 503
    monkeypatch.setattr(batches, "LONGEST_WAIT", 60.0)
    assert ask(embedder, input="a")[0] == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_closed_connection_ends_the_generation(stream: bool, writer: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request does not wait for 4,096 tokens, which would take 40 s here."""
    begun, ended, counts = threading.Event(), threading.Event(), []

    def slow(model: Any, prompts: Any, limits: Any, config: Any, end: Any, add: Any) -> None:
        begun.set()
        try:
            for i in range(limits[0]):
                counts.append(i)
                time.sleep(0.01)
                add(0, 1)
        finally:
            ended.set()

    monkeypatch.setattr("minigrad_models.gpt.serve.generate", slow)
    body = json.dumps({"model": "small", "prompt": "a", "max_tokens": 4096, "stream": stream}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", writer.server_port, timeout=60)
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    assert begun.wait(60)
    connection.close()
    assert ended.wait(60) and len(counts) < 4096


def test_an_error_of_the_model_is_reported_without_its_text(
    embedder: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(questions: list[Any]) -> Any:
        raise KeyError("secret")

    embedder.service.compute = broken
    status, answer = ask(embedder, input="a")
    assert status == 500 and "terminal" in answer["error"]["message"] and "secret" not in str(answer)
    assert "KeyError: 'secret'" in capsys.readouterr().err


def test_openais_client(embedder: Server, writer: Server) -> None:
    """Unmodified, with the address as its only setting. It asks for embeddings in Base64."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{embedder.url}v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["small"]
    answer = client.embeddings.create(model="small", input=["a b", "c"])
    assert_close(np.array([row.embedding for row in answer.data], "f4"), bert().encode(["a b", "c"]), 1e-6)
    with pytest.raises(openai.BadRequestError, match='"input" has an empty string'):
        client.embeddings.create(model="small", input="")
    with pytest.raises(openai.NotFoundError, match="There is no model"):
        client.embeddings.create(model="other", input="a")
    client = openai.OpenAI(base_url=f"{writer.url}v1", api_key="none", max_retries=0)
    whole = client.completions.create(model="small", prompt="ab", max_tokens=20, temperature=0)
    pieces = client.completions.create(model="small", prompt="ab", max_tokens=20, temperature=0, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == whole.choices[0].text
    assert whole.usage.total_tokens == 22 and whole.choices[0].finish_reason == "length"


EMBEDDING_ERRORS = [
    ({"model": "other"}, 404, "There is no model 'other' here, only 'small'."),
    ({}, 400, '"input" must be a string or a list of strings.'),
    ({"input": []}, 400, '"input" must be'),
    ({"input": [[1, 2]]}, 400, '"input" must be'),
    ({"input": ["a", ""]}, 400, '"input" has an empty string, at index 1.'),
    ({"input": "\ud800"}, 400, "lone surrogate"),
    ({"input": ["a"] * 2049}, 400, '"input" has 2,049 strings; the limit is 2,048.'),
    ({"input": "a", "dimensions": 4}, 400, '"dimensions" is not supported'),
    ({"input": "a", "encoding_format": "hex"}, 400, '"float" or "base64"'),
    ({"input": "a", "inptu": 1}, 400, 'Unknown parameter "inptu"'),
]
COMPLETION_ERRORS = [
    ({}, '"prompt" must be a string'),
    ({"prompt": "xyz"}, '"prompt" cannot be read: '),
    ({"prompt": "a" * 13}, '"prompt" has 13 tokens, but the model reads only 12.'),
    ({"prompt": "a", "max_tokens": 0}, '"max_tokens" must be an integer from 1 to 4,096.'),
    ({"prompt": "a", "max_tokens": 1.5}, '"max_tokens" must be an integer'),
    ({"prompt": "a", "max_tokens": True}, '"max_tokens" must be an integer'),
    ({"prompt": "a", "temperature": -1}, '"temperature" must be a number from 0 to 100.'),
    ({"prompt": "a", "top_p": 0}, '"top_p" must be a number'),
    ({"prompt": "a", "n": 17}, '"n" must be an integer from 1 to 16.'),
    ({"prompt": "a", "stream": 1}, '"stream" must be true or false.'),
    ({"prompt": "a", "stop": 3}, '"stop" must be'),
    ({"prompt": "a", "logprobs": 5}, '"logprobs" is not supported'),
    ({"prompt": "a", "echo": True}, '"echo" is not supported'),
]


@pytest.mark.parametrize(("content", "status", "message"), EMBEDDING_ERRORS)
def test_invalid_embedding_requests(content: Any, status: int, message: str, embedder: Server) -> None:
    answered, answer = ask(embedder, **content)
    assert answered == status and message in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("content", "message"), COMPLETION_ERRORS)
def test_invalid_completion_requests(content: Any, message: str, writer: Server) -> None:
    status, answer = ask(writer, **content)
    assert status == 400 and message in answer["error"]["message"]


def test_neutral_values_of_unsupported_parameters_are_accepted(writer: Server) -> None:
    neutral = {"echo": False, "logprobs": None, "presence_penalty": 0.0, "best_of": 1, "logit_bias": {}}
    assert ask(writer, prompt="a", **neutral)[0] == 200


def test_malformed_bodies(embedder: Server) -> None:
    for body, kind, status in (
        (b"{", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"model": "small", "input": "a"}', "text/plain", 415),
        (b" " * (4 * 1024 * 1024 + 1), "application/json", 413),
    ):
        response = sent(embedder, body, kind=kind)
        assert response.status == status and json.loads(response.read())["error"]["message"]


def test_health_models_metrics_and_other_addresses(embedder: Server) -> None:
    assert ask(embedder, input="a")[0] == 200 and ask(embedder)[0] == 400
    assert json.loads(sent(embedder, None, "/health").read()) == {"status": "ok", "model": "small"}
    assert [model["id"] for model in json.loads(sent(embedder, None, "/v1/models").read())["data"]] == ["small"]
    text = sent(embedder, None, "/metrics").read().decode()
    for line in (
        'minigrad_requests_total{status="200"} 1.0',
        'minigrad_requests_total{status="400"} 1.0',
        "minigrad_batch_size_count 1.0",
        'minigrad_tokens_total{kind="read"} 3.0',
        "minigrad_waiting_requests 0.0",
        "minigrad_request_seconds_count 2.0",
    ):
        assert line in text.splitlines()
    for path, body, status in (("/v1/embeddings", None, 405), ("/v1/completions", b"{}", 404), ("/", None, 404)):
        response = sent(embedder, body, path)
        assert response.status == status and json.loads(response.read())["error"]["message"]


def test_a_connection_serves_several_requests(embedder: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", embedder.server_port, timeout=60)
    for text in ("a", "b c"):
        body = json.dumps({"model": "small", "input": text})
        connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200 and not response.will_close
        response.read()
    connection.close()


def test_models_are_loaded_by_their_files(tmp_path: Any) -> None:
    model = bert()
    model.save_pretrained(tmp_path / "bert")
    service = load(str(tmp_path / "bert"))
    assert isinstance(service, Embeddings)
    assert_close(service.model.encode("a b"), model.encode("a b"), 0)
    trained = gpt()
    trained.model.tokenizer = trained.tokens.library()
    trained.model.save_pretrained(tmp_path / "gpt")
    assert isinstance(load(str(tmp_path / "gpt")), Completions)
    for name in ("bert", "gpt"):
        assert load(str(tmp_path / name), weights="int8").model.embedding.weight.dtype is mg.int8
    with pytest.raises(ValueError, match="int8 weights need a folder in transformers' format"):
        load(str(tmp_path), weights="int8")
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "none"))
