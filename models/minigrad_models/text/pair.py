"""Sentence pairs: tokenizers for both sides, joint or separate, and pairs as arrays of token ids."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.utils.bar import DELAY, bar
from minigrad.utils.data import Dataset

from ..schema import check, short
from .corpus import Pairs
from .subwords import SubwordTokenizer
from .tokenizer import BOS, EOS, SCHEMES, Tokenizer, WordTokenizer, several

IntArray = np.ndarray[Any, np.dtype[Any]]
CHUNK_PAIRS = 512  # to encode at once, as the library's results are large
QUIET_SECONDS = DELAY  # before a progress bar appears


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of source and target, which are the same object if the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(
        cls,
        source: Iterable[str],
        target: Iterable[str],
        vocabulary: int = 10_000,
        *,
        joint: bool = True,
        **options: Any,
    ) -> TokenizerPair:
        """Learn subwords from both sides together, or separately if not ``joint``. Each vocabulary has ``vocabulary``
        entries. For options and errors see ``SubwordTokenizer.train``."""
        if joint:
            both = SubwordTokenizer.train(itertools.chain(several(source), several(target)), vocabulary, **options)
            return cls(both, both)
        return cls(*(SubwordTokenizer.train(texts, vocabulary, **options) for texts in (source, target)))

    @property
    def joint(self) -> bool:
        """Whether both sides share a vocabulary."""
        return self.source is self.target

    def as_dict(self) -> dict[str, Any]:
        """A description as plain data, for ``tokenizer_pair_from_dict``."""
        sides = {"source": self.source.as_dict()}
        return {"kind": "pair", **(sides if self.joint else {**sides, "target": self.target.as_dict()})}


def tokenizer_from_dict(state: dict[str, Any]) -> Tokenizer:
    """The tokenizer described by its ``as_dict``. Raises ValueError for an invalid description, an unknown kind of
    tokenizer, or a scheme that is not in ``SCHEMES``."""
    check(state, dict[str, Any], "a tokenizer")
    if state.get("kind") == "subwords":
        return SubwordTokenizer.from_dict(state)
    if state.get("kind") == "words":
        name = state.get("scheme", "spaces")
        if not isinstance(name, str) or name not in SCHEMES:
            raise ValueError(f"unknown word-splitting scheme: {short(name)}")
        check(state.get("words"), list[str], "the words of a tokenizer")
        return WordTokenizer(state["words"], SCHEMES[name])
    raise ValueError(f"unknown kind of tokenizer: {short(state.get('kind'))}")


def tokenizer_pair_from_dict(state: dict[str, Any]) -> TokenizerPair:
    """The pair described by its ``as_dict``. The description of a single tokenizer applies to both sides. Raises
    ValueError in the same cases as ``tokenizer_from_dict``."""
    check(state, dict[str, Any], "a pair of tokenizers")
    sides = state if state.get("kind") == "pair" else {"source": state}
    source = tokenizer_from_dict(sides.get("source", {}))
    return TokenizerPair(source, tokenizer_from_dict(sides["target"]) if "target" in sides else source)


class EncodedPairs(Dataset[tuple[list[int], list[int]]]):
    """A corpus as ids. It omits pairs with more than ``longest`` tokens on a side, including BOS and EOS; ``left_out``
    counts them. Example i is (source ids with EOS, target ids with BOS and EOS). ``ids`` concatenates all pairs, each
    source followed by its target; ``lengths`` (N, 2), int32, are the source and target lengths. ``progress`` shows a
    bar on stderr after two seconds (if tqdm is installed). Raises ValueError if every pair is too long."""

    def __init__(self, pairs: Pairs, tokenizers: TokenizerPair, *, longest: int, progress: bool = True) -> None:
        total, largest = len(pairs.source), max(len(tokenizers.source), len(tokenizers.target))
        ids, lengths = list[IntArray](), list[IntArray]()
        with bar(total, "encoding", " pairs", progress, QUIET_SECONDS) as encoding_bar:
            for start in range(0, total, CHUNK_PAIRS):
                chunk = slice(start, start + CHUNK_PAIRS)
                sources = tokenizers.source.encode_batch(pairs.source[chunk])
                targets = tokenizers.target.encode_batch(pairs.target[chunk])
                both = zip(sources, targets, strict=True)
                sizes = np.array([(len(a) + 1, len(b) + 2) for a, b in both], np.int32)
                rows = np.flatnonzero(sizes.max(axis=1) <= longest)
                flat = itertools.chain.from_iterable((*sources[i], EOS, BOS, *targets[i], EOS) for i in rows.tolist())
                ids.append(np.fromiter(flat, np.uint16 if largest <= 1 << 16 else np.uint32))
                lengths.append(sizes[rows])
                encoding_bar.update(len(sources))
        self.ids, self.lengths = np.concatenate(ids), np.concatenate(lengths)
        if not len(self.lengths):
            raise ValueError(f"every pair of the corpus ({total:,}) is longer than {longest} tokens")
        self.left_out = total - len(self.lengths)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths.sum(axis=1, dtype=np.int64))])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> tuple[list[int], list[int]]:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no pair {number}: the corpus has {len(self)}")
        start, middle = int(self._starts[number % len(self)]), int(self.lengths[number, 0])
        both = self.ids[start : start + middle + int(self.lengths[number, 1])].tolist()
        return both[:middle], both[middle:]
