"""Vectors of words: which are near, what an analogy gives, and files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.viz.numbers import similar
from minigrad.viz.page import written

Array = np.ndarray[Any, np.dtype[Any]]
Near = list[tuple[str, float]]  # words and their cosines, falling
TEXT = ".txt"  # the ending of word2vec's text format
ROWS = 4096  # questions that are answered at a time


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words as vectors: array (V, D), float32; the most frequent word first.

    Raises:
        ValueError: the two do not fit, a number is not finite, or a word is there twice.
    """

    words: tuple[str, ...]
    array: Array

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or len(self.words) != len(self.array) or not self.array.size:
            raise ValueError(f"{len(self.words):,} words and vectors of shape {self.array.shape} do not fit: (V, D)")
        if not np.isfinite(self.array).all():
            raise ValueError("a vector has numbers that are not finite")
        if len(self.numbers) != len(self.words):
            raise ValueError("a word has two vectors")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The place of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def units(self) -> Array:
        """The vectors at length 1 (V, D); a vector of zeros stays one."""
        lengths = np.linalg.norm(self.array, axis=1, keepdims=True)
        units: Array = self.array / np.where(lengths == 0, 1, lengths)
        return units

    def index(self, word: str) -> int:
        """The place of a word. Raises ValueError: there is none; it names similar ones."""
        if word not in self.numbers:
            raise ValueError(f"there is no word {word!r}{similar(word, self.words)}")
        return self.numbers[word]

    def nearest(self, word: str, count: int = 10) -> Near:
        """The other words of the largest cosine with one. Raises ValueError: there is no such word."""
        i = self.index(word)
        return self._near(self.units[i], [i], count)

    def analogy(self, a: str, b: str, c: str, count: int = 5) -> Near:
        """What is to c as b is to a: the words, but these three, of the largest cosine with b − a + c, each at length 1
        (3CosAdd: Mikolov et al. 2013, arXiv 1301.3781, section 4). Raises ValueError: a word is missing."""
        one, two, three = map(self.index, (a, b, c))
        return self._near(self.units[two] - self.units[one] + self.units[three], [one, two, three], count)

    def answers(self, questions: Array, count: int = 5) -> Array:
        """The places of the first ``count`` answers to analogies (Q, 3) of places: (Q, count)."""
        answered = []
        for start in range(0, len(questions), ROWS):
            part = questions[start : start + ROWS]
            a, b, c = (self.units[part[:, i]] for i in range(3))
            cosines = (b - a + c) @ self.units.T  # (rows, V), up to a factor of the row
            np.put_along_axis(cosines, part, -np.inf, 1)
            answered.append(np.argsort(-cosines, axis=1, kind="stable")[:, :count])
        return np.concatenate(answered) if answered else np.zeros((0, count), np.int64)

    def _near(self, query: Array, without: Sequence[int], count: int) -> Near:
        cosines = np.clip(self.units @ (query / max(float(np.linalg.norm(query)), 1e-30)), -1, 1)
        order = [i for i in np.argsort(-cosines, kind="stable")[: count + len(without)].tolist() if i not in without]
        return [(self.words[i], float(cosines[i])) for i in order[:count]]

    # Files --------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write a file: word2vec's text format if its name ends in .txt, else the tensor and the words (``mg.save``).

        The text has a line with V and D, then a line for each word: the word, and its numbers. Raises OSError.
        """
        if path.suffix == TEXT:
            numbers = (" ".join(map(str, row)) for row in self.array)  # the fewest digits that give float32 back
            rows = (f"{word} {row}\n" for word, row in zip(self.words, numbers, strict=True))
            written(path, "".join([f"{len(self.words)} {self.array.shape[1]}\n", *rows]))
        else:
            mg.save({"words": list(self.words), "vectors": mg.tensor(self.array)}, path)

    @classmethod
    def load(cls, path: Path) -> Vectors:
        """Read a file of ``save``, or of another program in word2vec's text format.

        Raises:
            OSError: it cannot be read. ValueError: it is damaged, or another file.
        """
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        if path.suffix == TEXT:
            with path.open(encoding="utf-8-sig", newline="\n") as file:
                return _from_text(path, file)
        try:
            data = mg.load(path)
            return cls(tuple(data["words"]), data["vectors"].float().numpy())
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} has no vectors of this program: {error}") from error


def _from_text(path: Path, lines: Iterable[str]) -> Vectors:
    words: list[str] = []
    number = 1  # of the line
    try:
        rows = iter(lines)
        count, width = map(int, next(rows).split())
        if count < 1 or width < 1:
            raise ValueError("the first line has the number of words and the width of their vectors")
        array = np.empty((count, width), np.float32)
        for place, line in enumerate(itertools.islice(rows, count)):
            number = place + 2
            word, *numbers = line.rstrip().rsplit(" ", width)
            if len(numbers) != width:
                raise ValueError(f"{len(numbers):,} numbers, and the first line promises {width:,}")
            words.append(word)
            array[place] = np.array(numbers, np.float32)
        number += 1
        if len(words) != count:
            raise ValueError(f"there are {len(words):,} words, and the first line promises {count:,}")
        return Vectors(tuple(words), array)
    except (ValueError, StopIteration, MemoryError) as error:
        raise ValueError(f"{path}, line {number}: not in word2vec's text format ({error})") from error
