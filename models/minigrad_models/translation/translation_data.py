"""The corpus, bundled or read from files, as token ids and batches."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minigrad import Tensor

from .. import text
from ..programs.folder import command
from ..programs.validation import moved
from ..text import EncodedPairs, Pairs, TokenizerPair, WordTokenizer
from ..text.tokenizer import PAD
from . import english_italian
from .transformer import pad
from .translation_settings import DataSettings, Settings, TrainingSettings

CANDIDATES = 8  # random pairs for each held-out pair in a split


class Batch(NamedTuple):
    """Sentence pairs, padded."""

    source: Tensor  # tokens and EOS (B, S)
    target: Tensor  # BOS, tokens, EOS (B, T)
    weight: int  # the number of tokens to predict, without padding


def read(settings: DataSettings) -> dict[str, Pairs]:
    """The sentence pairs by split: "train", and "validation" and "test" if they exist."""
    if settings.data:
        splits = text.read_pairs(settings.data, settings.source, settings.target)
        if len(splits) == 1 and settings.held_out:
            splits = hold_out(splits["train"], settings.held_out)
    elif settings.tokenizer != "words":
        fetched = command("data", "multi30k")
        raise ValueError(
            f"no sentence pairs: set --data to a folder, a table or two aligned files, or download a corpus: {fetched}"
        )
    else:
        splits = read_shipped()
    train = splits["train"]
    if 0 < settings.pairs < len(train.source):
        splits["train"] = Pairs(train.source[: settings.pairs], train.target[: settings.pairs], train.skipped)
    return splits


def read_shipped(train: int | None = None) -> dict[str, Pairs]:
    """The corpus that ships with minigrad, by split. ``train`` limits the number of training pairs (None: all)."""
    splits = {}
    for split in ("train", "validation", "test"):
        pairs = english_italian.load(split, train if split == "train" else None)
        splits[split] = Pairs([p.source for p in pairs], [p.target for p in pairs])
    return splits


def hold_out(pairs: Pairs, most: int) -> dict[str, Pairs]:
    """Split off random pairs, the same in every run, for validation and testing. Each split gets up to ``most`` pairs,
    and at most a twentieth of all pairs; fewer than a hundred pairs are not split. No held-out source remains in the
    training data: if a source occurs more than once, all its pairs are removed. Sources that occur only once are
    therefore held out first, and the most frequent ones remain for training."""
    count = min(most, len(pairs.source) // 20) if len(pairs.source) >= 100 else 0
    if not count:
        return {"train": pairs}
    candidates = np.random.default_rng(0).permutation(len(pairs.source))[: CANDIDATES * count]
    first: dict[str, int] = {}
    for i in candidates.tolist():
        first.setdefault(pairs.source[i], i)
    copies = Counter(source for source in pairs.source if source in first)
    selected = sorted(first.values(), key=lambda i: copies[pairs.source[i]])[: 2 * count]
    new = {pairs.source[i] for i in selected}
    rest, middle = [i for i, source in enumerate(pairs.source) if source not in new], len(selected) // 2
    if not rest or not middle:
        return {"train": pairs}  # all sentences are the same

    def part(numbers: list[int], skipped: int = 0) -> Pairs:
        return Pairs([pairs.source[i] for i in numbers], [pairs.target[i] for i in numbers], skipped)

    held_out = {"validation": part(sorted(selected[:middle])), "test": part(sorted(selected[middle:]))}
    return {"train": part(rest, pairs.skipped), **held_out}


def tokenizers_for(train: Pairs, settings: DataSettings) -> TokenizerPair:
    """Tokenizers learned from the training pairs."""
    if settings.tokenizer == "words":
        texts = [*train.source, *train.target]
        if settings.data:
            words = WordTokenizer.train(texts, settings.vocabulary)
        else:
            words = WordTokenizer.train(texts, scheme=english_italian.SCHEME)
        return TokenizerPair(words, words)
    options = {name: getattr(settings, name) for name in ("vocabulary", "joint", "split_digits")}
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        tokenizers = TokenizerPair.train(train.source, train.target, **options)
    for warning in raised:
        print(f"note: {warning.message}", file=sys.stderr)
    return tokenizers


def encode(pairs: Pairs, tokenizers: TokenizerPair, settings: Settings) -> EncodedPairs:
    """The training pairs as ids. Prints how many pairs are left out because they are too long."""
    longest = min(settings.data.longest, settings.model.positions)
    encoded = EncodedPairs(pairs, tokenizers, longest=longest)
    if pairs.skipped:
        print(f"{pairs.skipped:,} pairs with an empty side left out", file=sys.stderr)
    if encoded.left_out:
        print(f"{encoded.left_out:,} pairs longer than {longest} tokens left out", file=sys.stderr)
    return encoded


class PairBatches:
    """Batches of sentence pairs, epoch by epoch. A batch depends only on the settings and its index."""

    def __init__(self, encoded: EncodedPairs, settings: TrainingSettings, shuffle: bool = True) -> None:
        self.encoded, self.device = encoded, settings.device
        self.order = text.TokenBatches(encoded.lengths, settings.batch_tokens, seed=settings.seed, shuffle=shuffle)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        for rows in self.order.epoch(number, start):
            source, target = zip(*(self.encoded[i] for i in rows), strict=True)
            sources, targets = pad(list(source)), pad(list(target))
            weight = int((targets[:, 1:] != PAD).sum())
            sources, targets = moved(self.device, sources, targets)
            yield Batch(sources, targets, weight)
