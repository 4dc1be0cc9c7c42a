"""Sentence embeddings by BERT: the requests and responses of ``/v1/embeddings``."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from ..service.openai import Service
from ..service.parameters import check_names, texts
from ..service.refused import Refused
from .bert import Bert

MOST_TEXTS = 2048  # in a request, as in OpenAI's API
KNOWN = "input", "encoding_format", "dimensions", "user"


@dataclass
class Question:
    """The texts to embed, and whether the response encodes the numbers in Base64."""

    texts: list[str]
    is_base64: bool
    abandoned: Event = field(default_factory=Event)  # set once nobody waits for the answer


@dataclass
class Answer:
    """The embeddings (N, D) of the texts, in float32."""

    vectors: np.ndarray[Any, np.dtype[np.float32]]
    usage: dict[str, int]


class Embeddings(Service):
    """Embeds texts. The model reads at most as many tokens of a text as it has positions."""

    path, largest = "/v1/embeddings", 128  # texts in a batch

    def __init__(self, model: Bert) -> None:
        self.model = model
        model.tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def read(self, content: Mapping[str, Any]) -> Question:
        check_names(content, KNOWN, {"dimensions": [self.model.config.d_model]})
        kind = content.get("encoding_format") or "float"
        if kind not in ("float", "base64"):
            raise Refused(400, '"encoding_format" must be "float" or "base64".')
        return Question(texts(content, "input", MOST_TEXTS), kind == "base64")

    def size(self, question: Question) -> int:
        """The number of texts."""
        return len(question.texts)

    def compute(self, questions: Sequence[Question]) -> list[Answer]:
        ids = self.model.token_ids([text for question in questions for text in question.texts])
        vectors, answers, begin = self.model.encode_ids(ids).float().numpy(), [], 0
        for question in questions:
            end = begin + len(question.texts)
            count = sum(map(len, ids[begin:end]))
            answers.append(Answer(vectors[begin:end], {"prompt_tokens": count, "total_tokens": count}))
            begin = end
        return answers

    def response(self, about: Mapping[str, Any], question: Question, answer: Answer) -> dict[str, Any]:
        """The response to a question. Base64 encodes little-endian float32 numbers."""
        rows: list[Any] = answer.vectors.tolist()
        if question.is_base64:
            rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in answer.vectors]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return {"object": "list", "data": data, "model": about["model"], "usage": answer.usage}
