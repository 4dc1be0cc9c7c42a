"""Sentence embeddings over HTTP: many clients at once send single sentences to the service of ``minigrad serve``.

The server runs in a process of its own, once with minigrad's model and once with PyTorch's in the same service. Each
client keeps its connection open, and sends the next request as soon as it has the answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection

import numpy as np

from .process import ROOT, Answer, alternate, library_module, middle
from .sentences import LIBRARIES, sentences, theirs, weights
from .table import Table, ratio

CLIENTS, TEXTS = 64, 1000
BODY = {"Content-Type": "application/json"}


def serve(library: str) -> None:
    """Serve until stdin is closed. The first line on stdout is the port."""
    from minigrad_models.bert.serve import Answer as Vectors, Embeddings
    from minigrad_models.commands.serve import load
    from minigrad_models.service.openai import Server

    service: Embeddings = load("minilm")
    if library == "torch":
        encode = theirs(library_module("torch"), weights(), 32)
        service.compute = lambda questions: [  # type: ignore[method-assign]
            Vectors(row[None], {}) for row in encode([text for question in questions for text in question.texts])
        ]
    server = Server(service, "minilm", 0)
    print(server.server_port, flush=True)

    def end() -> None:
        sys.stdin.read()
        server.shutdown()

    threading.Thread(target=end, daemon=True).start()
    server.serve_forever()


def client(port: int, texts: list[str], until: float, times: list[float], faults: list[str]) -> None:
    """Send the texts in turn until a time, and record the times of all requests and the faults."""
    connection, count = HTTPConnection("127.0.0.1", port, timeout=60), 0
    while time.perf_counter() < until:
        body = json.dumps({"model": "minilm", "input": texts[count % len(texts)], "encoding_format": "base64"})
        start = time.perf_counter()
        connection.request("POST", "/v1/embeddings", body, BODY)
        response = connection.getresponse()
        content = response.read()
        times.append(time.perf_counter() - start)
        if response.status != 200 or len(json.loads(content)["data"][0]["embedding"]) != 2048:
            faults.append(content[:200].decode())
        count += 1


def load(library: str, seconds: float, clients: int = CLIENTS) -> Answer:
    """Requests per second, median and 99th percentile of the response times in ms, and the number of faults."""
    library_module("torch" if library == "torch" else "minigrad")
    command = [sys.executable, "-c", f"from benchmarks.serving import serve; serve({library!r})"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        port, texts = int(server.stdout.readline()), sentences(weights(), TEXTS)
        times: list[float] = []
        faults: list[str] = []
        for period in (2.0, seconds):  # the first is a warm-up
            times.clear()
            start = time.perf_counter()
            rest = (start + period, times, faults)
            turned = (texts[i:] + texts[:i] for i in range(clients))
            threads = [threading.Thread(target=client, args=(port, some, *rest)) for some in turned]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took = time.perf_counter() - start
        server.stdin.close()
    spread = {f"p{p}": float(np.percentile(times, p)) * 1000 for p in (50, 99)}
    return {"rate": len(times) / took, **spread, "faults": len(faults)}


def table(rounds: int, seconds: float) -> Table:
    """The table, with one row per library."""
    columns = ("model", "requests per second", "median ms", "99 % within (ms)", "faults", "rate over PyTorch's")
    digits = ("", ",.0f", ".0f", ".0f", ".0f", ".2f")
    result = Table(f"{CLIENTS} clients, single sentences, all-MiniLM-L6-v2", columns, digits)
    answers = alternate(LIBRARIES, rounds, lambda library: load(library, seconds), "serving")
    rates = {library: middle(answers[library], "rate") for library in LIBRARIES}
    for library in LIBRARIES:
        row = [middle(answers[library], name) for name in ("rate", "p50", "p99", "faults")]
        result.add(library, *row, ratio(rates[library], rates["torch"]))
    return result
