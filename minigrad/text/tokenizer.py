"""From text to token ids and back. Ids 0 to 3 are padding, beginning, end and unknown in every vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNKNOWN = range(4)


class Tokenizer(Protocol):
    """What a translator asks of a tokenizer."""

    def __len__(self) -> int:
        """How many ids there are."""

    def prepare(self, text: str) -> str:
        """What a person typed, as the corpus would write it."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS and EOS."""

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text, in less time than one by one."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, up to the first EOS; padding is left out."""

    def token(self, i: int) -> str:
        """The text of one id."""

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that the vocabulary lacks."""

    def as_dict(self) -> dict[str, Any]:
        """All that ``tokenizer_from_dict`` needs to make it again."""


def until_end(ids: Iterable[int]) -> list[int]:
    """The ids before the first EOS, without padding and BOS."""
    kept = []
    for i in ids:
        if i == EOS:
            break
        if i not in (PAD, BOS):
            kept.append(i)
    return kept


class _Scheme(NamedTuple):
    """How a text becomes words, words a text, and what a person typed a text."""

    split: Callable[[str], list[str]]
    join: Callable[[list[str]], str]
    normalize: Callable[[str], str]


_SPACES = _Scheme(str.split, " ".join, str.strip)


def _schemes() -> dict[str, _Scheme]:
    """The ways to split that a description can name."""
    from . import english_italian as corpus

    return {"spaces": _SPACES, "english_italian": _Scheme(corpus.tokenize, corpus.detokenize, corpus.normalize)}


def _by_frequency(words: Iterable[str]) -> list[str]:
    """Each word once, the most frequent first, those as frequent in alphabetical order."""
    return [word for word, _ in sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))]


class WordTokenizer:
    """A word (or punctuation mark) is a token: for small closed vocabularies.

    Args:
        words: the vocabulary after the special tokens.
        split, join: how a text becomes words and words a text; by default at spaces.
        normalize: what ``prepare`` does.
    """

    def __init__(
        self,
        words: list[str],
        split: Callable[[str], list[str]] = _SPACES.split,
        join: Callable[[list[str]], str] = _SPACES.join,
        normalize: Callable[[str], str] = _SPACES.normalize,
    ) -> None:
        self.words = [*SPECIAL, *words]
        self.ids = {word: i for i, word in enumerate(words, len(SPECIAL))}  # "</s>" in a text is not EOS
        self.split, self.join, self.normalize = split, join, normalize

    @classmethod
    def english_italian(cls, texts: Iterable[str] | None = None, words: list[str] | None = None) -> WordTokenizer:
        """The tokenizer of the corpus that ships with the project, its vocabulary from texts or given."""
        scheme = _schemes()["english_italian"]
        if words is None:
            words = _by_frequency(word for text in texts or () for word in scheme.split(text))
        return cls(words, *scheme)

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int | None = None) -> WordTokenizer:
        """Words of texts, as they stand between spaces, the most frequent first.

        Args:
            vocabulary: the most entries, special tokens included; None: every word.
        """
        words = _by_frequency(word for text in texts for word in text.split())
        return cls(words if vocabulary is None else words[: max(0, vocabulary - len(SPECIAL))])

    def __len__(self) -> int:
        return len(self.words)

    def prepare(self, text: str) -> str:
        return self.normalize(text)

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(word, UNKNOWN) for word in self.split(text)]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        return self.join([self.words[i] for i in until_end(ids)])

    def token(self, i: int) -> str:
        return self.words[i]

    def unknown(self, text: str) -> list[str]:
        return [word for word in self.split(text) if word not in self.ids]

    def as_dict(self) -> dict[str, Any]:
        """As ``Tokenizer`` has it.

        Raises:
            ValueError: it has functions of its own, which no description can hold.
        """
        own = self.split, self.join, self.normalize
        for name, scheme in _schemes().items():
            if scheme == own:
                return {"kind": "words", "scheme": name, "words": self.words[len(SPECIAL) :]}
        raise ValueError(
            "this WordTokenizer cannot be described, or saved with a model: it splits, joins or normalises "
            "with functions of its own"
        )


def tokenizer_from_dict(state: dict[str, Any]) -> Tokenizer:
    """The tokenizer that ``as_dict`` described.

    Raises:
        ValueError: it describes none that this version knows.
    """
    if state.get("kind") == "subwords":
        from .subwords import SubwordTokenizer

        return SubwordTokenizer.from_dict(state)
    if state.get("kind") == "words":
        scheme = _schemes().get(state.get("scheme", "spaces"))
        if scheme is None:
            raise ValueError(f"unknown way to split into words: {state['scheme']!r}")
        return WordTokenizer(state["words"], *scheme)
    raise ValueError(f"unknown kind of tokenizer: {state.get('kind')!r}")
