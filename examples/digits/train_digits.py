"""Trains and evaluates a network on the digits, in the same way for all four networks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad_models.training import ShuffledOrder, cosine
from minigrad_models.training.batches import Stream
from minigrad_models.training.progress import Progress
from minigrad_models.training.update import update

from .classifiers import Convolutional, FullyConnected, PatchTransformer, Recurrent
from .digits_data import Array, Digits
from .shifts import all_ways, shifted

BATCH, EPOCHS, WARMUP = 64, 60, 0.05  # warmup: the share of updates with a rising learning rate
REACH = 2  # pixels by which training may shift a digit
CURVE = 20  # evaluations during training


class Architecture(NamedTuple):
    """How to build a network, and its learning rate and weight decay."""

    build: Callable[[], nn.Module]
    rate: float
    decay: float = 0.05


ARCHITECTURES = {
    "fully-connected": Architecture(FullyConnected, 1e-2),
    "convolutional": Architecture(Convolutional, 5e-3),
    "recurrent": Architecture(Recurrent, 1e-2),
    "transformer": Architecture(PatchTransformer, 5e-3, decay=0.5),
}


@dataclass
class Trained:
    """A network and its training history."""

    name: str  # of its architecture
    reach: int  # by how many pixels digits were shifted in training; 0: not at all
    model: nn.Module  # with its last weights
    seconds: float = 0.0  # of training, without evaluations
    updates: list[int] = field(default_factory=list)  # before each evaluation
    losses: list[float] = field(default_factory=list)  # the mean since the previous evaluation
    accuracies: list[float] = field(default_factory=list)  # the share of held-out digits read correctly

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(p.numel() for p in self.model.parameters())


class Batches:
    """Digits in a new order in each epoch, each shifted randomly by up to ``reach`` pixels along both axes."""

    def __init__(self, digits: Digits, reach: int, seed: int) -> None:
        self.digits, self.reach, self.seed = digits, reach, seed
        self.order = ShuffledOrder(len(digits.labels), BATCH, seed=seed, drop_last=True)

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Images (B, 8, 8) and labels (B,), starting at batch ``start`` of an epoch."""
        images, labels = self.digits
        if self.reach:
            random = np.random.default_rng([self.seed, number, self.reach])
            images = shifted(images, random.integers(-self.reach, self.reach + 1, (len(images), 2)))
        for places in self.order.epoch(number, start):
            yield mg.tensor(images[places]), mg.tensor(labels[places])


def updates(digits: Digits, epochs: int) -> int:
    """The number of updates in a training run: one per full batch."""
    return len(digits.labels) // BATCH * epochs


def train(
    name: str, digits: Digits, held_out: Digits, reach: int, seed: int, epochs: int, bar: Progress, began: float
) -> Trained:
    """Train a network from scratch. The progress bar covers several training runs, the first of which started at
    ``began``."""
    batches, steps = Batches(digits, reach, seed), updates(digits, epochs)
    mg.manual_seed(seed)
    architecture = ARCHITECTURES[name]
    trained = Trained(name, reach, architecture.build())
    optimizer = mg.optim.AdamW(trained.model.parameters(), lr=architecture.rate, weight_decay=architecture.decay)
    schedule = LambdaLR(optimizer, cosine(round(WARMUP * steps), steps))
    stream, every, losses = Stream(batches), -(-steps // CURVE), list[float]()
    for step in range(1, steps + 1):
        start = time.perf_counter()
        result = update(trained.model, optimizer, loss, [stream.take()], clip=1.0, step=step)
        schedule.step()
        trained.seconds += time.perf_counter() - start
        losses.append(result.loss)
        bar.advance(result.loss, result.weight, time.monotonic() - began)
        if step % every == 0 or step == steps:
            trained.updates.append(step)
            trained.losses.append(float(np.mean(losses[-every:])))
            trained.accuracies.append(accuracy(trained.model, held_out))
            bar.evaluated(f"{name}, shifts of {reach}:", trained.accuracies[-1])
    return trained


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, float]:
    """The mean cross-entropy of a batch, and its size."""
    images, labels = batch
    return F.cross_entropy(model(images), labels), len(labels)


def read(model: nn.Module, images: Array) -> Array:
    """The digits (N,) that a network reads in images (N, 8, 8). The training mode is restored."""
    was_training = model.training
    model.eval()
    with mg.no_grad():
        digits: Array = model(mg.tensor(images)).argmax(-1).numpy()
    model.train(was_training)
    return digits


def accuracy(model: nn.Module, digits: Digits, distance: int = 0) -> float:
    """The share of digits read correctly after a shift, averaged over the four directions."""
    ways = all_ways(digits.images, distance)
    return float(np.mean([read(model, images) == digits.labels for images in ways]))
