"""Pre-training on text: masked words and next sentences (Devlin et al. 2019, section 3.1, appendices A.1 and A.2).

The text is read as a sequence of sentences: lines are split after full stops, question marks and exclamation marks. An
example is a sequence of sentences within the length limit, split into text A and text B. In half of the examples, text
B is replaced with sentences from elsewhere. The random numbers depend only on the seed, the epoch and the batch, so
each epoch has new masks and training can resume anywhere.

Shapes: B batch, T pieces.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F
from minigrad.utils.bar import watched

from ..text.pretrained import SPECIAL
from ..training import Settings
from ..translation import english_italian
from .bert import IGNORED, BertForPreTraining, padded
from .bert_data import lines
from .train_bert import Size, fit, from_scratch, tell

SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"'”’)])\s+")
MASKED, TO_MASK, TO_RANDOM = 0.15, 0.8, 0.1  # the share of pieces to predict; shares of these
SHORT = 0.1  # the fraction of the examples that have a random, shorter length
TRIES = 10  # attempts to find a sentence that fits
AROUND = 3  # special tokens: [CLS] A [SEP] B [SEP]
CLS, SEP, MASK = (SPECIAL.index(name) for name in ("[CLS]", "[SEP]", "[MASK]"))
HELD_OUT = 0.1  # fraction of the sentences, at the end of the text
CHECKED = 512  # the most examples in an evaluation


class Batch(NamedTuple):
    """Masked examples."""

    tokens: Tensor  # (B, T) int64
    types: Tensor  # (B, T) int64
    mask: Tensor  # (B, T), True at tokens
    words: Tensor  # (B, T): the correct piece where one is predicted, else ``IGNORED``
    follows: Tensor  # (B,): 0 where text B follows text A, else 1


class Place(NamedTuple):
    """An example: the range of pieces of each text (end excluded), and whether B follows A."""

    a: tuple[int, int]
    b: tuple[int, int]
    follows: bool


class Sentences:
    """Sentences as word pieces in one array: sentence i is ``ids[starts[i] : starts[i + 1]]``."""

    def __init__(self, pieces: Sequence[Sequence[int]]) -> None:
        self.ids = np.fromiter(chain.from_iterable(pieces), np.int32)
        self.starts = np.cumsum([0, *map(len, pieces)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def places(self, longest: int, random: np.random.Generator) -> list[Place]:
        """The examples of one pass over the sentences, at most ``longest`` pieces each, not counting special tokens."""
        result: list[Place] = []
        first = int(random.integers(min(4, len(self) - 1)))
        while first < len(self) - 1:
            space = int(random.integers(2, longest + 1)) if random.random() < SHORT else longest
            last = min(max(self._end(first, space), first + 2), len(self))
            middle = int(random.integers(first + 1, last))
            a = self._span(first, middle, longest - 1)
            left = longest - (a[1] - a[0])
            follows = random.random() < 0.5
            if follows:
                b = self._span(middle, last, left)
            else:
                begin = self._elsewhere(first, last, left, random)
                b = self._span(begin, max(self._end(begin, space - (a[1] - a[0])), begin + 1), left)
            result.append(Place(a, b, follows))
            first = last if follows else middle  # the sentences that B replaces are used next
        return result

    def _end(self, first: int, space: int) -> int:
        """The end (excluded) of the longest run of sentences from ``first`` that fits into ``space`` pieces."""
        return int(np.searchsorted(self.starts, self.starts[first] + space, "right")) - 1

    def _elsewhere(self, first: int, last: int, space: int, random: np.random.Generator) -> int:
        """A random sentence outside a run, or inside it if there is no other. If possible, the sentence fits without
        truncation, which would reveal that it does not follow."""
        others = len(self) - (last - first)
        for _ in range(TRIES):
            place = int(random.integers(others or len(self)))
            place += last - first if others and place >= first else 0
            if self.starts[place + 1] - self.starts[place] <= space:
                break
        return place

    def _span(self, first: int, last: int, most: int) -> tuple[int, int]:
        """The range of the first pieces, at most ``most``, of the sentences from ``first`` to ``last`` (excluded)."""
        begin = int(self.starts[first])
        return begin, min(int(self.starts[last]), begin + most)


@dataclass(frozen=True)
class Examples:
    """Batches of masked examples from a sequence of sentences."""

    sentences: Sentences
    vocabulary: int
    longest: int  # pieces
    batch: int
    seed: int

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        places = self.sentences.places(self.longest - AROUND, self._generator(number))
        order = self._generator(number, 0).permutation(len(places)).tolist()
        for k in range(start, -(-len(order) // self.batch)):
            selected = [places[i] for i in order[k * self.batch : (k + 1) * self.batch]]
            yield self.masked(selected, self._generator(number, k + 1))

    def masked(self, places: Sequence[Place], random: np.random.Generator) -> Batch:
        """Mask examples: 15 % of their pieces are predicted, of which 80 % become [MASK] and 10 % a random piece."""
        text = self.sentences.ids
        rows = [[CLS, *text[slice(*a)].tolist(), SEP, *text[slice(*b)].tolist(), SEP] for a, b, _ in places]
        sizes = [place.a[1] - place.a[0] + 2 for place in places]  # [CLS] A [SEP] are of type 0
        longest = max(map(len, rows))
        tokens, column = padded(rows, 0), np.arange(longest)
        lengths = np.array([[len(row)] for row in rows])
        types = ((column >= np.array(sizes)[:, None]) & (column < lengths)).astype(np.int64)
        words = np.full_like(tokens, IGNORED)
        for row, ids in enumerate(tokens):
            allowed = np.flatnonzero(ids >= len(SPECIAL))
            selected = random.permutation(allowed)[: max(1, round(MASKED * len(allowed)))]
            words[row, selected] = ids[selected]
            fate = random.random(len(selected))
            others = random.integers(len(SPECIAL), self.vocabulary, len(selected))
            ids[selected] = np.where(fate < TO_MASK, MASK, np.where(fate < TO_MASK + TO_RANDOM, others, ids[selected]))
        follows = np.array([0 if place.follows else 1 for place in places])
        return Batch(*map(mg.from_numpy, (tokens, types, column < lengths, words, follows)))

    def _generator(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.seed % 2**64, *place])


def split(path: Path) -> list[str]:
    """The sentences of a file. Raises FileNotFoundError if it is missing."""
    pieces = (piece.strip() for _, line in lines(path) for piece in SENTENCE.split(line))
    return [piece for piece in pieces if piece]


def read(tokenizer: Any, texts: Sequence[str]) -> Sentences:
    """Sentences as word pieces. Raises ValueError if fewer than two sentences contain word pieces."""
    tokenizer.encode_special_tokens = True  # "[MASK]" in the text is plain text
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    sentences = Sentences([piece for piece in ids if piece])
    if len(sentences) < 2:
        raise ValueError("the text has fewer than two sentences")
    return sentences


class Options(NamedTuple):
    """The options of a pre-training run."""

    text: Path | None  # None: the English sentences of the bundled corpus
    run: Path  # the folder for all output
    size: Size = Size()
    updates: int = 4000
    batch: int = 32  # examples per update
    rate: float = 1e-3  # the highest learning rate
    longest: int = 64  # pieces per example
    evaluate_every: int = 500  # updates
    seed: int = 0
    progress: bool = True


def pretrain(options: Options) -> dict[str, float]:
    """Train on text, save the best model, and return its metrics. An interrupted run is resumed."""
    texts = split(options.text) if options.text else [pair.source for pair in english_italian.load()]
    border = len(texts) - max(2, round(HELD_OUT * len(texts)))
    if border < 2:
        raise ValueError(f"{options.text} has {len(texts)} sentences, too few for training and evaluation")
    mg.manual_seed(options.seed)
    model = from_scratch(BertForPreTraining, texts[:border], options.size, options.longest)
    sentences, held_out = (read(model.tokenizer, some) for some in (texts[:border], texts[border:]))
    numbers = (model.config.vocabulary, options.longest, options.batch)
    checks = list(islice(Examples(held_out, *numbers, seed=0).epoch(0), -(-CHECKED // options.batch)))
    weights = sum(p.numel() for p in model.parameters())
    tell(f"{border:,} sentences of {len(sentences.ids):,} pieces for training, {len(held_out):,} for evaluation")
    tell(f"{weights:,} parameters, {options.updates:,} updates")
    described = {**options.size._asdict(), "batch": options.batch, "rate": options.rate, "max_length": options.longest}
    described |= {"text": f"{zlib.crc32(sentences.ids.tobytes()):08x}", "pieces": model.config.vocabulary}
    same: dict[str, Any] = {"seed": options.seed, "progress": options.progress, "unit": "examples"}
    settings = Settings(options.updates, evaluate_every=options.evaluate_every, **same)
    evaluate = lambda m: measure(m, checks)
    batches = Examples(sentences, *numbers, options.seed)
    return fit(model, batches, loss, options.run, options.rate, settings, evaluate, described)


def loss(model: BertForPreTraining, batch: Batch) -> tuple[Tensor, float]:
    """The sum of both losses (appendix A.2), and the number of examples."""
    inputs = {"attention_mask": batch.mask, "token_type_ids": batch.types}
    words, follows = model.losses(batch.tokens, batch.words, batch.follows, **inputs)
    return words + follows, len(batch.follows)


def measure(model: BertForPreTraining, batches: Sequence[Batch]) -> dict[str, float]:
    """The mean losses over words and over examples, and both accuracies."""
    sums, counts = np.zeros(4), np.zeros(2)
    for batch in watched(batches, "measuring"):
        states, masked = model.bert(batch.tokens, batch.mask, batch.types), batch.words != IGNORED
        words = model.words(states[masked], model.bert.embedding.weight)  # only at masked words
        follows = model.next_sentence(model.bert.pooled(states))
        answers = ((words, batch.words[masked]), (follows, batch.follows))
        losses = [float(F.cross_entropy(logits, right, reduction="sum")) for logits, right in answers]
        sums += [*losses, *(float((logits.argmax(-1) == right).sum()) for logits, right in answers)]
        counts += [len(right) for _, right in answers]
    words_loss, pairs_loss, words_right, pairs_right = (sums / np.tile(counts, 2)).tolist()
    both = words_loss + pairs_loss
    results = {"loss": both, "masked_words_loss": words_loss, "next_sentence_loss": pairs_loss}
    return {**results, "masked_words_accuracy": words_right, "next_sentence_accuracy": pairs_right}
