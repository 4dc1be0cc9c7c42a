"""Semantic search: finds the lines of a file whose sentence embeddings are nearest to the query's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minigrad.utils.bar import watched

from .bert import Bert
from .bert_data import lines
from .train_bert import length, minilm, pretrained

AT_ONCE = 1024  # lines per step of the progress bar
LONGEST = 256  # pieces of a line; MiniLM was trained with at most this many
Array = np.ndarray[Any, np.dtype[Any]]


class Near(NamedTuple):
    """A matching line, its cosine similarity with the query, and its line number, which starts at 1."""

    score: float
    number: int
    text: str


class Index:
    """The non-empty lines of a text file, and their embeddings (N, D) by the model in ``folder`` (None: MiniLM). The
    model reads at most ``longest`` pieces of a line (None: LONGEST; see ``length``). Raises OSError, ValueError or
    RuntimeError if the file or the model cannot be used."""

    def __init__(self, path: Path, folder: Path | None, longest: int | None = None) -> None:
        self.texts = [(number, line.strip()) for number, line in lines(path) if line.strip()]
        if not self.texts:
            raise ValueError(f"{path} has no text to search")
        self.model = pretrained(Bert, minilm() if folder is None else folder)
        self.longest = length(longest, LONGEST, self.model)
        self.model.tokenizer.encode_special_tokens = True  # "[SEP]" in a line is text
        texts = [text for _, text in self.texts]
        starts = watched(range(0, len(texts), AT_ONCE), "embedding")
        parts = [self.model.encode(texts[i : i + AT_ONCE], longest=self.longest).numpy() for i in starts]
        self.embeddings = np.concatenate(parts)

    def nearest(self, query: str, count: int) -> list[Near]:
        """The lines nearest to a query, with the nearest first. Raises ValueError for an empty query."""
        if not query.strip():
            raise ValueError("the query is empty")
        scores = self.embeddings @ self.model.encode([query], longest=self.longest).numpy()[0]
        best = np.argsort(-scores, kind="stable")[:count].tolist()
        return [Near(float(scores[i]), *self.texts[i]) for i in best]
