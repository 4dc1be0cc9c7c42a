"""The four fine-tunings, and what each is by default: measured on two cores, see docs/language_bert_tasks.md.

Two label texts (SST-2, Socher et al. 2013; MRPC, Dolan and Brockett 2005), one words (CoNLL-2003, Tjong Kim Sang and De
Meulder 2003); ``spans`` has the fourth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.backend.extras import how_to_install

from .bert import IGNORED, BertForSequenceClassification, BertForTokenClassification
from .bert_data import Labelled, Tagged, find, held_out, pairs, sentences, tagged
from .encoding import Batch, Encoder, Feature, padded
from .spans import Spans
from .task import Array, Read, Recipe, Task, most_frequent

Class = tuple[str, float]  # a label, and its probability


@dataclass(frozen=True)
class Classification(Task[Labelled, Class]):
    """Texts, or pairs of texts, into classes: the pooled state of [CLS] goes through a linear layer (Devlin et al.
    2019, figure 4, a and b).

    Attributes:
        count: texts of an example: 1, or 2 for pairs.
        reader: (file, names of labels) -> examples.
        names: of the labels that the files have as numbers.
        positive: the label that F1 is of; None measures the accuracy alone.
    """

    count: int = 1
    reader: Callable[[Path, Mapping[str, str]], list[Labelled]] = sentences
    names: Mapping[str, str] = field(default_factory=dict)
    positive: str | None = None
    kind = BertForSequenceClassification
    train, dev = ("train.tsv",), ("dev.tsv",)

    def read(self, folder: Path | None) -> tuple[list[Labelled], list[Labelled]]:
        """See ``Task``; without a file for dev, a tenth of the training is held out."""
        if folder is not None and not any((folder / f"{self.dev[0]}{end}").is_file() for end in ("", ".gz")):
            return held_out(self.read_file(find(folder, *self.train)))
        return super().read(folder)

    def read_file(self, path: Path) -> list[Labelled]:
        return self.reader(path, self.names)

    def texts(self, examples: Sequence[Labelled]) -> Iterable[str]:
        return (text for example in examples for text in example.texts)

    def said(self, examples: Sequence[Labelled]) -> Iterable[str]:
        return (example.label for example in examples if example.label is not None)

    def features(self, examples: Sequence[Labelled], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """See ``Task``; a target is the number of a label."""
        encoded = encoder([example.texts if self.count == 2 else example.texts[0] for example in examples])
        numbers = {label: i for i, label in enumerate(labels)}
        targets = [None if example.label is None else numbers[example.label] for example in examples]
        parts = enumerate(zip(encoded, targets, strict=True))
        return [Feature(e.ids, e.type_ids, target, i, [None] * len(e.ids)) for i, (e, target) in parts]

    def outputs(self, model: BertForSequenceClassification, batch: Batch) -> Array:
        """Probabilities of the labels (B, labels)."""
        probabilities: Array = model(batch.tokens, batch.types, batch.mask).softmax(-1).numpy()
        return probabilities

    def answers(self, examples: Sequence[Labelled], read: Sequence[Read], labels: Sequence[str]) -> list[Class]:
        """See ``Task``: the likeliest label, and its probability."""
        return [(labels[int(p.argmax())], float(p.max())) for _, p in read]

    def metrics(self, examples: Sequence[Labelled], answers: Sequence[Class]) -> dict[str, float]:
        """See ``Task``: the accuracy, and F1 of the positive label."""
        right = np.array([example.label for example in examples])
        said = np.array([label for label, _ in answers])
        result = {"accuracy": float((said == right).mean())}
        if self.positive is not None:
            hits = int(((said == self.positive) & (right == self.positive)).sum())
            both = int((said == self.positive).sum() + (right == self.positive).sum())
            result["f1"] = 2 * hits / both if both else 0.0
        return result

    def majority(self, known: Sequence[Labelled], asked: Sequence[Labelled]) -> list[Class]:
        """See ``Task``: the most frequent label."""
        return [(most_frequent(self.said(known)), 1.0)] * len(asked)

    def parse(self, line: str) -> Labelled:
        """A text, or two with a tab between them."""
        texts = tuple(text.strip() for text in line.split("\t"))
        if len(texts) != self.count or not all(texts):
            form = "two texts with a tab between them" if self.count == 2 else "a text without a tab"
            raise ValueError(f"{self.name} needs {form}, not {line[:60]!r}")
        return Labelled(texts)

    def show(self, example: Labelled, answer: Class) -> str:
        return f"{answer[0]}\t{answer[1]:.3f}\t{' | '.join(example.texts)}"


OUTSIDE = "O"
Tags = tuple[str, ...]  # of each word


@dataclass(frozen=True)
class Tagging(Task[Tagged, Tags]):
    """Words into tags: the state of each word's first piece goes through a linear layer; its other pieces are not asked
    (Devlin et al. 2019, section 5.3). Entities are counted as conlleval does, by the library seqeval."""

    kind = BertForTokenClassification
    unit = "words"
    train, dev = ("eng.train", "train.txt"), ("eng.testa", "valid.txt")

    def read(self, folder: Path | None) -> tuple[list[Tagged], list[Tagged]]:
        seqeval()  # before anything is read: it may be missing
        return super().read(folder)

    def read_file(self, path: Path) -> list[Tagged]:
        return tagged(path)

    def texts(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (" ".join(example.words) for example in examples)

    def said(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (tag for example in examples for tag in example.tags or ())

    def features(self, examples: Sequence[Tagged], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """See ``Task``; a target is a list: the number of the tag at the first piece of each word."""
        numbers = {label: i for i, label in enumerate(labels)}
        result = []
        for i, encoding in enumerate(encoder([list(example.words) for example in examples], are_words=True)):
            tags, words = examples[i].tags, encoding.word_ids
            first = [None if word == before else word for before, word in zip([None, *words], words, strict=False)]
            target = None
            if tags is not None:
                target = [IGNORED if word is None else numbers[tags[word]] for word in first]
            result.append(Feature(encoding.ids, encoding.type_ids, target, i, first))
        return result

    def targets(self, features: Sequence[Feature]) -> Tensor:
        """(B, T)"""
        longest = max(len(feature.ids) for feature in features)
        return mg.from_numpy(padded([feature.target for feature in features], longest, IGNORED))

    def outputs(self, model: BertForTokenClassification, batch: Batch) -> Array:
        """The number of the likeliest tag of each piece (B, T)."""
        tags: Array = model(batch.tokens, batch.types, batch.mask).argmax(-1).numpy()
        return tags

    def answers(self, examples: Sequence[Tagged], read: Sequence[Read], labels: Sequence[str]) -> list[Tags]:
        result = []
        for feature, output in read:
            tags = [OUTSIDE] * len(examples[feature.example].words)
            for word, number in zip(feature.places, output.tolist(), strict=False):
                if word is not None:
                    tags[word] = labels[number]
            result.append(tuple(tags))
        return result

    def metrics(self, examples: Sequence[Tagged], answers: Sequence[Tags]) -> dict[str, float]:
        """See ``Task``: F1, precision and recall of whole entities, and the accuracy of tags."""
        score = seqeval()
        right = [list(example.tags or ()) for example in examples]
        said = [list(answer) for answer in answers]
        names = ("f1", "precision", "recall")
        result = {name: float(getattr(score, f"{name}_score")(right, said, zero_division=0)) for name in names}
        return {**result, "accuracy": float(score.accuracy_score(right, said))}

    def majority(self, known: Sequence[Tagged], asked: Sequence[Tagged]) -> list[Tags]:
        """See ``Task``: the most frequent tag of each word; of words that are new, that of all."""
        tags: dict[str, list[str]] = {}
        for example in known:
            for word, tag in zip(example.words, example.tags or (), strict=True):
                tags.setdefault(word, []).append(tag)
        best, rest = {word: most_frequent(seen) for word, seen in tags.items()}, most_frequent(self.said(known))
        return [tuple(best.get(word, rest) for word in example.words) for example in asked]

    def parse(self, line: str) -> Tagged:
        """Words with spaces between them; punctuation marks are words if spaces set them off."""
        if not line.split():
            raise ValueError("words are needed, not an empty line")
        return Tagged(tuple(line.split()))

    def show(self, example: Tagged, answer: Tags) -> str:
        """Word/tag, or the word alone outside of entities."""
        both = zip(example.words, answer, strict=True)
        return " ".join(word if tag == OUTSIDE else f"{word}/{tag}" for word, tag in both)


def seqeval() -> Any:
    """The library. Raises ImportError: it is missing."""
    try:
        import seqeval.metrics
    except ImportError:
        raise ImportError(f"entities are counted by seqeval: {how_to_install('bert', 'seqeval')}") from None
    return seqeval.metrics


TASKS: dict[str, Task[Any, Any]] = {
    task.name: task
    for task in (
        Classification(
            name="mrpc",
            about="whether two sentences say the same (MRPC): accuracy and F1",
            files="a folder with train.tsv as MRPC has it, and dev.tsv; without that, a tenth of train.tsv is held out",
            recipe=Recipe(4, 32, 1e-4),
            scratch=Recipe(10, 32, 5e-4),
            longest=128,
            metric="f1",
            count=2,
            reader=pairs,
            names={"0": "different", "1": "equivalent"},
            positive="equivalent",
        ),
        Classification(
            name="sst2",
            about="whether a review is positive (SST-2): accuracy",
            files="a folder with train.tsv and dev.tsv: sentence, tab, label",
            recipe=Recipe(3, 32, 1e-4),
            scratch=Recipe(10, 32, 5e-4),
            longest=128,
            metric="accuracy",
            names={"0": "negative", "1": "positive"},
        ),
        Spans(
            name="squad",
            about="where a text answers a question (SQuAD 1.1): F1 and exact match",
            files="a folder with train.json and dev.json in SQuAD's format (default: questions that a grammar writes)",
            recipe=Recipe(3, 16, 1e-4),
            scratch=Recipe(20, 32, 1e-3),
            longest=192,
            metric="f1",
        ),
        Tagging(
            name="conll",
            about="names of persons, places, organisations (CoNLL-2003): F1 of entities",
            files="a folder with eng.train and eng.testa, plain or as .gz",
            recipe=Recipe(4, 32, 1e-4),
            scratch=Recipe(10, 32, 1e-3),
            longest=128,
            metric="f1",
        ),
    )
}
