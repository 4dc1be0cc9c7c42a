"""Batches of requests that arrive at about the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from anyio.to_thread import run_sync

from .refused import Refused

LONGEST_WAIT = 120.0  # seconds that a question waits for earlier batches
MOST_WAITING = 1000  # questions
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Waiting(NamedTuple):
    """A question, the future of its answer, and when it arrived."""

    question: Any
    answer: asyncio.Future[Any]
    since: float


class Batcher(Generic[Question, Answer]):
    """Computes one batch at a time in a thread. The questions that arrive meanwhile wait, and form the next batches.

    Args:
        compute: maps the questions in a batch to their answers.
        size: the size of a question; a batch with several questions has at most the size ``largest``.
        key: questions in a batch have equal keys.
    """

    def __init__(
        self,
        compute: Callable[[list[Question]], list[Answer]],
        size: Callable[[Question], int],
        largest: int,
        key: Callable[[Question], Any],
    ) -> None:
        self.compute, self.size, self.largest, self.key = compute, size, largest, key
        self.waiting: list[Waiting] = []
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """The answer to a question. If the caller is cancelled before the question's batch begins, it is not computed.
        Raises Refused (503) if too many questions wait, or this one waited for too long, and the errors of
        ``compute``."""
        if len(self.waiting) >= MOST_WAITING:
            raise Refused(503, "Too many requests at once. Try again later.")
        waiting = Waiting(question, asyncio.get_running_loop().create_future(), time.monotonic())
        self.waiting.append(waiting)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        answer: Answer = await waiting.answer
        return answer

    async def _work(self) -> None:
        while batch := self._next():
            try:
                answers = await run_sync(self.compute, [one.question for one in batch], abandon_on_cancel=True)
            except Exception as error:
                for one in batch:
                    if not one.answer.done():
                        one.answer.set_exception(error)
                continue
            for one, answer in zip(batch, answers, strict=True):
                if not one.answer.done():
                    one.answer.set_result(answer)

    def _next(self) -> list[Waiting]:
        """Remove the next batch from the queue: the first question, and later ones that fit."""
        batch: list[Waiting] = []
        rest, total, late = [], 0, time.monotonic() - LONGEST_WAIT
        for one in self.waiting:
            if one.answer.done():
                continue
            if one.since < late:
                one.answer.set_exception(Refused(503, "The model is busy with other requests. Try again later."))
                continue
            size = self.size(one.question)
            if batch and (total + size > self.largest or self.key(one.question) != self.key(batch[0].question)):
                rest.append(one)
                continue
            batch.append(one)
            total += size
        self.waiting = rest
        return batch
