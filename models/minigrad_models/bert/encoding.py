"""Texts as word pieces, and batches of pieces of like length.

Shapes: B batch, T pieces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..text.subwords import load_library

POOL = 50  # batches that are sorted by length together


class Feature(NamedTuple):
    """What a model reads at once.

    Attributes:
        ids: word pieces. types: 0 or 1 for each, the text that it is of.
        target: what is to be said, as the task likes it; None if it is asked for.
        example: the number of the example that it is of.
        places: of each piece, as the task likes it: its word, or its characters; None for special tokens.
    """

    ids: list[int]
    types: list[int]
    target: Any
    example: int
    places: list[Any]


class Batch(NamedTuple):
    """Features of like length: tokens and types (B, T) int64, the mask (B, T), True at tokens, and the targets as the
    task likes them, None if they are asked for."""

    tokens: Tensor
    types: Tensor
    mask: Tensor
    targets: Tensor | None


class Encoder:
    """The word pieces of a model's tokenizer, a ``tokenizers.Tokenizer`` that is not changed, cut off at a length that
    counts special tokens. What looks like one in a text ("[SEP]") is text. With a stride, the second text of a pair
    that is too long is cut into several features, which share so many pieces; with None what is too long is cut off, of
    a pair's longer text first. ``cut`` is how many of the last texts were cut off."""

    def __init__(self, tokenizer: Any, longest: int, stride: int | None = None) -> None:
        self.whole, self.tokenizer = (load_library().Tokenizer.from_str(tokenizer.to_str()) for _ in range(2))
        self.longest, self.stride, self.cut = longest, stride, 0
        for one in (self.whole, self.tokenizer):
            one.encode_special_tokens = True
        strategy = "longest_first" if stride is None else "only_second"
        self.tokenizer.enable_truncation(longest, stride=stride or 0, strategy=strategy)

    def __call__(self, texts: Sequence[Any], are_words: bool = False) -> list[Any]:
        """The library's encoding of each text, pair of texts, or (``are_words``) list of words; what was cut off is in
        its ``overflowing``."""
        encodings = list(self.tokenizer.encode_batch(list(texts), is_pretokenized=are_words))
        self.cut = 0 if self.stride is not None else sum(bool(encoding.overflowing) for encoding in encodings)
        return encodings

    def pieces(self, text: str) -> list[int]:
        """The pieces of a text as a whole, without special tokens."""
        return list(self.whole.encode(text, add_special_tokens=False).ids)


def batch_of(features: Sequence[Feature], targets: Tensor | None, padding: int) -> Batch:
    """Features as tensors, padded to the longest."""
    longest = max(len(feature.ids) for feature in features)
    tokens = padded([feature.ids for feature in features], longest, padding)
    types = padded([feature.types for feature in features], longest, 0)
    mask = np.arange(longest) < np.array([[len(feature.ids)] for feature in features])
    return Batch(mg.from_numpy(tokens), mg.from_numpy(types), mg.from_numpy(mask), targets)


def padded(rows: Sequence[Sequence[int]], longest: int, padding: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Lists of numbers as an array (B, T), int64."""
    result = np.full((len(rows), longest), padding, np.int64)
    for row, values in zip(result, rows, strict=True):
        row[: len(values)] = values
    return result


class LikeLength:
    """The numbers of features in batches of a size, each of features of like length: they are shuffled, ``POOL``
    batches of them are sorted and cut, and all batches are shuffled. An epoch has each once, in an order by seed and
    epoch alone. Raises ValueError: no features, or a size below 1."""

    def __init__(self, lengths: Sequence[int], size: int, seed: int = 0) -> None:
        if not len(lengths) or size < 1:
            raise ValueError(f"{len(lengths)} examples cannot be cut into batches of {size}")
        self.lengths, self.size, self.seed = np.asarray(lengths), size, seed

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return math.ceil(len(self.lengths) / self.size)

    def epoch(self, number: int, start: int = 0) -> Iterator[list[int]]:
        """The batches of an epoch, from number ``start`` on."""
        random = np.random.default_rng([self.seed % 2**64, number])
        order = random.permutation(len(self.lengths))
        for first in range(0, len(order), POOL * self.size):
            pool = order[first : first + POOL * self.size]  # a view: order itself is sorted
            pool[:] = pool[np.argsort(self.lengths[pool], kind="stable")]
        for batch in random.permutation(len(self))[start:].tolist():
            yield order[batch * self.size : (batch + 1) * self.size].tolist()
