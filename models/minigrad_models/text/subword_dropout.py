"""Subword dropout: the segmentation of a word differs from epoch to epoch."""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from collections.abc import Iterator

from .subwords import SubwordTokenizer
from .tokenizer import UNKNOWN

POOL = 64  # segmentations of a word
WORDS = 1 << 16  # words with pools; one more clears all pools, which changes no result
LONGEST = 100  # characters; longer words have no pool


class SubwordSampler:
    """BPE-dropout (Provilkov et al. 2020, arXiv 1910.13267), repeatable: at each step a possible merge is skipped with
    the probability ``dropout``. 0 gives ``tokenizer.encode``, 1 gives characters. Each draw splits a text differently.
    A draw depends on the seed, the text and the draw's number alone, so that a training can be resumed exactly. A word
    has 64 segmentations, computed on demand; each place in a text takes one of them at random. Raises ValueError: a
    unigram tokenizer, or a dropout that is no probability."""

    def __init__(self, tokenizer: SubwordTokenizer, dropout: float = 0.1, seed: int = 0) -> None:
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout is a probability, not {dropout}")
        state = json.loads(tokenizer.model.to_str())["model"]
        if state["type"] != "BPE":
            raise ValueError(f"subword dropout is for byte-pair encoding (model='bpe'), not {state['type']}")
        self.tokenizer, self.dropout, self.seed = tokenizer, dropout, seed
        self._skip = dropout * 2**32
        self.ids: dict[str, int] = state["vocab"]
        pairs = [tuple(m.split(" ")) if isinstance(m, str) else m for m in state["merges"]]
        self.merges = {(self.ids[a], self.ids[b]): (rank, self.ids[a + b]) for rank, (a, b) in enumerate(pairs)}
        self.pools: dict[str, list[tuple[int, ...] | None]] = {}
        self._empty: list[tuple[int, ...] | None] = [None] * POOL

    def encode(self, text: str, draw: int) -> list[int]:
        """The ids of a text, without BOS and EOS, segmented by a draw (the epoch, for instance)."""
        if self.dropout == 0:
            return self.tokenizer.encode(text)
        words = self.tokenizer.words(text)
        key = f"{self.seed} {draw} {text}".encode()
        pools, empty = self.pools, self._empty
        ids: list[int] = []
        for word, byte in zip(words, hashlib.shake_128(key).digest(len(words)), strict=True):
            number = byte % POOL
            ids += pools.get(word, empty)[number] or self._segmentation(word, number)
        return ids

    def _segmentation(self, word: str, number: int) -> tuple[int, ...]:
        """A segmentation of a word by its number, kept in the word's pool."""
        segmentation = tuple(self._split(word, _uniform(f"{self.seed} {number} {word}")))
        if len(word) <= LONGEST:
            if len(self.pools) >= WORDS and word not in self.pools:
                self.pools.clear()
            pool = self.pools.setdefault(word, self._empty.copy())
            pool[number] = next((same for same in pool if same == segmentation), segmentation)
        return segmentation

    def _split(self, word: str, chance: Iterator[int]) -> list[int]:
        """Byte-pair encoding of a word by the paper's algorithm 1: a merge that is skipped may come later."""
        ids = [self.ids.get(character, UNKNOWN) for character in word]
        while True:
            pairs = enumerate(itertools.pairwise(ids))
            possible = sorted((*self.merges[pair], i) for i, pair in pairs if pair in self.merges)
            chosen = next((merge for merge in possible if next(chance) >= self._skip), None)
            if chosen is None:
                return ids
            _, merged, i = chosen
            ids[i : i + 2] = [merged]


def _uniform(key: str) -> Iterator[int]:
    """Random 32-bit numbers from a key: a faster start than that of a seeded ``random.Random``."""
    for block in itertools.count():
        yield from struct.unpack("<16I", hashlib.shake_128(f"{key} {block}".encode()).digest(64))
