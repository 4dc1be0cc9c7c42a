"""The four fine-tuning tasks: their data, heads, metrics and default settings, which were tuned on two cores (see
docs/language_bert_tasks.md).

Two tasks label texts (SST-2, Socher et al. 2013; MRPC, Dolan and Brockett 2005), one labels words (CoNLL-2003, Tjong
Kim Sang and De Meulder 2003), and one finds the span that answers a question (SQuAD 1.1, Rajpurkar et al. 2016).
"""

from __future__ import annotations

import re
import string
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.backend.extras import library

from ..architectures.pretrained import Pretrained
from ..programs.folder import command
from .bert import IGNORED, BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification
from .bert_data import (
    Batch,
    Encoder,
    Feature,
    Labelled,
    Question,
    Tagged,
    find,
    held_out,
    pairs,
    questions,
    sentences,
    tagged,
)
from .questions import load as generated
from .small import load

LONGEST_ANSWER = 30  # pieces
ARTICLES = re.compile(r"\b(a|an|the)\b")
OUTSIDE = "O"
V = TypeVar("V", bound=Hashable)
Array = np.ndarray[Any, np.dtype[Any]]
Read = tuple[Feature, Array]  # a feature, and the model's output for it
Class = tuple[str, float]  # a label, and its probability
Tags = tuple[str, ...]  # the tags of the words
Answer = tuple[str, float]  # a span of the text, and the sum of its two logits


class Recipe(NamedTuple):
    """The settings of a fine-tuning run."""

    epochs: int
    batch: int
    rate: float  # the highest learning rate


RECIPE, SCRATCH = Recipe(4, 32, 1e-4), Recipe(10, 32, 5e-4)


@dataclass(frozen=True)
class Task(ABC):
    """A fine-tuning task. ``Classification`` documents the methods that all tasks have."""

    name: str  # of the command
    about: str  # for its help
    files: str  # for the help of --data
    metric: str = "f1"  # selects the best checkpoint; larger is better
    recipe: Recipe = RECIPE  # from pretrained weights
    scratch: Recipe = SCRATCH  # from random weights
    longest: int = 128  # pieces that the model reads at once
    kind: ClassVar[type[Pretrained]]  # the model with its head
    unit: ClassVar[str] = "examples"  # their number weights the losses
    windows: ClassVar[bool] = False  # split an overlong second text into windows instead of truncating it
    train: ClassVar[tuple[str, ...]]  # names of the training file; the first that exists is used
    dev: ClassVar[tuple[str, ...]]  # names of the evaluation file

    def read(self, folder: Path | None) -> tuple[list[Any], list[Any]]:
        """The examples for training and for evaluation."""
        if folder is None:
            about = f"using a small data set from the bundled corpus; {command('data')} lists published data sets"
            print(f"{self.name}: {about}", file=sys.stderr)
            return load(self.name, "train"), load(self.name, "dev")
        return self.read_file(find(folder, *self.train)), self.read_file(find(folder, *self.dev))

    @abstractmethod
    def read_file(self, path: Path) -> list[Any]:
        """The examples in one file, with their labels or answers."""

    def said(self, examples: Sequence[Any]) -> Iterable[str]:
        """All labels in the examples. The result is empty if the task has no labels."""
        return ()

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, float]:
        """The mean loss of a batch, and the weight of the batch."""
        assert batch.targets is not None
        count = float((batch.targets != IGNORED).sum())
        return model.loss(batch.tokens, batch.targets, attention_mask=batch.mask, token_type_ids=batch.types), count

    def check(self, examples: Sequence[Any], labels: Sequence[str]) -> None:
        """Raise ValueError if an example has a label that the training data lacks."""
        if unseen := sorted(set(self.said(examples)) - set(labels)):
            raise ValueError(
                f"the label {unseen[0]!r} is not in the training data, whose labels are: {', '.join(labels) or 'none'}"
            )


def most_frequent(values: Iterable[V]) -> V:
    """The most frequent value; the first in a tie."""
    return Counter(values).most_common(1)[0][0]


@dataclass(frozen=True)
class Classification(Task):
    """Assigns texts, or pairs of texts, to classes: the pooled state of [CLS] goes through a linear layer (Devlin et
    al. 2019, figure 4, a and b)."""

    count: int = 1  # texts per example: 1, or 2 for pairs
    reader: Callable[[Path, Mapping[str, str]], list[Labelled]] = sentences  # (file, names of labels) -> examples
    names: Mapping[str, str] = field(default_factory=dict)  # of labels that are numbers in the files
    positive: str | None = None  # the positive label for F1; None evaluates only the accuracy
    kind = BertForSequenceClassification
    train, dev = ("train.tsv",), ("dev.tsv",)

    def read(self, folder: Path | None) -> tuple[list[Any], list[Any]]:
        # Without a dev file, a tenth of the training data is held out.
        if folder is not None and not any((folder / f"{self.dev[0]}{end}").is_file() for end in ("", ".gz")):
            return held_out(self.read_file(find(folder, *self.train)))
        return super().read(folder)

    def read_file(self, path: Path) -> list[Any]:
        return self.reader(path, self.names)

    def texts(self, examples: Sequence[Labelled]) -> Iterable[str]:
        """All text in some examples, for training a tokenizer."""
        return (text for example in examples for text in example.texts)

    def said(self, examples: Sequence[Labelled]) -> Iterable[str]:
        return (example.label for example in examples if example.label is not None)

    def features(self, examples: Sequence[Labelled], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """The model's inputs, one or several features per example. Raises ValueError if an example is unsuitable."""
        encoded = encoder([example.texts if self.count == 2 else example.texts[0] for example in examples])
        numbers: dict[str | None, int] = {label: i for i, label in enumerate(labels)}  # None is not among them
        rows = enumerate(zip(encoded, examples, strict=True))
        return [Feature(e.ids, e.type_ids, numbers.get(example.label), i, []) for i, (e, example) in rows]

    def outputs(self, model: Any, batch: Batch) -> Array:
        """The model's output for each feature, (B, ...)."""
        probabilities: Array = model(batch.tokens, batch.mask, batch.types).softmax(-1).numpy()
        return probabilities

    def answers(self, examples: Sequence[Labelled], read: Sequence[Read], labels: Sequence[str]) -> list[Class]:
        """The answer to each example, computed from the outputs for its features."""
        return [(labels[int(p.argmax())], float(p.max())) for _, p in read]

    def metrics(self, examples: Sequence[Labelled], answers: Sequence[Class]) -> dict[str, float]:
        """The metrics of the answers by name, from 0 to 1."""
        right = np.array([example.label for example in examples])
        predicted = np.array([label for label, _ in answers])
        result = {"accuracy": float((predicted == right).mean())}
        if self.positive is not None:
            hits = int(((predicted == self.positive) & (right == self.positive)).sum())
            both = int((predicted == self.positive).sum() + (right == self.positive).sum())
            result["f1"] = 2 * hits / both if both else 0.0
        return result

    def majority(self, train: Sequence[Labelled], dev: Sequence[Labelled]) -> list[Any]:
        """A baseline without a model: the most frequent answer in the training data."""
        return [(most_frequent(self.said(train)), 1.0)] * len(dev)

    def parse(self, line: str) -> Any:
        """Parse a line as an unlabelled example. Raises ValueError unless it is a text, or two separated by a tab."""
        texts = tuple(text.strip() for text in line.split("\t"))
        if len(texts) != self.count or not all(texts):
            form = "two texts separated by a tab" if self.count == 2 else "a text without a tab"
            raise ValueError(f"{self.name} needs {form}, not {line[:60]!r}")
        return Labelled(texts)

    def show(self, example: Labelled, answer: Class) -> str:
        """Show an answer as a line of text."""
        return f"{answer[0]}\t{answer[1]:.3f}\t{' | '.join(example.texts)}"


@dataclass(frozen=True)
class Spans(Task):
    """Questions about a text. Each piece gets two logits: for being the first and the last piece of the answer (Devlin
    et al. 2019, section 4.2). Overlong text is read in overlapping windows, and the best span overall is used."""

    kind, windows = BertForQuestionAnswering, True
    train, dev = ("train.json", "train-v1.1.json"), ("dev.json", "dev-v1.1.json")

    def read(self, folder: Path | None) -> tuple[list[Any], list[Any]]:
        return (generated("train"), generated("dev")) if folder is None else super().read(folder)

    def read_file(self, path: Path) -> list[Any]:
        examples = questions(path)
        if bare := [example.number for example in examples if not example.answers]:
            raise ValueError(f"{path} has questions without answers, which this task does not support: {bare[0]}")
        return examples

    def texts(self, examples: Sequence[Question]) -> Iterable[str]:
        yield from dict.fromkeys(example.context for example in examples)
        yield from (example.question for example in examples)

    def features(self, examples: Sequence[Question], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """A feature for each window; its target is the first and last piece of the answer, or 0, 0 ([CLS]) if the
        window does not contain the whole answer."""
        most = encoder.longest // 2
        for example in examples:
            if len(example.question) > most and len(encoder.pieces(example.question)) > most:
                raise ValueError(
                    f"a question has more than {most} pieces, half the maximum length: {example.question[:60]!r}. "
                    "Shorten it, or train with a larger --max-length"
                )
        result = []
        for i, encoding in enumerate(encoder([(example.question, example.context) for example in examples])):
            for window in (encoding, *encoding.overflowing):
                sides = zip(window.sequence_ids, window.offsets, strict=True)
                places = [place if side == 1 else None for side, place in sides]
                target = span_of(places, *examples[i].answers[0]) if examples[i].answers else None
                result.append(Feature(window.ids, window.type_ids, target, i, places))
        return result

    def loss(self, model: BertForQuestionAnswering, batch: Batch) -> tuple[Tensor, float]:
        assert batch.targets is not None
        first, last = batch.targets.unbind(1)
        return model.loss(batch.tokens, first, last, attention_mask=batch.mask, token_type_ids=batch.types), len(first)

    def outputs(self, model: Any, batch: Batch) -> Array:
        start, end = model(batch.tokens, batch.mask, batch.types)
        logits: Array = mg.stack([start, end], -1).numpy()
        return logits

    def answers(self, examples: Sequence[Question], read: Sequence[Read], labels: Sequence[str]) -> list[Answer]:
        best: list[Answer] = [("", -np.inf)] * len(examples)
        for feature, logits in read:
            span, score = best_span(logits, np.array([place is not None for place in feature.places]))
            if span is not None and score > best[feature.example][1]:
                (start, _), (_, end) = (feature.places[i] for i in span)
                best[feature.example] = examples[feature.example].context[start:end], score
        return best

    def metrics(self, examples: Sequence[Question], answers: Sequence[Answer]) -> dict[str, float]:
        f1, exact = [], []
        for example, (text, _) in zip(examples, answers, strict=True):  # the best match with a correct answer counts
            f1.append(max(overlap(text, right) for right, _ in example.answers))
            exact.append(any(plain(text) == plain(right) for right, _ in example.answers))
        return {"f1": float(np.mean(f1)), "exact_match": float(np.mean(exact))}

    def majority(self, train: Sequence[Question], dev: Sequence[Question]) -> list[Any]:
        return [(most_frequent(example.answers[0][0] for example in train), 0.0)] * len(dev)

    def parse(self, line: str) -> Any:
        """A question and a text, separated by a tab."""
        question, _, context = (part.strip() for part in line.partition("\t"))
        if not question or not context:
            raise ValueError(f"{self.name} needs a question and a text separated by a tab, not {line[:60]!r}")
        return Question(question, context)

    def show(self, example: Question, answer: Answer) -> str:
        return f"{answer[0]}\t{answer[1]:.2f}\t{example.question}"


def span_of(places: Sequence[tuple[int, int] | None], answer: str, start: int) -> tuple[int, int]:
    """The first and last piece of an answer in a window, or 0, 0 if the window does not contain the whole answer. For
    each piece, ``places`` has its character range, or None if it is not from the text. The answer begins at ``start``.
    """
    end = start + len(answer)
    inside = [i for i, place in enumerate(places) if place is not None and place[0] < end and place[1] > start]
    if not inside:
        return 0, 0
    (first, _), (_, last) = places[inside[0]] or (0, 0), places[inside[-1]] or (0, 0)
    return (inside[0], inside[-1]) if first <= start and last >= end else (0, 0)


def best_span(logits: Array, allowed: Array) -> tuple[tuple[int, int] | None, float]:
    """The first and last piece of the span with the largest sum of logits (T, 2), and this sum. A span has at most
    LONGEST_ANSWER pieces, and its first and last piece must be ``allowed`` (T,). Logits beyond T are padding."""
    size = len(allowed)
    if not allowed.any():
        return None, -np.inf
    start, end = np.where(allowed[:, None], logits[:size], -np.inf).T
    both = start[:, None] + end[None]  # (T, T)
    distance = np.arange(size)[None] - np.arange(size)[:, None]
    both[(distance < 0) | (distance >= LONGEST_ANSWER)] = -np.inf
    first, last = divmod(int(both.argmax()), size)
    return (first, last), float(both[first, last])


def plain(text: str) -> str:
    """Normalise an answer as in SQuAD: lower-case, without punctuation marks or articles, with single spaces."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(ARTICLES.sub(" ", bare).split())


def overlap(text: str, right: str) -> float:
    """The F1 score of the words in an answer, normalised as in SQuAD."""
    words, correct = plain(text).split(), plain(right).split()
    if not words or not correct:
        return float(words == correct)
    common = sum((Counter(words) & Counter(correct)).values())
    return 2 * common / (len(words) + len(correct))


@dataclass(frozen=True)
class Tagging(Task):
    """Assigns tags to words. The state of each word's first piece goes through a linear layer; the other pieces have no
    tag (Devlin et al. 2019, section 5.3). The seqeval library counts entities as conlleval does."""

    kind, unit = BertForTokenClassification, "words"
    train, dev = ("eng.train", "train.txt"), ("eng.testa", "valid.txt")

    def read(self, folder: Path | None) -> tuple[list[Any], list[Any]]:
        seqeval()  # fails before reading anything if it is missing
        return super().read(folder)

    def read_file(self, path: Path) -> list[Any]:
        return tagged(path)

    def texts(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (" ".join(example.words) for example in examples)

    def said(self, examples: Sequence[Tagged]) -> Iterable[str]:
        return (tag for example in examples for tag in example.tags or ())

    def features(self, examples: Sequence[Tagged], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """The target is a list with the tag number at the first piece of each word, and IGNORED at all other pieces."""
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

    def outputs(self, model: Any, batch: Batch) -> Array:
        tags: Array = model(batch.tokens, batch.mask, batch.types).argmax(-1).numpy()
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
        score = seqeval()  # of whole entities
        right = [list(example.tags or ()) for example in examples]
        predicted = [list(answer) for answer in answers]
        names = ("f1", "precision", "recall")
        result = {name: float(getattr(score, f"{name}_score")(right, predicted, zero_division=0)) for name in names}
        return {**result, "accuracy": float(score.accuracy_score(right, predicted))}

    def majority(self, train: Sequence[Tagged], dev: Sequence[Tagged]) -> list[Any]:
        tags: dict[str, list[str]] = {}
        for example in train:
            for word, tag in zip(example.words, example.tags or (), strict=True):
                tags.setdefault(word, []).append(tag)
        best, rest = {word: most_frequent(those) for word, those in tags.items()}, most_frequent(self.said(train))
        return [tuple(best.get(word, rest) for word in example.words) for example in dev]

    def parse(self, line: str) -> Any:
        """Parse words separated by spaces. A punctuation mark between spaces is a word."""
        if not line.split():
            raise ValueError("expected words, not an empty line")
        return Tagged(tuple(line.split()))

    def show(self, example: Tagged, answer: Tags) -> str:
        """Word/tag for words in entities, and only the word elsewhere."""
        both = zip(example.words, answer, strict=True)
        return " ".join(word if tag == OUTSIDE else f"{word}/{tag}" for word, tag in both)


def seqeval() -> Any:
    """The seqeval library. Raises ImportError if it is missing."""
    return library("seqeval.metrics", "counting entities needs seqeval")


AnyTask = Classification | Spans | Tagging
TASKS: dict[str, AnyTask] = {
    task.name: task
    for task in (
        Classification(
            name="mrpc",
            about="whether two sentences mean the same (MRPC): accuracy and F1",
            files="a folder with MRPC's train.tsv, and dev.tsv unless a tenth is held out (default: small examples)",
            count=2,
            reader=pairs,
            names={"0": "different", "1": "equivalent"},
            positive="equivalent",
        ),
        Classification(
            name="sst2",
            about="whether a review is positive (SST-2): accuracy",
            files="a folder with train.tsv and dev.tsv: sentence, tab, label (default: small examples)",
            recipe=Recipe(3, 32, 1e-4),
            metric="accuracy",
            names={"0": "negative", "1": "positive"},
        ),
        Spans(
            name="squad",
            about="where a passage answers a question (SQuAD 1.1): F1 and exact match",
            files="a folder with train.json and dev.json in SQuAD's format (default: questions from a grammar)",
            recipe=Recipe(3, 16, 1e-4),
            scratch=Recipe(20, 32, 1e-3),
            longest=192,
        ),
        Tagging(
            name="conll",
            about="names of people, places and organisations (CoNLL-2003): entity F1",
            files="a folder with eng.train and eng.testa, plain or gzipped (default: small examples)",
            scratch=Recipe(10, 32, 1e-3),
        ),
    )
}
