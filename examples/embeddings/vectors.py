"""Word vectors: nearest words, analogies, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.viz.numbers import similar

Array = np.ndarray[Any, np.dtype[Any]]
Near = list[tuple[str, float]]  # words and their cosines, in descending order
ROWS = 4096  # questions per batch


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words as vectors: an array (V, D), float32, most frequent word first. Raises ValueError if words and vectors do
    not match, a number is not finite, or a word occurs twice."""

    words: tuple[str, ...]
    array: Array

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or len(self.words) != len(self.array) or not self.array.size:
            raise ValueError(f"{len(self.words):,} words need vectors of shape (V, D), not {self.array.shape}")
        if not np.isfinite(self.array).all():
            raise ValueError("a vector contains numbers that are not finite")
        if len(self.numbers) != len(self.words):
            raise ValueError("a word has two vectors")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The index of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def units(self) -> Array:
        """The vectors scaled to length 1 (V, D). Zero vectors stay zero."""
        lengths = np.linalg.norm(self.array, axis=1, keepdims=True)
        return self.array / np.where(lengths == 0, 1, lengths)

    def index(self, word: str) -> int:
        """The index of a word. Raises ValueError, listing similar words, if it is unknown."""
        if word not in self.numbers:
            raise ValueError(f"unknown word {word!r}{similar(word, self.words)}")
        return self.numbers[word]

    def nearest(self, word: str, count: int = 10) -> Near:
        """The other words with the largest cosine similarity to a word. Raises ValueError for an unknown word."""
        i = self.index(word)
        return self._near(self.units[i], [i], count)

    def analogy(self, a: str, b: str, c: str, count: int = 5) -> Near:
        """Answers to "a is to b as c to what?": the words, except these three, with the largest cosine to b − a + c
        (3CosAdd: Mikolov et al. 2013, arXiv 1301.3781, section 4). Raises ValueError for an unknown word."""
        one, two, three = map(self.index, (a, b, c))
        return self._near(self.units[two] - self.units[one] + self.units[three], [one, two, three], count)

    def answers(self, questions: Array, count: int = 5) -> Array:
        """The indices (Q, count) of the first ``count`` answers to analogies (Q, 3), which are word indices."""
        answered = []
        for start in range(0, len(questions), ROWS):
            part = questions[start : start + ROWS]
            a, b, c = (self.units[part[:, i]] for i in range(3))
            cosines = (b - a + c) @ self.units.T  # (rows, V), up to a factor per row
            np.put_along_axis(cosines, part, -np.inf, 1)
            answered.append(np.argsort(-cosines, axis=1, kind="stable")[:, :count])
        return np.concatenate(answered) if answered else np.zeros((0, count), np.int64)

    def _near(self, query: Array, without: Sequence[int], count: int) -> Near:
        cosines = np.clip(self.units @ (query / max(float(np.linalg.norm(query)), 1e-30)), -1, 1)
        order = [i for i in np.argsort(-cosines, kind="stable")[: count + len(without)].tolist() if i not in without]
        return [(self.words[i], float(cosines[i])) for i in order[:count]]

    def save(self, path: Path) -> None:
        """Write the words and the tensor (``mg.save``). Raises OSError if the file cannot be written."""
        mg.save({"words": list(self.words), "vectors": mg.tensor(self.array)}, path)

    @classmethod
    def load(cls, path: Path) -> Vectors:
        """Read a file from ``save``. Raises OSError if it cannot be read, and ValueError if it has another format."""
        if not path.is_file():
            raise FileNotFoundError(f"file not found: {path}")
        try:
            data = mg.load(path)
            return cls(tuple(data["words"]), data["vectors"].float().numpy())
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} does not contain word vectors: {error}") from error
