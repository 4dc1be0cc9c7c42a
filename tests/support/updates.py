"""Counts the updates of presets on the stand-in for a GPU, in the programs' own loop.

    counts = updates.of("multi30k", folder)
    counts.launches, counts.syncs, counts.by_name.most_common(10)

Layers, optimiser, clipping and schedule are the preset's. Only text, vocabulary and batches are small, so that the
emulator of CUDA kernels takes seconds; they do not change the number of launches.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
import minigrad_models.gpt.gpt_settings
from minigrad_models.gpt.gpt_run import ARCHITECTURES, build as build_language_model
from minigrad_models.gpt.tokens import Characters
from minigrad_models.programs.start_training import trainer_of
from minigrad_models.text import EncodedPairs, Pairs, TokenizerPair, WordTokenizer
from minigrad_models.training import Trainer
from minigrad_models.translation.architectures import build
from minigrad_models.translation.train_translator import make_trainer
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Translator

from . import launches, strict

UPDATES = 5  # the second to last is counted: by then the optimiser has its state, and kernels are compiled
WORDS = ("a", "big", "boat", "dog", "eats", "fish", "house", "likes")
WORDS += ("man", "red", "runs", "sees", "small", "sun", "the", "two")


class Counting:
    """Batches of a training run; it counts from the first batch of an update to the first of the next.

    Args:
        batches: the run's batches. each: batches per update. update: the number of the update to count, from 0.
    """

    def __init__(self, batches: Any, each: int, update: int) -> None:
        self.batches, self.first, self.last = batches, each * update, each * (update + 1)
        self.counts = launches.Counts()

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """The same batches; the training must end within one epoch."""
        batches = self.batches.epoch(number, start)
        yield from islice(batches, self.first)
        with launches.count() as self.counts:
            yield from islice(batches, self.last - self.first)
        yield from batches


def of(name: str, folder: Path, device: str = "strict", **changes: Any) -> launches.Counts:
    """The launches and synchronisations of one update of a preset: "multi30k", "toy" or "shakespeare", in its training
    loop. ``changes`` are settings."""
    strict.install()
    minigrad.manual_seed(0)
    usual = {"device": device, "steps": UPDATES, "ranks": 1, "save_seconds": 0.0, "warm_up": 1}
    trainer = (_language if name == "shakespeare" else _translator)(name, folder, {**usual, **changes})
    counting = Counting(trainer.batches, trainer.settings.accumulate, UPDATES - 2)
    trainer.batches = counting
    trainer.settings = replace(trainer.settings, progress=False)
    trainer.fit()
    return counting.counts


def _translator(name: str, folder: Path, changes: dict[str, Any]) -> Trainer:
    settings = preset(name).changed({"batch_tokens": 48, "longest": 16, **changes})
    draw = np.random.default_rng(0)
    source, target = ([" ".join(draw.choice(WORDS, draw.integers(3, 8))) for _ in range(100)] for _ in range(2))
    words = WordTokenizer.train([*source, *target])
    pairs, tokenizers = Pairs(source, target), TokenizerPair(words, words)
    encoded = EncodedPairs(pairs, tokenizers, longest=settings.data.longest, progress=False)
    model = build(settings.model, tokenizers, settings.training.device)
    return make_trainer(Translator(model, tokenizers, settings), {"train": pairs}, encoded, {}, folder)


def _language(name: str, folder: Path, changes: dict[str, Any]) -> Trainer:
    settings = minigrad_models.gpt.gpt_settings.Settings.preset(name).changed({"batch": 2, "window": 12, **changes})
    s, text = settings.training, " ".join(WORDS * 10)
    tokens = Characters("".join(sorted(set(text))))
    kind = ARCHITECTURES[settings.model.model]
    model = build_language_model(settings.model, len(tokens), s.device)
    batches = kind.batches(tokens.encode(text), settings.window, s.batch, s.seed, s.device)
    return trainer_of(model, batches, kind.loss(), lambda model: {"loss": 0.0}, s, folder, {})
