"""Texts, or pairs of texts, into classes: SST-2 (Socher et al. 2013) and MRPC (Dolan and Brockett 2005).

The pooled state of [CLS] goes through a linear layer (Devlin et al. 2019, figure 4, a and b).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import minigrad as mg
from minigrad import Tensor

from .bert import BertForSequenceClassification
from .bert_data import Labelled, find, held_out, sentences
from .encoding import Batch, Encoder, Feature
from .task import Array, Task, most_frequent

Answer = tuple[str, float]  # a label, and its probability


@dataclass(frozen=True)
class Classification(Task[Labelled, Answer]):
    """Texts into classes.

    Attributes:
        count: texts of an example: 1, or 2 for pairs.
        reader: (file, names of labels) -> examples.
        names: of the labels that the files have as numbers.
        train, dev: names of the files; without a file for dev, a tenth of the training is held out.
        positive: the label that F1 is of; None measures the accuracy alone.
    """

    count: int = 1
    reader: Callable[[Path, Mapping[str, str]], list[Labelled]] = sentences
    names: Mapping[str, str] = field(default_factory=dict)
    train: str = "train.tsv"
    dev: str = "dev.tsv"
    positive: str | None = None
    kind = BertForSequenceClassification

    def read(self, folder: Path | None) -> tuple[list[Labelled], list[Labelled]]:
        known = self.read_file(find(self.there(folder), self.train))
        try:
            path = find(self.there(folder), self.dev)
        except FileNotFoundError:
            return held_out(known)
        return known, self.read_file(path)

    def read_file(self, path: Path) -> list[Labelled]:
        return self.reader(path, self.names)

    def texts(self, examples: Sequence[Labelled]) -> Iterable[str]:
        return (text for example in examples for text in example.texts)

    def said(self, examples: Sequence[Labelled]) -> Iterable[str]:
        return (example.label for example in examples if example.label is not None)

    def encoder(self, tokenizer: object, longest: int) -> Encoder:
        """See ``Task``. What is too long is cut off, of a pair's longer text first."""
        return Encoder(tokenizer, longest)

    def features(self, examples: Sequence[Labelled], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """See ``Task``; a target is the number of a label."""
        encoded = encoder([example.texts if self.count == 2 else example.texts[0] for example in examples])
        numbers = {label: i for i, label in enumerate(labels)}
        return [
            Feature(
                e.ids, e.type_ids, None if example.label is None else numbers[example.label], i, [None] * len(e.ids)
            )
            for i, (example, e) in enumerate(zip(examples, encoded, strict=True))
        ]

    def targets(self, features: Sequence[Feature]) -> Tensor:
        """(B,)"""
        return mg.tensor([feature.target for feature in features])

    def loss(self, model: BertForSequenceClassification, batch: Batch) -> tuple[Tensor, float]:
        """See ``Task``: the cross-entropy of the right label."""
        assert batch.targets is not None
        return model.loss(batch.tokens, batch.targets, batch.types, batch.mask), len(batch.targets)

    def outputs(self, model: BertForSequenceClassification, batch: Batch) -> Array:
        """Probabilities of the labels (B, labels)."""
        probabilities: Array = model(batch.tokens, batch.types, batch.mask).softmax(-1).numpy()
        return probabilities

    def answers(
        self, examples: Sequence[Labelled], features: Sequence[Feature], outputs: Sequence[Array], labels: Sequence[str]
    ) -> list[Answer]:
        """See ``Task``: the likeliest label, and its probability."""
        return [(labels[int(p.argmax())], float(p.max())) for p in outputs]

    def metrics(self, examples: Sequence[Labelled], answers: Sequence[Answer]) -> dict[str, float]:
        """See ``Task``: the accuracy, and F1 of the positive label."""
        right = np.array([example.label for example in examples])
        said = np.array([label for label, _ in answers])
        result = {"accuracy": float((said == right).mean())}
        if self.positive is not None:
            hits = int(((said == self.positive) & (right == self.positive)).sum())
            both = int((said == self.positive).sum() + (right == self.positive).sum())
            result["f1"] = 2 * hits / both if both else 0.0
        return result

    def majority(self, known: Sequence[Labelled], asked: Sequence[Labelled]) -> list[Answer]:
        """See ``Task``: the most frequent label."""
        return [(most_frequent(self.said(known)), 1.0)] * len(asked)

    def parse(self, line: str) -> Labelled:
        """A text, or two with a tab between them."""
        texts = tuple(text.strip() for text in line.split("\t"))
        if len(texts) != self.count or not all(texts):
            form = "two texts with a tab between them" if self.count == 2 else "a text without a tab"
            raise ValueError(f"{self.name} needs {form}, not {line[:60]!r}")
        return Labelled(texts)

    def show(self, example: Labelled, answer: Answer) -> str:
        return f"{answer[0]}\t{answer[1]:.3f}\t{' | '.join(example.texts)}"
