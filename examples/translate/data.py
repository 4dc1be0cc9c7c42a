"""The corpus as token ids, and its batches: the one that ships with minigrad, or a person's own."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.text import (
    EncodedPairs,
    Pairs,
    SubwordSampler,
    SubwordTokenizer,
    TokenBatches,
    TokenizerPair,
    WordTokenizer,
    read_pairs,
)
from minigrad.text.corpus import part
from minigrad.text.tokenizer import BOS, EOS, PAD, UNKNOWN
from models.transformer import pad

from . import english_italian
from .settings import DataSettings, Settings, TrainingSettings

ON_DISK = 200_000  # pairs from which token ids are kept in files of the run's folder, not in memory


class Batch(NamedTuple):
    """Sentence pairs, padded.

    Attributes:
        source: tokens and EOS (B, S). target: BOS, tokens, EOS (B, T). read: what the decoder is given of the
            target, (B, T - 1); with word dropout some of it is UNKNOWN. epoch: the batch's, from 0.
    """

    source: Tensor
    target: Tensor
    read: Tensor
    epoch: int = 0


def read(settings: DataSettings) -> dict[str, Pairs]:
    """The sentence pairs by split: "train", and "validation" and "test" if they are there.

    Raises:
        FileNotFoundError, ValueError: no data, or data that cannot be read.
    """
    found = _all(settings)
    train = found["train"]
    if 0 < settings.pairs < len(train.source):
        found["train"] = part(train, np.arange(settings.pairs))._replace(skipped=train.skipped)
    return found


def _all(settings: DataSettings) -> dict[str, Pairs]:
    if settings.data:
        found = read_pairs([Path(p) for p in settings.data], settings.source, settings.target)
        if len(found) > 1 or not settings.held_out:
            return found
        return hold_out(found["train"], settings.held_out)
    if settings.tokenizer != "words":
        raise ValueError("which sentence pairs? Give --data DIR, a table, or two aligned files")
    found = {}
    for split in ("train", "validation", "test"):
        made = english_italian.load(split, size=None if split == "train" else 1000)
        found[split] = Pairs([p.source for p in made], [p.target for p in made])
    return found


def hold_out(pairs: Pairs, most: int) -> dict[str, Pairs]:
    """Pairs drawn at random, and always the same, to validate, and as many to test; the rest to train.

    Args:
        most: of each, but never more than a twentieth of all; of less than a hundred pairs, none.
    """
    count = min(most, len(pairs.source) // 20) if len(pairs.source) >= 100 else 0
    if not count:
        return {"train": pairs}
    drawn = np.random.default_rng(0).permutation(len(pairs.source))
    cuts = {"validation": drawn[:count], "test": drawn[count : 2 * count], "train": drawn[2 * count :]}
    told = f"note: {count:,} pairs are held out to validate, and {count:,} to test (--held-out)"
    print(told, file=sys.stderr)
    found = {split: part(pairs, np.sort(places)) for split, places in cuts.items()}
    return {**found, "train": found["train"]._replace(skipped=pairs.skipped)}


def tokenizers_for(train: Pairs, settings: DataSettings) -> TokenizerPair:
    """Tokenizers made from the training pairs."""
    if settings.tokenizer == "words":
        texts = [*train.source, *train.target]
        if settings.data:
            words = WordTokenizer.train(texts, settings.vocabulary)
        else:
            words = WordTokenizer.train(texts, scheme=english_italian.SCHEME)
        return TokenizerPair(words, words)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = TokenizerPair.train(
            train.source,
            train.target,
            vocabulary=settings.vocabulary,
            joint=settings.joint,
            model=settings.subword_model,
            lowercase=settings.lowercase,
            normalization=settings.normalization,
        )
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    return found


def encode(pairs: Pairs, tokenizers: TokenizerPair, settings: Settings, folder: Path) -> EncodedPairs:
    """The training pairs as ids; those that are too long are left out, which is said."""
    longest = min(settings.data.longest, settings.model.positions)
    where = folder / "corpus" if len(pairs.source) >= ON_DISK else None
    found = EncodedPairs.build(pairs, tokenizers, longest=longest, folder=where)
    if pairs.skipped:
        print(f"{pairs.skipped:,} pairs with an empty side left out", file=sys.stderr)
    if found.left_out:
        print(f"{found.left_out:,} pairs longer than {longest} tokens left out", file=sys.stderr)
    return found


def _samplers(tokenizers: TokenizerPair, training: TrainingSettings) -> tuple[SubwordSampler, ...]:
    """Who cuts source and target into subwords at random."""
    made = []
    for tokenizer in (tokenizers.source,) if tokenizers.joint else (tokenizers.source, tokenizers.target):
        if not isinstance(tokenizer, SubwordTokenizer):
            raise ValueError("subword_dropout needs tokenizer = 'subwords'")
        made.append(SubwordSampler(tokenizer, training.subword_dropout, training.seed))
    return (made[0], made[-1])


class PairBatches:
    """Batches of sentence pairs, epoch by epoch; a batch depends on nothing but the settings and its number.

    Args:
        pairs: the sentences. encoded: their ids.
    """

    def __init__(self, pairs: Pairs, encoded: EncodedPairs, tokenizers: TokenizerPair, settings: Settings) -> None:
        training = settings.training
        self.pairs, self.encoded, self.settings = pairs, encoded, training
        self.order = TokenBatches(encoded.lengths, training.batch_tokens, seed=training.seed)
        self.longest = min(settings.data.longest, settings.model.positions)
        self.samplers = _samplers(tokenizers, training) if training.subword_dropout else ()

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from the start-th on."""
        for place, rows in enumerate(self.order.epoch(number, start), start):
            yield self.batch(rows, number, place)

    def batch(self, rows: list[int], epoch: int, place: int) -> Batch:
        """The pairs of these numbers."""
        chosen = [self._sampled(i, epoch) if self.samplers else self.encoded[i] for i in rows]
        if epoch < self.settings.both_ways:
            draw = np.random.default_rng((self.settings.seed, epoch, place, 1))
            chosen = [
                turned(*pair) if turn else pair
                for pair, turn in zip(chosen, draw.random(len(chosen)) < 0.5, strict=True)
            ]
        source, target = pad([a for a, _ in chosen]), pad([b for _, b in chosen])
        read = target[:, :-1]
        if self.settings.word_dropout:
            draw = np.random.default_rng((self.settings.seed, epoch, place))
            source, read = (self._forget(x, draw) for x in (source, read))
        device = self.settings.device
        return Batch(source.to(device), target.to(device), read.to(device), epoch)

    def _sampled(self, i: int, epoch: int) -> tuple[list[int], list[int]]:
        """A pair with subwords drawn at random; as a rule, if what was drawn is too long."""
        place, draw = int(self.encoded.index[i]), epoch * len(self.encoded) + i
        a, b = self.pairs.source[place], self.pairs.target[place]
        source, target = self.samplers[0].encode(a, draw), self.samplers[1].encode(b, draw)
        if max(len(source) + 1, len(target) + 2) > self.longest:
            return self.encoded[i]
        return [*source, EOS], [BOS, *target, EOS]

    def _forget(self, tokens: Tensor, draw: np.random.Generator) -> Tensor:
        """Word dropout (Bowman et al. 2016, arXiv 1511.06349, section 3.1): some tokens become UNKNOWN."""
        chance = draw.random(tuple(tokens.shape)) < self.settings.word_dropout
        words = (tokens != PAD) & (tokens != BOS) & (tokens != EOS)
        return tokens.masked_fill(words & mg.from_numpy(chance), UNKNOWN)


def turned(source: list[int], target: list[int]) -> tuple[list[int], list[int]]:
    """A pair in the other direction. A model that begins with both learns the one better afterwards (Ding et
    al. 2021, arXiv 2109.07780); which language it is to write, it sees from the one that it reads."""
    return target[1:], [BOS, *source]
