"""Converts text to token ids and back. Ids 0 to 3 are padding, beginning, end and unknown in every vocabulary."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, takewhile
from typing import Any, NamedTuple, Protocol

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNKNOWN = range(4)


class Tokenizer(Protocol):
    """The tokenizer methods that a translator uses."""

    def __len__(self) -> int:
        """The number of ids."""

    def prepare(self, text: str) -> str:
        """Normalise text that a user typed to the style of the corpus."""

    def encode(self, text: str) -> list[int]:
        """The ids of some text, without BOS and EOS."""

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text; faster than encoding texts one by one."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text for the ids before the first EOS, without padding."""

    def token(self, i: int) -> str:
        """The text of an id."""

    def unknown(self, text: str) -> list[str]:
        """The parts of some text that are not in the vocabulary."""

    def as_dict(self) -> dict[str, Any]:
        """A description that ``tokenizer_from_dict`` reads."""


def several(items: Any) -> Any:
    """A list of texts or paths. A single item becomes a list, so that a string is not read as a list of letters."""
    return [items] if isinstance(items, str | os.PathLike) else items


def until_end(ids: Iterable[int]) -> list[int]:
    """The ids before the first EOS, without padding and BOS."""
    return [i for i in takewhile(lambda i: i != EOS, ids) if i not in (PAD, BOS)]


class Scheme(NamedTuple):
    """Functions that split text into words, join words into text, and normalise text that a user typed."""

    split: Callable[[str], list[str]]
    join: Callable[[list[str]], str]
    normalize: Callable[[str], str]


SPACES = Scheme(str.split, " ".join, str.strip)
SCHEMES = {"spaces": SPACES}  # by name in descriptions; programs register their own before saving or loading


class WordTokenizer:
    """A tokenizer for small closed vocabularies: each word or punctuation mark is a token. The vocabulary consists of
    the special tokens and ``words``. Text is split at spaces, or by another ``scheme``."""

    def __init__(self, words: list[str], scheme: Scheme = SPACES) -> None:
        self.words = [*SPECIAL, *several(words)]
        self.ids = {word: i for i, word in enumerate(self.words) if i >= len(SPECIAL)}  # "</s>" in text is not EOS
        self.scheme = scheme

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None = None, scheme: Scheme = SPACES) -> WordTokenizer:
        """Learn the words in texts, most frequent first, with ties in alphabetical order. ``vocabulary`` is the largest
        number of entries, including special tokens (None: every word)."""
        counts = Counter(chain.from_iterable(map(scheme.split, several(texts))))
        words = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(words if vocabulary is None else words[: max(0, vocabulary - len(SPECIAL))], scheme)

    def __len__(self) -> int:
        return len(self.words)

    def prepare(self, text: str) -> str:
        return self.scheme.normalize(text)

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(word, UNKNOWN) for word in self.scheme.split(text)]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in several(texts)]

    def decode(self, ids: Iterable[int]) -> str:
        return self.scheme.join([self.words[i] for i in until_end(ids)])

    def token(self, i: int) -> str:
        return self.words[i]

    def unknown(self, text: str) -> list[str]:
        return [word for word in self.scheme.split(text) if word not in self.ids]

    def as_dict(self) -> dict[str, Any]:
        """The description that ``tokenizer_from_dict`` reads. Raises ValueError if its scheme is not in ``SCHEMES``."""
        for name, scheme in SCHEMES.items():
            if scheme == self.scheme:
                return {"kind": "words", "scheme": name, "words": self.words[len(SPECIAL) :]}
        fault = "its scheme is not in SCHEMES"
        raise ValueError(f"this WordTokenizer cannot be described or saved with a model: {fault}")
