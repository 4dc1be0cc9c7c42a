"""The tokenizers of a translation's two sides, one for both or one each, and how they are saved."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..schema import check, short
from .subwords import SubwordTokenizer
from .tokenizer import BOS, EOS, SCHEMES, Tokenizer, WordTokenizer


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
        """Learn subwords of both sides together, or (not ``joint``) of each by itself: a vocabulary of that size each.
        Options and errors are those of ``SubwordTokenizer.train``."""
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
        """A description in plain data, for ``tokenizer_pair_from_dict``."""
        sides = {"source": self.source.as_dict()}
        return {"kind": "pair", **(sides if self.joint else {**sides, "target": self.target.as_dict()})}


def tokenizer_from_dict(state: dict[str, Any]) -> Tokenizer:
    """The tokenizer that its ``as_dict`` described. Raises ValueError: a description that makes no sense, an unknown
    kind of tokenizer, or a scheme that ``SCHEMES`` lacks."""
    check(state, dict[str, Any], "a tokenizer")
    if state.get("kind") == "subwords":
        return SubwordTokenizer.from_dict(state)
    if state.get("kind") == "words":
        name = state.get("scheme", "spaces")
        if not isinstance(name, str) or name not in SCHEMES:
            raise ValueError(f"unknown way to split into words: {short(name)}")
        check(state.get("words"), list[str], "the words of a tokenizer")
        return WordTokenizer(state["words"], SCHEMES[name])
    raise ValueError(f"unknown kind of tokenizer: {short(state.get('kind'))}")


def tokenizer_pair_from_dict(state: dict[str, Any]) -> TokenizerPair:
    """The pair that its ``as_dict`` described; the description of one tokenizer stands for both sides. Raises
    ValueError as ``tokenizer_from_dict``."""
    check(state, dict[str, Any], "a pair of tokenizers")
    sides = state if state.get("kind") == "pair" else {"source": state}
    source = tokenizer_from_dict(sides.get("source", {}))
    return TokenizerPair(source, tokenizer_from_dict(sides["target"]) if "target" in sides else source)
