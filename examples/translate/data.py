"""The corpus as token ids: the one that ships with minigrad, or a person's own."""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from minigrad.text import Pairs, SubwordTokenizer, Tokenizer, WordTokenizer, english_italian, read_pairs
from minigrad.text.batching import Encoded
from minigrad.text.tokenizer import BOS, EOS


class Corpus(NamedTuple):
    """Sentence pairs by split, and the training pairs as ids."""

    pairs: dict[str, Pairs]
    tokenizer: Tokenizer
    encoded: list[Encoded]


def load(options: argparse.Namespace, positions: int, tokenizer: Tokenizer | None = None) -> Corpus:
    """Read or make the corpus; the tokenizer is trained on it unless one is given (from a checkpoint)."""
    pairs = read_pairs(options.data, options.source, options.target) if options.data else _shipped()
    train = pairs["train"]
    if train.skipped:
        print(f"{train.skipped:,} pairs with an empty side left out", file=sys.stderr)
    if tokenizer is None:
        texts = [*train.source, *train.target]
        tokenizer = (
            SubwordTokenizer.train(texts, options.subwords)
            if options.data
            else (WordTokenizer.english_italian(texts))
        )
    encoded = [encode(tokenizer, a, b) for a, b in zip(train.source, train.target, strict=True)]
    kept = [(a, b) for a, b in encoded if max(len(a), len(b)) <= positions]
    if len(kept) < len(encoded):
        print(f"{len(encoded) - len(kept):,} pairs longer than {positions} tokens left out", file=sys.stderr)
    if not kept:
        raise ValueError(f"every pair of the corpus is longer than {positions} tokens")
    return Corpus(pairs, tokenizer, kept)


def _shipped() -> dict[str, Pairs]:
    """English and Italian, made by the grammar in minigrad.text.english_italian."""
    found = {}
    for split in ("train", "validation", "test"):
        made = english_italian.load(split, size=None if split == "train" else 1000)
        found[split] = Pairs([p.source for p in made], [p.target for p in made])
    return found


def encode(tokenizer: Tokenizer, source: str, target: str) -> Encoded:
    """(source ids and EOS, BOS and target ids and EOS)"""
    return [*tokenizer.encode(source), EOS], [BOS, *tokenizer.encode(target), EOS]
