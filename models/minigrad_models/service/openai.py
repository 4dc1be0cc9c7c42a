"""OpenAI's API for a model on this machine, so that existing clients can use it: embeddings of texts, or completions
of prompts.

``GET /health``, ``/metrics`` (in Prometheus's text format) and ``/v1/models``; ``POST /v1/embeddings`` or
``/v1/completions``. An error is ``{"error": {"message": ..., "type": ...}}``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from . import http
from .batches import Batcher
from .http import body_of, object_of
from .refused import Refused

LONGEST_BODY = 4 << 20  # bytes
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)  # of batches, in the metrics


class Service(ABC):
    """A model with the address at which clients ask it. A question is ``abandoned`` (an Event) once nobody waits for
    its answer. ``size``, ``largest`` and ``key`` describe the batches; see ``Batcher``."""

    path: str
    largest: int

    @abstractmethod
    def read(self, content: Mapping[str, Any]) -> Any:
        """The question in a request. Raises Refused (400) if a parameter is invalid."""

    @abstractmethod
    def size(self, question: Any) -> int:
        """The size of a question."""

    def key(self, question: Any) -> Any:
        """Questions with equal keys can share a batch."""
        return None

    @abstractmethod
    def compute(self, questions: Sequence[Any]) -> list[Any]:
        """The answers to the questions in a batch, which have a ``usage``."""

    @abstractmethod
    def response(self, about: Mapping[str, Any], question: Any, answer: Any) -> dict[str, Any]:
        """The response to a question. ``about`` has its id, time and model."""

    def event(self, about: Mapping[str, Any], piece: tuple[int, str]) -> dict[str, Any]:
        """In a stream, the chunk for a piece of text."""
        raise NotImplementedError

    def last_events(self, about: Mapping[str, Any], question: Any, answer: Any) -> Iterator[dict[str, Any]]:
        """The last chunks of a stream."""
        raise NotImplementedError


class Server(http.Server):
    """The server for one model, under the name ``name``. For the other arguments and errors see ``http.Server``."""

    def __init__(self, service: Service, name: str, port: int = 8000, host: str = "127.0.0.1") -> None:
        self.service = service
        self.name, self.created, self.registry = name, int(time.time()), CollectorRegistry()
        self.batcher: Batcher[Any, Any] = Batcher(self._compute, service.size, service.largest, service.key)
        self.requests = Counter("minigrad_requests", "Requests by status", ["status"], registry=self.registry)
        seconds = "Time until the end of a response"
        self.seconds = Histogram("minigrad_request_seconds", seconds, registry=self.registry)
        self.batches = Histogram("minigrad_batch_size", "Requests per batch", buckets=SIZES, registry=self.registry)
        self.tokens = Counter("minigrad_tokens", "Tokens read and generated", ["kind"], registry=self.registry)
        waiting = Gauge("minigrad_waiting_requests", "Requests that wait for a batch", registry=self.registry)
        waiting.set_function(lambda: len(self.batcher.waiting))
        routes = [
            Route("/health", self._health),
            Route("/metrics", self._metrics),
            Route("/v1/models", self._models),
            Route(service.path, self._call, methods=["POST"]),
        ]
        super().__init__(routes, port, host, HEADERS)

    def error(self, status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
        return self.json(_error(status, message), status, headers)

    async def _health(self, request: Request) -> Response:
        return self.json({"status": "ok", "model": self.name})

    async def _metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.registry), 200, self.headers, "text/plain; version=0.0.4")

    async def _models(self, request: Request) -> Response:
        model = {"id": self.name, "object": "model", "created": self.created, "owned_by": "minigrad"}
        return self.json({"object": "list", "data": [model]})

    async def _call(self, request: Request) -> Response:
        """Answer a request, and count it."""
        start = time.perf_counter()
        try:
            response = await self._answer(request, start)
        except Refused as refused:
            response = self._refused(request, refused)
        if not isinstance(response, StreamingResponse):
            self._count(response.status_code, start)
        return response

    def _count(self, status: int, start: float) -> None:
        self.requests.labels(status).inc()
        self.seconds.observe(time.perf_counter() - start)

    async def _answer(self, request: Request, start: float) -> Response:
        content = object_of(request, await body_of(request, LONGEST_BODY))
        if (name := content.pop("model", None)) != self.name:
            raise Refused(404, f"There is no model {name!r} here, only {self.name!r}.")
        question = self.service.read(content)
        about = {"id": f"cmpl-{uuid4().hex}", "created": int(time.time()), "model": self.name}
        if getattr(question, "stream", False):
            return StreamingResponse(self._events(about, question, start), 200, self.headers, "text/event-stream")
        asked = asyncio.create_task(self.batcher.ask(question))
        while not (await asyncio.wait([asked], timeout=1.0))[0]:
            if await request.is_disconnected():
                question.abandoned.set()
                asked.cancel()
        try:
            answer = await asked
        except asyncio.CancelledError:
            raise Refused(499, "The client closed the connection.") from None
        return self.json(self.service.response(about, question, answer))

    async def _events(self, about: Mapping[str, Any], question: Any, start: float) -> AsyncIterator[str]:
        """The server-sent events of a completion, while it is generated."""
        pieces: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        loop, status = asyncio.get_running_loop(), 200
        question.emit = lambda *piece: loop.call_soon_threadsafe(pieces.put_nowait, piece)
        asked = asyncio.create_task(self.batcher.ask(question))
        asked.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield _event(self.service.event(about, piece))
            for last in self.service.last_events(about, question, asked.result()):
                yield _event(last)
            yield "data: [DONE]\n\n"
        except Refused as refused:
            status = refused.status
            yield _event(_error(status, refused.message))
        finally:
            question.abandoned.set()
            asked.cancel()
            self._count(status, start)

    def _compute(self, questions: list[Any]) -> list[Any]:
        self.batches.observe(len(questions))
        try:
            answers = self.service.compute(questions)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            raise Refused(500, "The model failed inside the program; its terminal shows the error.") from None
        for kind, count in (("read", "prompt_tokens"), ("generated", "completion_tokens")):
            self.tokens.labels(kind).inc(sum(answer.usage.get(count, 0) for answer in answers))
        return answers


def _error(status: int, message: str) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
