"""Questions whose answer is a span of a text: SQuAD 1.1 (Rajpurkar et al. 2016).

Each piece of the text gets two logits, as the first and as the last of the answer (Devlin et al. 2019, section 4.2). A
text that is too long is read in windows that overlap; of all windows the best span is the answer.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor

from .bert import BertForQuestionAnswering
from .bert_data import Question, questions
from .encoding import Batch, Encoder, Feature
from .questions import load as generated
from .task import Array, Read, Task, most_frequent

SHARED = 4  # windows share the longest's 1 / SHARED pieces
LONGEST_ANSWER = 30  # pieces
ARTICLES = re.compile(r"\b(a|an|the)\b")
Answer = tuple[str, float]  # a piece of the text, and the sum of its two logits


@dataclass(frozen=True)
class Spans(Task[Question, Answer]):
    """Questions about a text."""

    kind = BertForQuestionAnswering
    train, dev = ("train.json", "train-v1.1.json"), ("dev.json", "dev-v1.1.json")

    def read(self, folder: Path | None) -> tuple[list[Question], list[Question]]:
        """See ``Task``; without a folder, questions that a grammar writes."""
        return (generated("train"), generated("dev")) if folder is None else super().read(folder)

    def read_file(self, path: Path) -> list[Question]:
        examples = questions(path)
        if bare := [example.number for example in examples if not example.answers]:
            raise ValueError(f"{path} has questions without an answer, which this task has not: {bare[0]}")
        return examples

    def texts(self, examples: Sequence[Question]) -> Iterable[str]:
        yield from dict.fromkeys(example.context for example in examples)
        yield from (example.question for example in examples)

    def encoder(self, tokenizer: Any, longest: int) -> Encoder:
        return Encoder(tokenizer, longest, longest // SHARED)

    def features(self, examples: Sequence[Question], encoder: Encoder, labels: Sequence[str]) -> list[Feature]:
        """See ``Task``: a feature for each window; a target is its first and last piece, or 0, 0 ([CLS]) if the answer
        is not in the window as a whole."""
        most = encoder.longest // 2
        for example in examples:
            if len(example.question) > most and len(encoder.pieces(example.question)) > most:
                raise ValueError(
                    f"a question has more than {most} pieces, half of what is read at once: {example.question[:60]!r}; "
                    "ask a shorter one, or train with a larger --max-length"
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
        """See ``Task``: the mean of the cross-entropies of the first and of the last piece."""
        assert batch.targets is not None
        first, last = batch.targets.unbind(1)
        return model.loss(batch.tokens, first, last, batch.types, batch.mask), len(first)

    def outputs(self, model: BertForQuestionAnswering, batch: Batch) -> Array:
        """The two logits of each piece (B, T, 2)."""
        start, end = model(batch.tokens, batch.types, batch.mask)
        logits: Array = mg.stack([start, end], -1).numpy()
        return logits

    def answers(self, examples: Sequence[Question], read: Sequence[Read], labels: Sequence[str]) -> list[Answer]:
        """See ``Task``: the best span of all windows."""
        best: list[Answer] = [("", -np.inf)] * len(examples)
        for feature, logits in read:
            span, score = best_span(logits, np.array([place is not None for place in feature.places]))
            if span is not None and score > best[feature.example][1]:
                (start, _), (_, end) = (feature.places[i] for i in span)
                best[feature.example] = examples[feature.example].context[start:end], score
        return best

    def metrics(self, examples: Sequence[Question], answers: Sequence[Answer]) -> dict[str, float]:
        """See ``Task``: F1 of words and exact match, of the best of several right answers."""
        pairs = [
            (text, [right for right, _ in example.answers])
            for example, (text, _) in zip(examples, answers, strict=True)
        ]
        return {
            "f1": float(np.mean([max(overlap(text, one) for one in right) for text, right in pairs])),
            "exact_match": float(np.mean([any(plain(text) == plain(one) for one in right) for text, right in pairs])),
        }

    def majority(self, known: Sequence[Question], asked: Sequence[Question]) -> list[Answer]:
        """See ``Task``: the most frequent answer."""
        return [(most_frequent(example.answers[0][0] for example in known), 0.0)] * len(asked)

    def parse(self, line: str) -> Question:
        """A question and a text, with a tab between them."""
        question, _, context = (part.strip() for part in line.partition("\t"))
        if not question or not context:
            raise ValueError(f"{self.name} needs a question and a text with a tab between them, not {line[:60]!r}")
        return Question(question, context)

    def show(self, example: Question, answer: Answer) -> str:
        return f"{answer[0]}\t{answer[1]:.2f}\t{example.question}"


def span_of(places: Sequence[tuple[int, int] | None], answer: str, start: int) -> tuple[int, int]:
    """The first and the last piece of an answer in a window; 0, 0 if it does not have all of it. ``places`` are the
    first character of each piece, and that after its last, None where the piece is not of the text; the answer begins
    at ``start``."""
    end = start + len(answer)
    inside = [i for i, place in enumerate(places) if place is not None and place[0] < end and place[1] > start]
    if not inside:
        return 0, 0
    (first, _), (_, last) = places[inside[0]] or (0, 0), places[inside[-1]] or (0, 0)
    return (inside[0], inside[-1]) if first <= start and last >= end else (0, 0)


def best_span(logits: Array, allowed: Array) -> tuple[tuple[int, int] | None, float]:
    """The first and last piece with the largest sum of logits (T, 2), in this order and not too far apart, among those
    that are allowed (T,), the pieces of the text; a longer row of logits is padding."""
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
    """An answer as SQuAD compares it: lower-case, without punctuation marks and articles, single spaces."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(ARTICLES.sub(" ", bare).split())


def overlap(text: str, right: str) -> float:
    """F1 of the words of an answer, in SQuAD's plain form."""
    words, correct = plain(text).split(), plain(right).split()
    if not words or not correct:
        return float(words == correct)
    common = sum((Counter(words) & Counter(correct)).values())
    return 2 * common / (len(words) + len(correct))
