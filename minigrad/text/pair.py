"""The tokenizers of a translation's two sides: one for both, or one each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .subwords import SubwordTokenizer
from .tokenizer import BOS, EOS, Tokenizer, tokenizer_from_dict


@dataclass(frozen=True)
class TokenizerPair:
    """Tokenizers of source and target; the same object twice if the vocabulary is joint."""

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
        """Learn subwords of both sides together, or of each by itself.

        Args:
            source, target: texts, read once and not kept.
            vocabulary: the size of each vocabulary.
            joint: one vocabulary for both.
            options: of ``SubwordTokenizer.train``, whose errors are raised.
        """
        if joint:
            both = SubwordTokenizer.train(itertools.chain(source, target), vocabulary, **options)
            return cls(both, both)
        return cls(*(SubwordTokenizer.train(texts, vocabulary, **options) for texts in (source, target)))

    @property
    def joint(self) -> bool:
        """Whether one vocabulary serves both sides."""
        return self.source is self.target

    def encode(self, source: str, target: str) -> tuple[list[int], list[int]]:
        """The ids of a pair, as a model takes them: source and EOS; BOS, target and EOS."""
        return [*self.source.encode(source), EOS], [BOS, *self.target.encode(target), EOS]

    def as_dict(self) -> dict[str, Any]:
        """All that ``tokenizer_pair_from_dict`` needs: text and numbers, to be saved with a model."""
        sides = {"source": self.source.as_dict()}
        return {"kind": "pair", **(sides if self.joint else {**sides, "target": self.target.as_dict()})}


def tokenizer_pair_from_dict(state: dict[str, Any]) -> TokenizerPair:
    """The pair that ``as_dict`` described, of a pair or of one tokenizer for both sides.

    Raises:
        ValueError: it describes none that this version knows.
    """
    if state.get("kind") != "pair":
        both = tokenizer_from_dict(state)
        return TokenizerPair(both, both)
    source = tokenizer_from_dict(state["source"])
    return TokenizerPair(source, tokenizer_from_dict(state["target"]) if "target" in state else source)
