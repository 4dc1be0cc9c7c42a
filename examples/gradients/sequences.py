"""Two tasks that require memory: the adding problem and the copying task, of any length.

Adding is from Hochreiter and Schmidhuber 1997, "Long short-term memory", section 5.4. Both tasks are used by Arjovsky,
Shah and Bengio 2016, "Unitary evolution recurrent neural networks", section 4. Every batch draws new sequences, so
training never runs out of data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

Random = np.random.Generator
Batch = tuple[Tensor, Tensor]  # inputs (B, T, D), and targets
SYMBOLS, ALPHABET = 3, 8  # in the copying task: how many symbols to copy, and how many kinds
BLANK, SIGN = 0, ALPHABET + 1


class Task(ABC):
    """A task with a given length and dependencies over long distances."""

    name: ClassVar[str]
    inputs: ClassVar[int]  # the width of a network for it
    outputs: ClassVar[int]  # the width of its output
    up: ClassVar[str]  # the meaning of ``score``
    guess: ClassVar[float]  # the score of a network without any memory
    more: ClassVar[int] = 0  # steps in addition to the length

    def __init__(self, length: int) -> None:
        self.length = length

    @property
    def steps(self) -> int:
        """T: the length of its sequences."""
        return self.length + self.more

    @abstractmethod
    def draw(self, random: Random, count: int) -> Batch:
        """Draw ``count`` sequences."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, float]:
        """The mean loss, and the number of sequences."""

    @abstractmethod
    def score(self, model: nn.Module, batch: Batch) -> float:
        """The score of a network on a batch."""

    @abstractmethod
    def solved(self, score: float) -> bool:
        """Whether a score means that the network has solved the task."""


class Adding(Task):
    """The sum of two marked numbers, one in each half of a sequence of numbers in [0, 1]. Inputs (B, T, 2) are a number
    and its mark, 0 or 1. Always answering 1 (the mean) yields an error of 1/6, the variance of the sum of two such
    numbers."""

    name, inputs, outputs, up, guess = "adding", 2, 1, "mean squared error", 1 / 6
    least = 0.01  # a smaller error means that the network has learned to add

    def draw(self, random: Random, count: int) -> Batch:
        numbers, marks = random.random((count, self.length)), np.zeros((count, self.length))
        rows, half = np.arange(count), self.length // 2
        marks[rows, random.integers(0, half, count)] = 1
        marks[rows, random.integers(half, self.length, count)] = 1
        sums = (numbers * marks).sum(1)  # (B,)
        return _tensor(np.stack([numbers, marks], -1)), _tensor(sums)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, float]:
        inputs, sums = batch
        return F.mse_loss(model(inputs)[:, -1, 0], sums), len(sums)

    def score(self, model: nn.Module, batch: Batch) -> float:
        return self.loss(model, batch)[0].item()

    def solved(self, score: float) -> bool:
        return score < self.least


class Copying(Task):
    """After some symbols, some blanks and a signal, the network must repeat the symbols in order. There are 3 symbols
    to copy instead of 10 as in Arjovsky et al., so that networks that can learn the task do so in a minute. Inputs (B,
    T, A + 2) are one-hot. Outputs before the signal do not count."""

    name, inputs, outputs, up, guess = "copying", ALPHABET + 2, ALPHABET, "symbols copied", 1 / ALPHABET
    least, more = 0.99, 2 * SYMBOLS

    def draw(self, random: Random, count: int) -> Batch:
        symbols = random.integers(1, ALPHABET + 1, (count, SYMBOLS))
        ids = np.full((count, self.steps), BLANK)
        ids[:, :SYMBOLS] = symbols
        ids[:, -SYMBOLS - 1 if self.length else -SYMBOLS] = SIGN
        return _tensor(np.eye(self.inputs)[ids]), mg.tensor(symbols - 1)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, float]:
        inputs, symbols = batch
        logits = model(inputs)[:, -SYMBOLS:]  # (B, S, A)
        return F.cross_entropy(logits.reshape(-1, ALPHABET), symbols.reshape(-1)), len(symbols)

    def score(self, model: nn.Module, batch: Batch) -> float:
        inputs, symbols = batch
        return (model(inputs)[:, -SYMBOLS:].argmax(-1) == symbols).float().mean().item()

    def solved(self, score: float) -> bool:
        return score >= self.least


TASKS: tuple[type[Task], ...] = (Adding, Copying)


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    return mg.tensor(array, dtype=mg.float32)
