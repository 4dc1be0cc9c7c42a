"""Completions of prompts by GPT: the requests and responses of ``/v1/completions``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import minigrad as mg

from ..generation.generate import GenerationConfig, generate
from ..service.openai import Service
from ..service.parameters import check_names, flag, number, texts
from ..service.refused import Refused
from ..text.subwords import load_library
from .gpt_run import Trained

MOST_PROMPTS, MOST_CHOICES, MOST_STOPS = 64, 16, 16
MOST_TOKENS = 4096  # to generate for a prompt
MANY = 1 << 20  # the largest top_k
KNOWN = "prompt", "max_tokens", "temperature", "top_p", "top_k", "repetition_penalty", "n", "stop", "seed", "stream"
NEUTRAL: dict[str, list[Any]] = {"echo": [False], "suffix": [""], "logprobs": [], "logit_bias": [{}], "best_of": [1]}
NEUTRAL |= {"presence_penalty": [0], "frequency_penalty": [0]}
Piece = tuple[int, str]  # the index of a choice, and text to append to it


@dataclass
class Question:
    """The choices to generate: a prompt (token ids) for each, and the parameters that they share."""

    prompts: list[list[int]]
    max_tokens: int
    config: GenerationConfig
    stop: tuple[str, ...]
    seed: int | None
    stream: bool
    with_usage: bool  # the last chunk of a stream has the numbers of tokens
    abandoned: Event = field(default_factory=Event)  # set once nobody waits for the answer
    emit: Callable[[int, str], Any] | None = None


@dataclass
class Answer:
    """The text of each choice, and why it ended: "stop" or "length"."""

    texts: list[str]
    reasons: list[str]
    usage: dict[str, int]


class Ended(Exception):
    """Nobody needs more tokens from a batch."""


class Choice:
    """A text during its generation. Characters that may begin a stop sequence are held back."""

    def __init__(self, question: Question, index: int, tokenizer: Any, end: int | None) -> None:
        self.question, self.index, self.tokenizer, self.end = question, index, tokenizer, end
        self.stream = load_library().decoders.DecodeStream(skip_special_tokens=True)
        self.text, self.reason, self.sent, self.count = "", "length", 0, 0

    @property
    def is_over(self) -> bool:
        ended = self.reason == "stop" or self.count == self.question.max_tokens
        return ended or self.question.abandoned.is_set()

    def add(self, token: int) -> None:
        """Append a token."""
        if self.is_over:
            return
        self.count += 1
        before = len(self.text)
        self.text += "" if token == self.end else self.stream.step(self.tokenizer, token) or ""
        longest = max(map(len, self.question.stop), default=1)
        places = (self.text.find(stop, max(0, before - longest + 1)) for stop in self.question.stop)
        stops = [place for place in places if place >= 0]
        self.text = self.text[: min(stops, default=None)]
        if token == self.end or stops:
            self.reason, longest = "stop", 1
        self.send(len(self.text) - longest + 1)

    def send(self, end: int) -> None:
        """Pass on the text up to an index."""
        if self.question.emit is not None and end > self.sent:
            self.question.emit(self.index, self.text[self.sent : end])
            self.sent = end


class Completions(Service):
    """Continues prompts. Text that outgrows the model's context continues from the most recent part of it."""

    path, largest = "/v1/completions", 8192  # tokens in a batch

    def __init__(self, trained: Trained) -> None:
        self.model, self.tokens = trained.model, trained.tokens
        self.tokenizer = trained.tokens.library()

    def read(self, content: Mapping[str, Any]) -> Question:
        check_names(content, (*KNOWN, "stream_options", "user"), NEUTRAL)
        prompts = [self.ids(text) for text in texts(content, "prompt", MOST_PROMPTS)]
        top_k, top_p = int(number(content, "top_k", 0, 0, MANY)), number(content, "top_p", 1.0, 0.001, 1)
        penalty = number(content, "repetition_penalty", 1.0, 0.01, 100)
        temperature = number(content, "temperature", 1.0, 0, 100)
        config = GenerationConfig(temperature, top_k or None, top_p if top_p < 1 else None, penalty)
        stop = () if content.get("stop") is None else tuple(texts(content, "stop", MOST_STOPS))
        seed = None if content.get("seed") is None else int(number(content, "seed", 0, 0, 2**63 - 1))
        usage = content.get("stream_options") or {}
        return Question(
            [ids for ids in prompts for _ in range(int(number(content, "n", 1, 1, MOST_CHOICES)))],
            int(number(content, "max_tokens", 16, 1, MOST_TOKENS)),
            config,
            stop,
            seed,
            flag(content, "stream"),
            isinstance(usage, dict) and flag(usage, "include_usage"),
        )

    def ids(self, text: str) -> list[int]:
        """The tokens of a prompt. Raises Refused (400) if the model has no token for a character, or too few
        positions."""
        try:
            ids = [int(i) for i in self.tokens.encode(text)]
        except ValueError as error:
            raise Refused(400, f'"prompt" cannot be read: {error}') from None
        if self.model.context is not None and len(ids) > self.model.context:
            raise Refused(400, f'"prompt" has {len(ids):,} tokens, but the model reads only {self.model.context:,}.')
        return ids

    def size(self, question: Question) -> int:
        """The tokens of all choices."""
        return sum(map(len, question.prompts)) + len(question.prompts) * question.max_tokens

    def key(self, question: Question) -> Any:
        """Questions with the same sampling parameters can share a batch, unless they have a seed."""
        return question.config if question.seed is None else id(question)

    def compute(self, questions: Sequence[Question]) -> list[Answer]:
        rows = [[Choice(q, i, self.tokenizer, self.tokens.end) for i in range(len(q.prompts))] for q in questions]
        choices = [choice for row in rows for choice in row]
        prompts = [ids for q in questions for ids in q.prompts]
        limits = [q.max_tokens for q in questions for _ in q.prompts]
        if questions[0].seed is not None:
            mg.manual_seed(questions[0].seed)

        def add(i: int, token: int) -> None:
            choices[i].add(token)
            if choices[i].is_over and all(choice.is_over for choice in choices):
                raise Ended

        with suppress(Ended):
            generate(self.model, prompts, limits, questions[0].config, self.tokens.end, add)
        return [self.answer(question, row) for question, row in zip(questions, rows, strict=True)]

    def answer(self, question: Question, choices: Sequence[Choice]) -> Answer:
        """The answer to a question, whose choices have ended."""
        for choice in choices:
            choice.send(len(choice.text))
        read, generated = sum(map(len, question.prompts)), sum(choice.count for choice in choices)
        usage = {"prompt_tokens": read, "completion_tokens": generated, "total_tokens": read + generated}
        return Answer([choice.text for choice in choices], [choice.reason for choice in choices], usage)

    def response(self, about: Mapping[str, Any], question: Question, answer: Answer) -> dict[str, Any]:
        rows = enumerate(zip(answer.texts, answer.reasons, strict=True))
        return {**self.chunk(about, [_choice(i, *row) for i, row in rows]), "usage": answer.usage}

    def chunk(self, about: Mapping[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
        """A completion with some choices, which is the whole response or a chunk of a stream."""
        return {**about, "object": "text_completion", "choices": choices}

    def event(self, about: Mapping[str, Any], piece: Piece) -> dict[str, Any]:
        return self.chunk(about, [_choice(*piece, None)])

    def last_events(self, about: Mapping[str, Any], question: Question, answer: Answer) -> Iterator[dict[str, Any]]:
        for i, reason in enumerate(answer.reasons):
            yield self.chunk(about, [_choice(i, "", reason)])
        if question.with_usage:
            yield {**self.chunk(about, []), "usage": answer.usage}


def _choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
    return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}
