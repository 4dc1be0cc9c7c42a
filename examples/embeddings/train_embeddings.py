"""Training: batches of pairs from pieces of the text, and the training run."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.optim import Adam
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad_models.training import Settings as RunSettings, Trainer, linear, read_log

from .skip_gram import Noise, SkipGram, keep_probability, noise_distribution, pairs
from .text import BREAK, Corpus
from .vectors import Vectors

POINTS = 25  # on the loss curve, approximately
_MOST = {"width": 10_000, "window": 1000, "negatives": 1000, "epochs": 10**9, "piece": 10**6, "shared": 10_000}


@dataclass(frozen=True)
class Settings:
    """The settings of a training run.

    Args:
        width: D. window: the largest window; each word draws its own, from 1. negatives: k in equation 4.
        subsample: t in equation 5; infinity keeps all words.
        epochs: passes over the text.
        rate: Adam's initial learning rate, which decays linearly to zero.
        piece: words of the text per batch, before frequent words are dropped.
        shared: consecutive pairs that share noise words; 1 is the paper's sum.
        seed: for the initial vectors and all random draws.

    Raises:
        ValueError: if a setting is out of range.
    """

    width: int = 64
    window: int = 5
    negatives: int = 5
    subsample: float = 1e-3
    epochs: int = 8
    rate: float = 0.01
    piece: int = 4096
    shared: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from 1 to {most:,}, not {getattr(self, name)}")
        for name in ("subsample", "rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")


class Batch(NamedTuple):
    """The pairs in a piece of the text."""

    word: Tensor  # (P,)
    context: Tensor  # (P,)
    noise: Tensor  # (N, K), where N divides P
    read: int  # the number of words in the piece


class Pieces:
    """The batches of a training run: each epoch contains all pieces of the text, in a new order.

    The dropped words, the windows and the noise depend only on the seed, the epoch and the piece, so a run can be
    resumed at any batch.
    """

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        self.corpus, self.settings = corpus, settings
        self._kept = keep_probability(corpus.counts, settings.subsample)
        self._noise = Noise(noise_distribution(corpus.counts))

    def __len__(self) -> int:
        return math.ceil(len(self.corpus.ids) / self.settings.piece)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, starting at number ``start``."""
        order = self._generator(number).permutation(len(self))
        for piece in order[start:].tolist():
            yield self.batch(piece, self._generator(number, piece + 1))

    def batch(self, piece: int, generator: np.random.Generator) -> Batch:
        """The pairs in a piece, and their noise. As ``shared`` pairs share a draw, the last few pairs may occur
        twice."""
        settings = self.settings
        ids = self.corpus.ids[piece * settings.piece : (piece + 1) * settings.piece].astype(np.int64)
        texts, words = np.cumsum(ids == BREAK), ids != BREAK
        read = int(words.sum())
        words &= generator.random(len(ids)) < self._kept[ids]  # BREAK indexes the last word, but is already excluded
        reach = generator.integers(1, settings.window + 1, int(words.sum()))
        word, context = pairs(ids[words], texts[words], reach)
        draws = -(-len(word) // settings.shared)
        word, context = (np.resize(x, draws * settings.shared) if draws else x for x in (word, context))
        noise = self._noise.draw((draws, max(settings.negatives, settings.shared)), generator)
        return Batch(mg.from_numpy(word), mg.from_numpy(context), mg.from_numpy(noise), read)

    def _generator(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed % 2**64, *place])


def loss(model: SkipGram, batch: Batch) -> tuple[Tensor, float]:
    """The mean over pairs, and the number of words in the batch, from which the speed is computed."""
    if not len(batch.word):  # rarely, no pair of words remains in a piece
        return model.word.weight[:0].sum(), batch.read
    return model(batch.word, batch.context, batch.noise).mean(), batch.read


class Trained(NamedTuple):
    """The result of a training run."""

    vectors: Vectors
    speed: float  # words of text per second, including words that equation 5 drops
    seconds: float  # of training, including earlier runs in the folder
    losses: list[tuple[int, float]]  # from the log: (step, mean loss per pair over the last steps)


def train(corpus: Corpus, settings: Settings, folder: Path | None = None, progress: bool = True) -> Trained:
    """Train vectors on a corpus. An interrupted run in ``folder`` is resumed. Raises KeyboardInterrupt if the run is
    interrupted, OSError or RuntimeError if the folder cannot be used, and ValueError if it contains a run with other
    settings or another text."""
    mg.manual_seed(settings.seed)
    model = SkipGram(len(corpus.words), settings.width, settings.negatives)
    optimizer = Adam(model.parameters(), lr=settings.rate)
    pieces = Pieces(corpus, settings)
    steps = settings.epochs * len(pieces)
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as place:
        trainer = Trainer(
            model,
            optimizer,
            pieces,
            loss,
            folder=place,
            settings=RunSettings(
                steps, clip=None, log_every=max(1, steps // POINTS), seed=settings.seed, progress=progress
            ),
            schedule=LambdaLR(optimizer, linear(0, steps)),
            extra={"config": {**asdict(settings), "text": corpus.digest}},
        )
        outcome = trainer.fit()
        if not outcome.finished:
            raise KeyboardInterrupt
        lines = [line for line in read_log(place) if "loss" in line]
    vectors = Vectors(corpus.words, model.word.weight.detach().numpy())
    speed = trainer.state.tokens / max(outcome.seconds, 1e-9)
    return Trained(vectors, speed, outcome.seconds, [(line["step"], line["loss"]) for line in lines])
