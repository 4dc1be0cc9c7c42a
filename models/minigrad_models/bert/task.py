"""What a fine-tuning has to say for itself: its data, its head, its metric. The loop is the same for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..architectures.pretrained import Pretrained
from .bert import IGNORED
from .bert_data import find
from .encoding import Batch, Encoder, Feature

E = TypeVar("E")  # an example
A = TypeVar("A")  # an answer
Array = np.ndarray[Any, np.dtype[Any]]
Read = tuple[Feature, Array]  # and the model's output for it


class Recipe(NamedTuple):
    """How long and how fast: epochs over the examples, examples in a batch, the highest learning rate."""

    epochs: int
    batch: int
    rate: float


@dataclass(frozen=True)
class Task(ABC, Generic[E, A]):
    """A fine-tuning.

    Attributes:
        name: of the command. about: for its help. files: what --data is, for its help.
        recipe: from pretrained weights. scratch: from random ones.
        longest: pieces that the model reads at once.
        metric: by which the best checkpoint is chosen; larger is better.
        kind: the model with its head. unit: what the weights of losses count.
        train, dev: names of the files to learn from, and to measure by; the first that is there counts.
    """

    name: str
    about: str
    files: str
    recipe: Recipe
    scratch: Recipe
    longest: int
    metric: str
    kind: ClassVar[type[Pretrained]]
    unit: ClassVar[str] = "examples"

    train: ClassVar[tuple[str, ...]]
    dev: ClassVar[tuple[str, ...]]

    def read(self, folder: Path | None) -> tuple[list[E], list[E]]:
        """The examples to learn from, and those to measure by. Raises OSError, ValueError: files that are missing or
        damaged."""
        if folder is None:
            raise FileNotFoundError(f"{self.name} needs its data: --data DIR, {self.files}")
        return self.read_file(find(folder, *self.train)), self.read_file(find(folder, *self.dev))

    @abstractmethod
    def read_file(self, path: Path) -> list[E]:
        """The examples of one file, with what is right. Raises as ``read``."""

    @abstractmethod
    def texts(self, examples: Sequence[E]) -> Iterable[str]:
        """All text of some examples, to learn word pieces from."""

    def said(self, examples: Sequence[E]) -> Iterable[str]:
        """The labels of some examples, one after the other; nothing for a task without labels."""
        return ()

    def encoder(self, tokenizer: Any, longest: int) -> Encoder:
        """What cuts texts into pieces, and off what is too long: of a pair the longer text first."""
        return Encoder(tokenizer, longest)

    @abstractmethod
    def features(self, examples: Sequence[E], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """What the model reads, one feature for an example or several. Raises ValueError: an example is not for it."""

    def targets(self, features: Sequence[Feature]) -> Tensor:
        """The targets of a batch's features (B, ...)."""
        return mg.tensor([feature.target for feature in features])

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, float]:
        """The mean loss of a batch, and how much it counts."""
        assert batch.targets is not None
        count = float((batch.targets != IGNORED).sum())
        return model.loss(batch.tokens, batch.targets, batch.types, batch.mask), count

    @abstractmethod
    def outputs(self, model: Any, batch: Batch) -> Array:
        """What the model says about each feature, (B, ...)."""

    @abstractmethod
    def answers(self, examples: Sequence[E], read: Sequence[Read], labels: Sequence[str]) -> list[A]:
        """The answer for each example, from its features and the outputs for them."""

    @abstractmethod
    def metrics(self, examples: Sequence[E], answers: Sequence[A]) -> dict[str, float]:
        """How right the answers are, by name, from 0 to 1."""

    @abstractmethod
    def majority(self, known: Sequence[E], asked: Sequence[E]) -> list[A]:
        """What can be answered without a model: the most frequent of the examples that are known."""

    @abstractmethod
    def parse(self, line: str) -> E:
        """An example that is asked for, from a line. Raises ValueError: the line is not of the form."""

    @abstractmethod
    def show(self, example: E, answer: A) -> str:
        """An answer, as a line."""

    def labels(self, examples: Sequence[E]) -> list[str]:
        """The names of the labels, in the order of the model's outputs."""
        return sorted(set(self.said(examples)))

    def check(self, examples: Sequence[E], labels: Sequence[str]) -> None:
        """Raise ValueError: examples with a label that is not among those of the training."""
        if unseen := sorted(set(self.said(examples)) - set(labels)):
            raise ValueError(
                f"the label {unseen[0]!r} is not among those of the training: {', '.join(labels) or 'there are none'}"
            )


V = TypeVar("V", bound=Hashable)


def most_frequent(values: Iterable[V]) -> V:
    """The value that occurs most often; of several the first."""
    return Counter(values).most_common(1)[0][0]
