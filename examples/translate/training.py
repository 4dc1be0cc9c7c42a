"""The training: batches, updates, a progress bar, checkpoints, and a look at sentences never seen."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Iterator
from typing import Any

import minigrad as mg
from minigrad.nn.utils import clip_grad_norm_
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.text import Tokenizer, batches
from minigrad.text.batching import Encoded
from models.transformer import Config, Transformer, pad

from . import checkpoint, data
from .evaluation import report, show_samples
from .interrupt import Interrupt
from .progress import Progress

SAVE_SECONDS = 60.0


class Recipe:
    """How to train: the shipped corpus's own settings, or the reference recipe of Multi30k for other data.

    It is that of Wu et al. 2021 (arXiv 2105.14462): 4 layers of width 128, dropout 0.3, label smoothing
    0.1, Adam with β = (0.9, 0.98), learning rate 0.005 after 2,000 warm-up steps, then falling as 1/√step.
    Both normalise first (Xiong et al. 2020, arXiv 2002.04745), which learns in fewer updates.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        own = options.data is not None
        self.steps: int = options.steps or (8000 if own else 1100)
        self.batch_tokens: int = options.batch_tokens or (4096 if own else 2048)
        self.rate: float = options.learning_rate or (0.005 if own else 0.002)
        self.dropout: float = options.dropout if options.dropout is not None else (0.3 if own else 0.0)
        self.warm_up = 2000 if own else min(200, self.steps // 4 + 1)
        self.label_smoothing = 0.1
        self.layers, self.d_ff = (4, 256) if own else (2, 256)
        self.positions = 1024 if own else 128
        self.falls_to_zero = not own

    def config(self, vocabulary: int) -> Config:
        """The model's sizes."""
        sizes = (vocabulary, 128, 4, self.layers, self.d_ff, self.dropout, self.positions)
        return Config(*sizes, norm_first=True)

    def factor(self, step: int) -> float:
        """The learning rate at a step, as a part of the highest."""
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        if self.falls_to_zero:
            return 0.5 * (1 + math.cos(math.pi * (step - self.warm_up) / max(1, self.steps - self.warm_up)))
        return math.sqrt(self.warm_up / (step + 1))


class Training:
    """A model, its optimiser and its place in the data: all that a checkpoint holds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.recipe = options, Recipe(options)
        checkpoint.check_writable(options.checkpoint)
        mg.manual_seed(options.seed)
        self.step = self.epoch = self.batch = 0
        self.seconds = 0.0
        tokenizer, state = None, None
        if options.resume:
            self.model, tokenizer, state = checkpoint.load(options.checkpoint, options.device)
        self.corpus = data.load(options, self.recipe.positions, tokenizer)
        if not options.resume:
            self.model = Transformer(self.recipe.config(len(self.tokenizer))).to(options.device)
        self.optimizer = mg.optim.Adam(
            self.model.parameters(), lr=self.recipe.rate, betas=(0.9, 0.98), eps=1e-9
        )
        self.schedule = LambdaLR(self.optimizer, self.recipe.factor)
        if state is not None:
            self.restore(state)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.corpus.tokenizer

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the model and the tokenizer."""
        return {
            "step": self.step,
            "epoch": self.epoch,
            "batch": self.batch,
            "seconds": self.seconds,
            "seed": self.options.seed,
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": mg.default_generator.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what ``state`` kept."""
        self.step, self.epoch, self.batch, self.seconds = (
            state[k] for k in ("step", "epoch", "batch", "seconds")
        )
        self.options.seed = state["seed"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        mg.default_generator.set_state(state["random"])

    def save(self) -> None:
        checkpoint.save(self.options.checkpoint, self.model, self.tokenizer, self.state())

    def batches(self) -> Iterator[list[Encoded]]:
        """Batches without end, each epoch in an order of its own, from where the training stands."""
        pairs = self.corpus.encoded
        while True:
            order = list(
                batches(pairs, self.recipe.batch_tokens, seed=self.options.seed * 1_000_003 + self.epoch)
            )
            for rows in order[self.batch :]:
                yield [pairs[i] for i in rows]
            self.epoch, self.batch = self.epoch + 1, 0

    def update(self, batch: list[Encoded]) -> float:
        """One step of Adam on one batch; returns its loss.

        Raises:
            RuntimeError: the loss is not a number; the last checkpoint is left as it is.
        """
        device = self.options.device
        source, target = pad([a for a, _ in batch], device), pad([b for _, b in batch], device)
        loss = self.model.loss(source, target, self.recipe.label_smoothing)
        value = float(loss)
        if not math.isfinite(value):
            raise RuntimeError(
                f"the loss is {value} at step {self.step + 1}. Try a lower --learning-rate; what was saved "
                f"to {self.options.checkpoint} before is unharmed"
            )
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.step, self.batch = self.step + 1, self.batch + 1
        return value


def train(options: argparse.Namespace) -> int:
    """Train, save, and report on sentences never seen; returns the exit status (130 after Ctrl-C)."""
    training = Training(options)
    count = sum(p.numel() for p in training.model.parameters())
    corpus = training.corpus
    print(
        f"{len(corpus.encoded):,} sentence pairs, {len(corpus.tokenizer):,} tokens in the vocabulary, "
        f"{count:,} parameters, on {options.device}",
        flush=True,
    )
    finished = run(training)
    training.save()
    if not finished:
        print(
            f"\nstopped at step {training.step:,}; saved to {options.checkpoint}. "
            f"Go on with:\n  {go_on(options)}"
        )
        return 130
    print(f"saved to {options.checkpoint}")
    show_samples(training.model, corpus)
    report(training.model, corpus, options.beam, options.bleu_tokenize)
    again = ["--checkpoint", str(options.checkpoint)] if options.data else []
    example = corpus.pairs["train"].source[0] if options.data else "I like cats"
    print("\ntranslate with it:  " + shlex.join(["python", "-m", "examples.translate", *again, example]))
    return 0


def run(training: Training) -> bool:
    """Update until the steps or the minutes are over, saving every minute; False after Ctrl-C."""
    options, steps = training.options, training.recipe.steps
    limit = math.inf if options.minutes is None else 60 * options.minutes
    training.model.train()
    saved = started = time.monotonic()
    before = training.seconds
    with Interrupt() as stop, Progress(steps, limit, training.step, before) as bar:
        for batch in training.batches():
            if training.step >= steps or training.seconds >= limit:
                return True
            if stop.asked:
                return False
            loss = training.update(batch)
            training.seconds = before + time.monotonic() - started
            bar.advance(loss, sum(len(a) + len(b) for a, b in batch), training.seconds)
            if time.monotonic() - saved > SAVE_SECONDS:
                training.save()
                saved = time.monotonic()
    return False


def go_on(options: argparse.Namespace) -> str:
    """The command that resumes this training."""
    given = [a for a in sys.argv[1:] if a != "--resume"]
    return shlex.join(["python", "-m", "examples.translate", *given, "--resume"])
