"""From text to token ids and back. Ids 0 to 3 are padding, beginning, end and unknown in every vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Protocol

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

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, up to the first EOS; padding is left out."""

    def token(self, i: int) -> str:
        """The text of one id."""

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that the vocabulary lacks."""

    def as_dict(self) -> dict[str, Any]:
        """All that ``tokenizer_from_dict`` needs to make it again."""


def _until_end(ids: Iterable[int]) -> list[int]:
    kept = []
    for i in ids:
        if i == EOS:
            break
        if i not in (PAD, BOS):
            kept.append(i)
    return kept


class WordTokenizer:
    """A word (or punctuation mark) is a token: for small closed vocabularies.

    Args:
        words: the vocabulary after the special tokens.
        split, join: how a text becomes words and words a text; by default at spaces.
        normalize: what ``prepare`` does.
    """

    def __init__(
        self, words: list[str], split: Callable[[str], list[str]] = str.split,
        join: Callable[[list[str]], str] = " ".join, normalize: Callable[[str], str] = str.strip,
        scheme: str = "spaces",
    ) -> None:  # fmt: skip
        self.words = [*SPECIAL, *words]
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.split, self.join, self.normalize, self.scheme = split, join, normalize, scheme

    @classmethod
    def english_italian(
        cls, texts: Iterable[str] | None = None, words: list[str] | None = None
    ) -> WordTokenizer:
        """The tokenizer of the corpus that ships with the project, its vocabulary from texts or given."""
        from . import english_italian as corpus

        if words is None:
            counts = Counter(word for text in texts or () for word in corpus.tokenize(text))
            words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        return cls(words, corpus.tokenize, corpus.detokenize, corpus.normalize, "english_italian")

    def __len__(self) -> int:
        return len(self.words)

    def prepare(self, text: str) -> str:
        return self.normalize(text)

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(word, UNKNOWN) for word in self.split(text)]

    def decode(self, ids: Iterable[int]) -> str:
        return self.join([self.words[i] for i in _until_end(ids)])

    def token(self, i: int) -> str:
        return self.words[i]

    def unknown(self, text: str) -> list[str]:
        return [word for word in self.split(text) if word not in self.ids]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": "words", "scheme": self.scheme, "words": self.words[len(SPECIAL) :]}


class SubwordTokenizer:
    """Byte-pair encoding (Sennrich et al. 2016), one vocabulary for both sides, by the tokenizers library.

    Args:
        model: a ``tokenizers.Tokenizer``; ``train`` makes one.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, progress: bool = False) -> SubwordTokenizer:
        """Learn ``vocabulary`` subwords from texts; word ends are marked, so that spaces come back."""
        tokenizers = _tokenizers()
        model = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=SPECIAL[UNKNOWN]))
        model.normalizer = tokenizers.normalizers.NFC()
        model.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        model.decoder = tokenizers.decoders.Metaspace()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocabulary, special_tokens=list(SPECIAL), show_progress=progress, min_frequency=2
        )
        model.train_from_iterator(texts, trainer)
        return cls(model)

    def __len__(self) -> int:
        return int(self.model.get_vocab_size())

    def prepare(self, text: str) -> str:
        return text.strip()

    def encode(self, text: str) -> list[int]:
        return list(self.model.encode(text).ids)

    def decode(self, ids: Iterable[int]) -> str:
        return str(self.model.decode(_until_end(ids)))

    def token(self, i: int) -> str:
        return str(self.model.id_to_token(i)).replace("▁", " ")

    def unknown(self, text: str) -> list[str]:
        found = self.model.encode(text)
        return [text[a:b] for i, (a, b) in zip(found.ids, found.offsets, strict=True) if i == UNKNOWN]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": "subwords", "json": self.model.to_str()}


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise ImportError(
            "subwords need the tokenizers library: pip install 'minigrad[translate]', or tokenizers alone"
        ) from None
    return tokenizers


def tokenizer_from_dict(state: dict[str, Any]) -> Tokenizer:
    """The tokenizer that ``as_dict`` described.

    Raises:
        ValueError: it describes none that this version knows.
    """
    if state.get("kind") == "subwords":
        return SubwordTokenizer(_tokenizers().Tokenizer.from_str(state["json"]))
    if state.get("kind") == "words" and state.get("scheme") == "english_italian":
        return WordTokenizer.english_italian(words=state["words"])
    if state.get("kind") == "words":
        return WordTokenizer(state["words"])
    raise ValueError(f"unknown kind of tokenizer: {state.get('kind')!r}")
